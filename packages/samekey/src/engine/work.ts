/**
 * What the engine is asked to do: one request for one key, and the handler that would do it.
 */

import type { Attempt, Ending } from './attempt.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Owner } from './owner.ts';
import type { Fingerprint, RecordId } from '../core/record.ts';
import type { OperationSettings } from '../core/settings.ts';
import type { ClaimRequest } from '../store/store.ts';
import type { Reserved } from '../store/transaction.ts';

/** An identity that the operation has or had, and the request as it is compared under it. */
export interface Place {
  readonly id: RecordId;
  readonly fingerprint: Fingerprint | (() => Promise<Fingerprint>);
  /** The fingerprint under another label, if this process knows how to make it. */
  refingerprint(label: string): Fingerprint | undefined | Promise<Fingerprint | undefined>;
}

/** One request, as the engine sees it: at the oldest identity of its operation, where it is claimed. */
export interface Work extends Place {
  readonly operation: string;
  readonly fingerprint: Fingerprint;
  /**
   * While a bridge stands: the younger identities, oldest first and the present one last. Pointers are left there
   * before the claim, and a record that is found there is the one that counts. One of the same id is another way to
   * compare.
   */
  readonly younger: readonly Place[];
  readonly settings: OperationSettings;
  /** Kept with a fresh key, if others than the client may push the operation on. */
  readonly input: Uint8Array | null;
  /** As {@link ClaimRequest.entry}. With `accept` the handler never runs here. */
  readonly entry: ClaimRequest['entry'];
  /** For `accept`: how long it may wait to be begun, in milliseconds. */
  readonly pendingTimeMaxMs: number;
  /** What it meets if its key is not known: rules for fresh keys do not hold for others (F118). Absent: it runs. */
  readonly ifNew?: Outcome | null;
  /** As {@link ClaimRequest.takesSteps}; default false. */
  readonly takesSteps?: boolean;
  /** Whether a transaction may work on the key that has no record yet; default false. */
  readonly mayBeUnseen?: boolean;
}

/** No bridge stands. */
export const NO_PLACES: readonly Place[] = [];

/** Reserves a key inside the transaction that does the work (`reserve: 'in-transaction'`). */
export interface Reserving {
  /**
   * `reserved`: the handler is to start, or to be released · `known`: a claim is asked for, as always · `taken`: look
   * who has it · `late`: no connection came soon; look, and ask for a claim if nobody has it · `silent`: the database
   * did not answer. Never rejects.
   */
  reserve(request: ClaimRequest): Promise<Reserved | 'late' | 'silent'>;
  /** Whether this request has met one that has the key. */
  hasMet: boolean;
  /** Nothing will start in what was reserved. */
  release(): void;
}

/** What the engine runs. */
export interface Handler {
  /** Absent: a claim is a record of its own. */
  readonly reserving?: Reserving | null;
  /** Starts the work and resolves with its end. `owner` is for handlers that write their record themselves. */
  start(attempt: Attempt, owner: Owner): Promise<Ending>;
  /** What has been answered so far, if that decides the outcome when the attempt's time is up (a stream's head). */
  endingSoFar?(): Ending | null;
  /**
   * Called once, before `start`: `tell` takes what the handler answers after the end that `start` gave, which was then
   * not its own. The store decides whether it still counts.
   */
  onLate?(tell: (ending: Ending) => void): void;
}
