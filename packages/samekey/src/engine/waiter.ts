/**
 * Waiting for an attempt that runs in another process. All requests of this process that wait for one key are one
 * waited key, and all waited keys are looked at together: one grouped read at a time, each key after 25 ms at first and
 * every 250 ms in the end. Where the store gives hints, a hinted key is looked at now; a hint that never comes changes
 * nothing but the time.
 *
 * Invariants: bounded waiters · a waiter reads only, so giving up changes nothing for the owner (F8) · what is told is
 * what was read, never what was hinted.
 */

import type { Dispatch } from './dispatch.ts';
import { idText, type RecordId, type SamekeyRecord } from '../core/record.ts';
import type { ChangeHints } from '../store/store.ts';
import type { Timer, World } from '../core/world.ts';

/** What is waited for; `isUnseen`: an attempt whose record is written at its end, so that no record means nothing. */
interface Waited {
  readonly id: RecordId;
  readonly isUnseen: boolean;
}

/** What waits. */
export interface Waiter {
  /**
   * Resolves true when the record is no longer in progress or its claim may be over, false at `deadline` (monotonic),
   * and false at once when too many wait.
   */
  wait(waited: Waited, claimLeftMs: number, deadline: number): Promise<boolean>;
  stop(): void;
}

/** What the waiter needs. */
interface WaiterOptions {
  readonly world: World;
  readonly dispatch: Pick<Dispatch, 'find'>;
  /** Requests that may wait at once. */
  readonly waitersMax: number;
  readonly callTimeMaxMs: number;
  readonly hints?: ChangeHints | undefined;
}

interface Waiting {
  readonly isUnseen: boolean;
  readonly deadline: number;
  /** When the claim seen last would be over: time to ask for it. */
  readonly claimOverAt: number;
  readonly resolve: (changed: boolean) => void;
}

/** A key somebody waits for. */
interface WaitedKey {
  readonly id: RecordId;
  readonly waiting: Set<Waiting>;
  readonly stopHints: (() => void) | undefined;
  lookAt: number;
  pauseMs: number;
}

const PAUSE_MIN_MS = 25;
const PAUSE_MAX_MS = 250;

/** Makes the waiter of one engine. */
export function createWaiter(options: WaiterOptions): Waiter {
  const { world, dispatch, waitersMax, callTimeMaxMs, hints } = options;
  const keys = new Map<string, WaitedKey>();
  let count = 0;
  let timer: Timer | null = null;
  let looking = false;

  function schedule(delayMs: number): void {
    timer ??= world.setTimer(delayMs, tick);
  }

  function tick(): void {
    timer = null;
    const now = world.monotonicNow();
    for (const [text, key] of keys) {
      for (const one of key.waiting) {
        if (one.deadline <= now) end(text, key, one, false);
        else if (one.claimOverAt <= now) end(text, key, one, true);
      }
    }
    if (!looking) {
      const due = [...keys].filter(([, key]) => key.lookAt <= now);
      if (due.length > 0) void look(due, now);
    }
    if (keys.size > 0) schedule(PAUSE_MIN_MS);
  }

  /** Asked in one turn, so that they travel together. */
  async function look(due: readonly (readonly [string, WaitedKey])[], now: number): Promise<void> {
    looking = true;
    await Promise.all(
      due.map(async ([text, key]) => {
        key.pauseMs = Math.min(PAUSE_MAX_MS, key.pauseMs * 1.5);
        key.lookAt = now + key.pauseMs;
        try {
          const record = await dispatch.find(key.id, now + callTimeMaxMs);
          if (mustWait(record)) return;
          for (const one of key.waiting) if (record !== null || !one.isUnseen) end(text, key, one, true);
        } catch {
          // The dispatcher has told of the error; the next look or the deadline ends the wait.
        }
      }),
    );
    looking = false;
    // Hinted while the read was under way: what it saw may be older.
    if ([...keys.values()].some(({ lookAt }) => lookAt === 0)) lookSoon();
  }

  function hinted(text: string): void {
    const key = keys.get(text);
    if (key === undefined) return;
    key.lookAt = 0;
    if (!looking) lookSoon();
  }

  function lookSoon(): void {
    timer?.cancel();
    timer = null;
    schedule(0);
  }

  function end(text: string, key: WaitedKey, one: Waiting, changed: boolean): void {
    if (!key.waiting.delete(one)) return;
    count -= 1;
    if (key.waiting.size === 0) {
      keys.delete(text);
      key.stopHints?.();
    }
    one.resolve(changed);
  }

  function keyOf(id: RecordId): WaitedKey {
    const text = idText(id);
    let key = keys.get(text);
    if (key === undefined) {
      const stopHints = hints?.watch(id, () => hinted(text));
      key = { id, waiting: new Set(), stopHints, lookAt: world.monotonicNow(), pauseMs: PAUSE_MIN_MS };
      keys.set(text, key);
    }
    return key;
  }

  return {
    wait({ id, isUnseen }, claimLeftMs, deadline) {
      const now = world.monotonicNow();
      if (count >= waitersMax || deadline <= now) return Promise.resolve(false);
      count += 1;
      return new Promise((resolve) => {
        const claimOverAt = now + Math.max(PAUSE_MIN_MS, claimLeftMs);
        keyOf(id).waiting.add({ isUnseen, deadline, claimOverAt, resolve });
        schedule(PAUSE_MIN_MS);
      });
    },
    stop() {
      for (const [text, key] of keys) for (const one of key.waiting) end(text, key, one, false);
      timer?.cancel();
    },
  };
}

/** Reopened or forgotten, a key is not free before its time, which whoever waits was told by its claim. */
function mustWait(record: SamekeyRecord | null): boolean {
  if (record?.state === 'in_progress') return true;
  return record?.state === 'retryable' && record.proof === 'settled';
}
