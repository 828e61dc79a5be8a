/**
 * Keeps storing the answers of attempts whose record could not be written in time (F3): the answer has left, so the
 * process tries again by claimId until the store takes it or a bound is reached. Then the record ends as its way says.
 *
 * Invariants: bounded in number, bytes and time · never runs a handler · the write is the same conditional one each
 * time.
 */

import { responseBytes, type StoredResponse } from '../../core/response.ts';
import { pause } from '../../core/pause.ts';
import type { FinishResult } from '../../store/store.ts';
import type { World } from '../../core/world.ts';

/** Bounds of the saver. */
interface SaverOptions {
  readonly world: World;
  /** Answers kept at most. */
  readonly countMax: number;
  /** Bytes of answers kept at most. */
  readonly bytesMax: number;
  /** How long one answer is kept at most, in milliseconds. */
  readonly timeMaxMs: number;
  readonly callTimeMaxMs: number;
}

/** Writes an end, by a deadline (monotonic). */
type SendEnd = (deadline: number) => Promise<FinishResult>;

/** What keeps saving. */
export interface Saver {
  /** How many answers are being kept. */
  readonly size: number;
  /**
   * `send` until it resolves: with the store's word, or null when it was given up. `response`: the answer that is kept
   * meanwhile.
   */
  keep(response: StoredResponse | null, send: SendEnd): Promise<FinishResult | null>;
  stop(): void;
}

const PAUSE_MIN_MS = 100;
const PAUSE_MAX_MS = 5_000;

/** Makes the saver of one engine. */
export function createSaver(options: SaverOptions): Saver {
  const { world } = options;
  let size = 0;
  let bytes = 0;
  let stopped = false;

  async function keep(response: StoredResponse | null, send: SendEnd): Promise<FinishResult | null> {
    const weight = responseBytes(response);
    if (size >= options.countMax || bytes + weight > options.bytesMax) return null;
    size += 1;
    bytes += weight;
    try {
      const until = world.monotonicNow() + options.timeMaxMs;
      for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)) {
        await pause(world, pauseMs * (0.5 + world.random() / 2));
        const now = world.monotonicNow();
        if (stopped || now >= until) return null;
        try {
          return await send(Math.min(until, now + options.callTimeMaxMs));
        } catch {
          // The dispatcher has told of the error; the store may be back at the next look.
        }
      }
    } finally {
      size -= 1;
      bytes -= weight;
    }
  }

  return {
    get size() {
      return size;
    },
    keep,
    stop() {
      stopped = true;
    },
  };
}
