/**
 * Everything the core needs from the machine it runs on, passed in: the core itself has no clock, no timer, no
 * randomness and no digest. Tests pass a virtual world; applications get `systemWorld()`.
 */

/** A timer that can be taken back. */
export interface Timer {
  cancel(): void;
}

/** The names of the probe points: places at which a test may stop, race or kill the process. */
export type ProbePoint =
  | 'claim.before'
  | 'claim.applied'
  | 'handler.before'
  | 'handler.after'
  | 'phase.before'
  | 'effect.before'
  | 'effect.after'
  | 'effect.applied'
  | 'commit.before'
  | 'commit.sent'
  | 'commit.applied'
  | 'phase.applied'
  | 'finish.before'
  | 'finish.applied'
  | 'answer.before'
  | 'answer.sent';

/**
 * The digest primitives of a fingerprint. A runtime without synchronous digests may return promises. Once a text has
 * been returned, `bytes` are the caller's again and change: a digester that keeps them copies them.
 */
export interface Digester {
  /** SHA-256 of `bytes`, as base64url without padding. */
  sha256(bytes: Uint8Array): string | Promise<string>;
  /** HMAC-SHA-256 of `bytes` under `secret`, as base64url without padding. */
  hmacSha256(secret: Uint8Array, bytes: Uint8Array): string | Promise<string>;
}

/** The machine, as the core sees it. */
export interface World extends Digester {
  /** Milliseconds on a clock that never goes back; its zero means nothing. Never compared between processes. */
  monotonicNow(): number;
  /**
   * Milliseconds since 1970 by the machine's wall clock: for display, and for the signed time of requests; never for a
   * claim.
   */
  wallNow(): number;
  /** Calls `callback` once after `delayMs`. A pending timer never keeps the process alive. */
  setTimer(delayMs: number, callback: () => void): Timer;
  /**
   * Calls `callback` once after what has already arrived in this turn was taken up; without it, after this microtask.
   */
  readonly soon?: (callback: () => void) => void;
  /** A fresh claimId: 128 random bits or more, never repeated. */
  newClaimId(): string;
  /** A number in [0, 1) for jitter. */
  random(): number;
  /** Tells a developer of a misuse; the engine calls it once per code, or once per code and operation. */
  warn(code: string, message: string): void;
  /** Called at each probe point; undefined outside of tests. A returned promise holds the flow there. */
  readonly probe?: (
    point: ProbePoint,
    id: { readonly scope: string; readonly key: string },
  ) => void | Promise<void>;
}
