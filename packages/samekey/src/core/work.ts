/**
 * What the engine is asked to do: one request for one key, and the handler that would do it.
 */

import type { Attempt, Ending } from './attempt.ts';
import type { Owner } from './owner.ts';
import type { Fingerprint, RecordId } from './record.ts';
import type { OperationSettings } from './settings.ts';
import type { ClaimRequest } from './store.ts';

/** One request, as the engine sees it. */
export interface Work {
  readonly operation: string;
  /** The record's id; kept under the operation's oldest name. */
  readonly id: RecordId;
  /** Ids under the operation's other names: looked up before a fresh key is claimed. */
  readonly otherIds: readonly RecordId[];
  readonly fingerprint: Fingerprint;
  /** The fingerprint under another label, if this process knows how to make it. */
  refingerprint(label: string): Fingerprint | undefined | Promise<Fingerprint | undefined>;
  readonly settings: OperationSettings;
  /** Kept with a fresh key, if others than the client may push the operation on. */
  readonly input: Uint8Array | null;
  /** As {@link ClaimRequest.entry}. With `accept` the handler never runs here. */
  readonly entry: ClaimRequest['entry'];
  /** For `accept`: how long it may wait to be begun, in milliseconds. */
  readonly pendingTimeMaxMs: number;
}

/** What the engine runs. */
export interface Handler {
  /** Starts the work and resolves with its end. `owner` is for handlers that write their record themselves. */
  start(attempt: Attempt, owner: Owner): Promise<Ending>;
  /** What has been answered so far, if that decides the outcome when the attempt's time is up (a stream's head). */
  endingSoFar?(): Ending | null;
  /**
   * Called once, before `start`: `tell` takes what the handler answers after the end that `start` gave, which was then not its own. The
   * store decides whether it still counts.
   */
  onLate?(tell: (ending: Ending) => void): void;
}
