/**
 * References: what a provider has of a call, the key it carried or the provider's own id, so that a webhook finds its
 * record by one look (F154). Optional in a store.
 *
 * Invariants: a reference is written by the write that stores the intent, the note or the message it is of, and goes
 * with its record · what is kept is a digest, of one length and without a letter that a database would alter · ways
 * that call nobody write none.
 */

import type { RecordId, State } from '../core/record.ts';
import type { Digester } from '../core/world.ts';

/** A reference to the record that is being written. */
export interface NewReference {
  /** As {@link referenceOf} makes it. */
  readonly reference: string;
  /** The effect whose call has it; null: the delivery of a message. */
  readonly effect: string | null;
}

/** What a reference leads to. */
export interface Referred extends RecordId {
  /** The record's, as it stands there. */
  readonly operation: string;
  /** The record's: which life of its key. */
  readonly createdAt: number;
  /** The attempt that wrote the reference, or wrote it last. */
  readonly attempt: number;
  readonly effect: string | null;
}

/** A call that nobody has heard the end of. */
export interface CallUnderWay extends RecordId {
  readonly operation: string;
  readonly state: State;
  /** Of a delivery: its lease. */
  readonly claimId: string;
  /** As the record has it; meaningless of a delivery. */
  readonly lockedUntil: number;
  /** Whose last one is the intent; null: a delivery that has noted no id of the provider. */
  readonly steps: string | null;
}

/** The references of a store. They throw `StoreError`, and read neither answers nor inputs nor payloads. */
export interface References {
  /**
   * Where these lead, at most `limit`; to a record more than once where several of them lead there. Not to another life
   * of the key than the one that wrote it, nor to what was forgotten.
   */
  find(references: readonly string[], limit: number): Promise<readonly Referred[]>;
  /**
   * Of these operations: records in progress, unknown or retryable with an open intent, and leased messages of an
   * attempt that is `pending` whose provider's id is not noted; at most `limit` of each.
   */
  underWay(operations: readonly string[], limit: number): Promise<readonly CallUnderWay[]>;
}

/** The reference of the key that a call carried, or of what the provider calls it. */
export async function referenceOf(
  { sha256 }: Pick<Digester, 'sha256'>,
  kind: 'downstream-key' | 'provider-id',
  value: string,
): Promise<string> {
  return sha256(new TextEncoder().encode(JSON.stringify(['samekey-reference-1', kind, value])));
}
