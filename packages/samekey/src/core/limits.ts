/**
 * What limits how much a caller may begin, as the engine sees it. `samekey/guard` makes one of the user's rate
 * limiters; what is over a limit is decided there, what that means for a request in `admission.ts`.
 */

/** Whom room is asked for: the caller's part of the scope, and the operation. */
export interface Asker {
  /** As {@link callerOf} gives it: the record's scope without the operation. */
  readonly caller: string;
  readonly operation: string;
}

/** Room for one new key or one look, or none. */
export interface Room {
  /** Null: there is room. Else when there may be some, in milliseconds. */
  readonly fullForMs: number | null;
  /**
   * What became of it: `used` for a key that was new, else what was taken is given back. Called at most once, and not
   * for what was refused because there was no room; never throws.
   */
  end(used: boolean): void;
}

/** Limits of an operation, of an instance, or of several instances together. */
export interface Limits {
  /**
   * What is done when they cannot tell: `open` lets requests through, `closed` answers 503 for keys that are not known.
   */
  readonly whenLimiterFails: 'open' | 'closed';
  /** How long a decision may take, in milliseconds; then they could not tell. */
  readonly decisionTimeMaxMs: number;
  /** Room for one new key. Rejects when it cannot tell. */
  takeNewKey(asker: Asker): Promise<Room>;
  /** Writes down what this process has counted; called when its instance closes. May reject. */
  flush?(): Promise<void>;
  /** Room for one look at how a request stands. Rejects when it cannot tell. */
  takeLook(asker: Asker): Promise<Room>;
}
