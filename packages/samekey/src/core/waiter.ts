/**
 * Waiting for an attempt that runs in another process: one timer for all waited keys, looked up together (25 → 250 ms).
 *
 * Invariants: bounded waiters · a waiter reads only, so giving up changes nothing for the owner (F8).
 */

import type { Dispatch } from './dispatch.ts';
import type { RecordId } from './record.ts';
import type { Timer, World } from './world.ts';

/** What waits. */
export interface Waiter {
  /**
   * Resolves true when the record is no longer in progress or its claim may be over, false at `deadline` (monotonic), and
   * false at once when too many wait.
   */
  wait(id: RecordId, claimLeftMs: number, deadline: number): Promise<boolean>;
  stop(): void;
}

interface Waiting {
  readonly id: RecordId;
  readonly deadline: number;
  /** When the claim seen last would be over: time to ask for it. */
  readonly claimOverAt: number;
  lookAt: number;
  pauseMs: number;
  looking: boolean;
  readonly resolve: (changed: boolean) => void;
}

const PAUSE_MIN_MS = 25;
const PAUSE_MAX_MS = 250;

/** Makes the waiter of one engine. */
export function createWaiter(
  world: World,
  dispatch: Dispatch,
  waitersMax: number,
  callTimeMaxMs: number,
): Waiter {
  const waiting = new Set<Waiting>();
  let timer: Timer | null = null;

  function schedule(): void {
    timer ??= world.setTimer(PAUSE_MIN_MS, tick);
  }

  function tick(): void {
    timer = null;
    const now = world.monotonicNow();
    for (const one of waiting) {
      if (one.deadline <= now) end(one, false);
      else if (one.claimOverAt <= now) end(one, true);
      else if (one.lookAt <= now && !one.looking) void look(one, now);
    }
    if (waiting.size > 0) schedule();
  }

  async function look(one: Waiting, now: number): Promise<void> {
    one.looking = true;
    one.pauseMs = Math.min(PAUSE_MAX_MS, one.pauseMs * 1.5);
    one.lookAt = now + one.pauseMs;
    try {
      const record = await dispatch.find(one.id, Math.min(one.deadline, now + callTimeMaxMs));
      if (record?.state !== 'in_progress') end(one, true);
    } catch {
      // The dispatcher has told of the error; the next look or the deadline ends the wait.
    } finally {
      one.looking = false;
    }
  }

  function end(one: Waiting, changed: boolean): void {
    if (waiting.delete(one)) one.resolve(changed);
  }

  return {
    wait(id, claimLeftMs, deadline) {
      const now = world.monotonicNow();
      if (waiting.size >= waitersMax || deadline <= now) return Promise.resolve(false);
      return new Promise((resolve) => {
        const claimOverAt = now + Math.max(PAUSE_MIN_MS, claimLeftMs);
        waiting.add({
          id,
          deadline,
          claimOverAt,
          lookAt: now,
          pauseMs: PAUSE_MIN_MS,
          looking: false,
          resolve,
        });
        schedule();
      });
    },
    stop() {
      for (const one of waiting) end(one, false);
      timer?.cancel();
    },
  };
}
