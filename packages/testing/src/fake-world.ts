/**
 * A machine for tests: virtual clocks and timers, seeded randomness, claimIds that repeat from run to run, synchronous
 * digests; and what happens to real machines: it freezes, thaws, dies.
 *
 * Invariants: the same seed gives the same history · clocks of two worlds on one timeline have nothing in common but
 * their pace (contract §3.5: times are the store's) · what is due while a world is frozen is held back and comes later, in
 * any order · a dead world does nothing any more.
 */

import type { Timer, World } from 'samekey/internals/core/world';
import { hmacSha256Bytes, sha256Bytes } from 'samekey/internals/fingerprint/sha256';
import { createRandom, type Random } from './random.ts';
import { createTimeline, type Timeline, turn } from './timeline.ts';

/** Options of a fake world. */
export interface FakeWorldOptions {
  /** Everything drawn follows from it; default 1. */
  readonly seed?: number;
  /** Leads its claimIds; two worlds on one timeline need two names. Default `world`. */
  readonly name?: string;
  /** The virtual time it lives in, shared with other worlds; default one of its own. */
  readonly timeline?: Timeline;
  readonly random?: Random;
  /** What the wall clock shows at the beginning, in milliseconds since 1970; default 2026-01-01. */
  readonly wallStart?: number;
  /** What the monotonic clock shows at the beginning; default 0. */
  readonly monotonicStart?: number;
  /** `sha256` (default), or a `fast` stand-in that is no digest at all but quick. */
  readonly digest?: 'sha256' | 'fast';
  readonly probe?: World['probe'];
}

/** A fake machine. */
export interface FakeWorld extends World {
  readonly name: string;
  readonly timeline: Timeline;
  readonly state: 'running' | 'frozen' | 'dead';
  /** Warnings so far, as `code: message`. */
  readonly warnings: readonly string[];
  /** Lets `ms` pass: runs what is due, one event after the other, each to its end. */
  advance(ms: number): Promise<void>;
  /** Holds back timers and whatever else is delivered, until `thaw`. */
  freeze(): void;
  /** Delivers what was held back, in an order drawn from the seed. */
  thaw(): void;
  /** Nothing is delivered ever after. */
  kill(): void;
  /** The wall clock alone goes on by `ms`: it was set, or the machine slept while its monotonic clock stood still. */
  stepWall(ms: number): void;
  /** Something arrives from outside (a reply, a request): now, after the thaw, or never. */
  deliver(callback: () => void): void;
}

/** 2026-01-01T00:00:00Z. */
export const FAKE_WALL_START = 1_767_225_600_000;

/** Makes a fake machine. */
export function fakeWorld(options: FakeWorldOptions = {}): FakeWorld {
  const random = options.random ?? createRandom(options.seed ?? 1);
  const timeline = options.timeline ?? createTimeline(random);
  const name = options.name ?? 'world';
  const wallStart = options.wallStart ?? FAKE_WALL_START;
  const monotonicStart = options.monotonicStart ?? 0;
  const fast = options.digest === 'fast';
  const warnings: string[] = [];
  let state: FakeWorld['state'] = 'running';
  let held: (() => void)[] = [];
  let claims = 0;
  let steppedMs = 0;

  function deliver(callback: () => void): void {
    if (state === 'frozen') held.push(callback);
    else if (state === 'running') callback();
  }

  return {
    name,
    timeline,
    warnings,
    get state() {
      return state;
    },
    monotonicNow: () => monotonicStart + timeline.now,
    wallNow: () => wallStart + steppedMs + timeline.now,
    setTimer(delayMs, callback) {
      let cancelled = false;
      const run = (): void => {
        if (!cancelled) callback();
      };
      const timer: Timer = timeline.setTimer(delayMs, () => deliver(run));
      return {
        cancel() {
          cancelled = true;
          timer.cancel();
        },
      };
    },
    newClaimId: () => `${name}.${(claims += 1)}`,
    random: () => random.next(),
    sha256: fast ? fastDigest : (bytes) => base64url(sha256Bytes(bytes)),
    hmacSha256: fast
      ? (secret, bytes) => `${fastDigest(secret)}${fastDigest(bytes)}`
      : (secret, bytes) => base64url(hmacSha256Bytes(secret, bytes)),
    warn: (code, message) => void warnings.push(`${code}: ${message}`),
    async advance(ms) {
      const until = timeline.now + ms;
      await turn();
      for (let at = timeline.nextAt; at !== null && at <= until; at = timeline.nextAt) {
        timeline.step();
        await turn();
      }
      timeline.rest(until);
    },
    freeze() {
      if (state === 'running') state = 'frozen';
    },
    thaw() {
      if (state !== 'frozen') return;
      state = 'running';
      const late = held;
      held = [];
      for (const callback of late) timeline.setTimer(0, () => deliver(callback));
    },
    kill() {
      state = 'dead';
      held = [];
    },
    stepWall(ms) {
      steppedMs += ms;
    },
    deliver,
    ...(options.probe === undefined ? {} : { probe: options.probe }),
  };
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** FNV-1a twice, from two starts: equal bytes give equal texts, and different ones in tests do not meet. */
function fastDigest(bytes: Uint8Array): string {
  let a = 0x811c9dc5;
  let b = 0xc9dc5118;
  for (const byte of bytes) {
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b ^ byte, 0x01000193) ^ (a >>> 7);
  }
  return `${(a >>> 0).toString(36)}-${(b >>> 0).toString(36)}`;
}
