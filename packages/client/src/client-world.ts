/** What the client takes of the machine. */

import { toBase64 } from './base64.ts';

/** The machine as a client sees it: members of the server's world; tests pass a virtual one. */
export interface ClientWorld {
  /** Milliseconds on a clock that never goes back; its zero means nothing. */
  monotonicNow(): number;
  /** Milliseconds since 1970 by the machine's wall clock. */
  wallNow(): number;
  /** Calls `callback` once after `delayMs`. */
  setTimer(delayMs: number, callback: () => void): { cancel(): void };
  /** A number in [0, 1) for jitter. */
  random(): number;
  /** SHA-256 of `bytes`, as base64url without padding. */
  sha256(bytes: Uint8Array): string | Promise<string>;
  /** Tells a developer of a misuse. */
  warn(code: string, message: string): void;
}

/**
 * Not the server's world: that one brings digests for Node which a browser need not download, and its timers let the
 * process end, while a program that waits for its answer must not end before it.
 */
export const OWN_WORLD: ClientWorld = {
  monotonicNow: () => performance.now(),
  wallNow: () => Date.now(),
  random: () => Math.random(),
  setTimer(delayMs, callback) {
    // Timers know no more: a longer delay would end at once.
    const timer = setTimeout(callback, Math.min(delayMs, 2 ** 31 - 1));
    return { cancel: () => clearTimeout(timer) };
  },
  sha256: async (bytes) =>
    toBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource))),
  // oxlint-disable-next-line no-console -- the one channel that every platform has
  warn: (code, message) => console.warn(`SamekeyWarning [${code}]: ${message}`),
};
