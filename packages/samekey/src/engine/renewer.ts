/**
 * Keeps the claims of running attempts alive: one timer for the process, renewals in one bulk call. Ends an attempt's
 * renewal when its time is up, so that a hung handler cannot hold a key for ever.
 *
 * Invariants: a claim is renewed when a third of it has passed, so two renewals may fail before it ends · a lost claim
 * is told to the handler once, by its signal.
 */

import type { RunningAttempt } from './attempt.ts';
import type { Dispatch } from './dispatch.ts';
import { FenceLostError, SamekeyError } from '../core/errors.ts';
import type { Emit } from './events.ts';
import type { Timer, World } from '../core/world.ts';

/** What renews claims. */
export interface Renewer {
  add(attempt: RunningAttempt): void;
  remove(attempt: RunningAttempt): void;
  stop(): void;
}

const TICK_MIN_MS = 5;

/** Makes the renewer of one engine. */
export function createRenewer(
  world: World,
  dispatch: Dispatch,
  callTimeMaxMs: number,
  emit: Emit,
  slow: (attempt: RunningAttempt) => void = () => undefined,
): Renewer {
  const attempts = new Set<RunningAttempt>();
  let timer: Timer | null = null;
  let tickAt = Number.POSITIVE_INFINITY;

  function schedule(at: number): void {
    if (at >= tickAt) return;
    timer?.cancel();
    tickAt = at;
    timer = world.setTimer(Math.max(0, at - world.monotonicNow()), tick);
  }

  function tick(): void {
    timer = null;
    tickAt = Number.POSITIVE_INFINITY;
    const now = world.monotonicNow();
    let next = Number.POSITIVE_INFINITY;
    for (const attempt of attempts) {
      const { settings } = attempt;
      next = Math.min(next, now + tickMs(attempt));
      if (attempt.onTimeUp !== null && now - attempt.startedAt >= settings.attemptTimeMaxMs) {
        timeUp(attempt);
        continue;
      }
      // Told while there is still time to look at it: perhaps the handler has forgotten to answer (F100).
      if (attempt.onTimeUp !== null && now - attempt.startedAt >= settings.attemptTimeMaxMs / 3)
        slow(attempt);
      if (isDue(attempt, now)) {
        attempt.renewing = renew(attempt, now).finally(() => {
          attempt.renewing = null;
        });
      }
    }
    if (next < Number.POSITIVE_INFINITY) schedule(next);
  }

  function timeUp(attempt: RunningAttempt): void {
    attempts.delete(attempt);
    emit?.({ type: 'attempt-time-up', ...about(attempt) });
    attempt.abort(
      new SamekeyError(
        'ERR_SAMEKEY_FENCE_LOST',
        `The attempt ran longer than attemptTimeMaxMs (${attempt.settings.attemptTimeMaxMs} ms) and is no longer renewed.`,
      ),
    );
    attempt.onTimeUp?.();
  }

  async function renew(attempt: RunningAttempt, sentAt: number): Promise<void> {
    const sentWallAt = world.wallNow();
    try {
      const request = { ...attempt.id, ...attempt.fence, claimTtlMs: attempt.settings.claimTtlMs };
      const result = await dispatch.renew(request, sentAt + callTimeMaxMs);
      if (result.kind === 'renewed') {
        attempt.renewed(sentAt, sentWallAt);
      } else if (result.kind === 'lost' && attempts.has(attempt) && !attempt.lost) {
        // It stays here until its time is up: whoever waits for a handler that hangs is told then.
        attempt.lost = true;
        // Once the handler has ended, this may be the attempt's own end; its finish says what it found.
        if (attempt.onTimeUp !== null)
          emit?.({ type: 'fence-lost', ...about(attempt), found: result.record?.state ?? null });
        attempt.abort(new FenceLostError());
        attempt.onLost?.();
      }
    } catch {
      // The dispatcher has told of the error; the next tick tries again, and the finish will see how the record stands.
      emit?.({ type: 'renewal-failed', count: 1 });
    }
  }

  return {
    add(attempt) {
      attempts.add(attempt);
      schedule(world.monotonicNow() + tickMs(attempt));
    },
    remove(attempt) {
      attempts.delete(attempt);
    },
    stop() {
      attempts.clear();
      timer?.cancel();
      timer = null;
      tickAt = Number.POSITIVE_INFINITY;
    },
  };
}

function isDue({ lost, held, renewing, renewedAt, settings }: RunningAttempt, now: number): boolean {
  return !lost && !held && renewing === null && now - renewedAt >= settings.claimTtlMs / 3;
}

/** Often enough to renew at a third of the claim and to end an attempt near its time. */
function tickMs({ settings }: RunningAttempt): number {
  return Math.max(TICK_MIN_MS, Math.min(settings.claimTtlMs / 6, settings.attemptTimeMaxMs / 4));
}

/** The fields that name an attempt in events. */
export function about(attempt: RunningAttempt): {
  readonly id: RunningAttempt['id'];
  readonly operation: string;
  readonly attempt: number;
} {
  return { id: attempt.id, operation: attempt.operation, attempt: attempt.number };
}
