/** What the auditor of background work knows. */

import type { StoredMessage } from 'samekey/internals/store/message';
import type { RecordId, SamekeyRecord } from 'samekey/internals/core/record';
import type { FencedId } from 'samekey/internals/store/store';

/** How a handler ended: `refused` is an answer too, `declined` a declared non-execution. */
export type Ended = 'success' | 'refused' | 'failed' | 'declined' | 'unknown';

/** A delivery whose handler has begun. */
export interface DeliveryFacts {
  readonly id: string;
  /** As its worker counts. */
  readonly number: number;
  readonly machine: string;
  readonly toldRunBefore: boolean;
  readonly owner: FencedId | null;
  ended: Ended | null;
  /** Charges that it has made, each when it landed. */
  effects: number;
  gaveUp: boolean;
  /** Its time was up: once its lease has ended its worker goes on without it. */
  timeUp: boolean;
}

/** A run of a transaction's body: after a rollback it runs again. */
export interface BodyFacts {
  readonly n: number;
  readonly key: string;
}

/** Something that a person did. */
export interface ActFacts {
  readonly act: 'settle' | 'reopen' | 'requeue' | 'drop';
  readonly actor: string;
  /** Of its row: of a message without a record, its id. */
  readonly key: string;
}

/** All of it. */
export interface WorkersFacts {
  /** What stands in the store. */
  messages: ReadonlyMap<string, StoredMessage>;
  records: ReadonlyMap<string, SamekeyRecord>;
  /** Each message that was ever there, as it came. */
  readonly seen: Map<string, StoredMessage>;
  readonly deliveries: DeliveryFacts[];
  readonly bodies: BodyFacts[];
  /** Ends of deliveries: verb, message, number. */
  readonly written: Set<string>;
  /** Deliveries of messages whose lease was over when they were taken: message, number. They may have killed their worker. */
  readonly suspects: Set<string>;
  /** States that records have had: record, attempt, state. */
  readonly states: Set<string>;
  /** Machines that died. */
  readonly gone: Set<string>;
  readonly acts: ActFacts[];
  /** Contradictions that were told, and by whom. */
  readonly contradictions: { readonly machine: string; readonly key: string }[];
  /** How often somebody let a record run again, by record. */
  readonly letRun: Map<string, number>;
  /** Charges by what there should be one of, under one downstream key. */
  readonly charges: Map<string, Set<number>>;
  /** Final answers by record. */
  readonly answers: Map<string, string[]>;
}

/** Something that must not be. */
export interface Fault {
  readonly about: RecordId | null;
  readonly what: string;
}

/** The machine that has the lease; its ids begin with its name. */
export function leaseName({ leaseId }: Pick<StoredMessage, 'leaseId'>): string | null {
  return leaseId === null ? null : (leaseId.split('.')[0] ?? null);
}

/** The delivery of a message under a number: the last one, because what was handed back counts for nothing. */
export function deliveryOf(
  facts: WorkersFacts,
  { id, started }: Pick<StoredMessage, 'id' | 'started'>,
): DeliveryFacts | undefined {
  return facts.deliveries.findLast((one) => one.id === id && one.number === started);
}
