/**
 * Where the right to run comes from: a claim, or (`reserve: 'in-transaction'`) the transaction that does the work and
 * has reserved the key. What cannot be reserved at once is claimed.
 *
 * Invariants: what was reserved is either run or released · another request is told that the key is used only when two
 * looks have met one and no record is there.
 */

import { RunningAttempt } from './attempt.ts';
import { type Begun, type Claimer, claimRequestOf } from './claimer.ts';
import type { Dispatch } from './dispatch.ts';
import { isStoreError } from '../core/errors.ts';
import type { Met } from './flight.ts';
import { metOnly, unavailable } from './meeting.ts';
import { retryAfter } from '../core/outcome.ts';
import type { ReplayCache } from './replay-cache.ts';
import type { ClaimRequest } from '../store/store.ts';
import type { Reservation, ReservedId } from '../store/transaction.ts';
import type { Unfit } from './unfit.ts';
import { askAgainAfter, type Running, type UsualLengths } from './usual.ts';
import type { Reserving, Work } from './work.ts';
import type { World } from '../core/world.ts';

/** What gives it. */
export interface Reserver {
  /** As {@link Claimer.begin}. */
  begin(work: Work, reserving: Reserving): Promise<Begun>;
  /** Whether a transaction works on the key, which has no record yet. */
  isRunning(work: Work): Promise<boolean | 'unclear'>;
}

/** What it needs. */
interface ReserverOptions {
  readonly world: World;
  readonly dispatch: Pick<Dispatch, 'find' | 'reservation'>;
  readonly claimer: Pick<Claimer, 'begin'>;
  readonly cache: Pick<ReplayCache, 'drop'>;
  readonly usual: Pick<UsualLengths, 'of'>;
  readonly unfit: Unfit;
  readonly callTimeMaxMs: number;
  readonly writeVersion: number;
  readonly readVersion: number;
  isClosing(): boolean;
}

/** A reservation is asked for so often at most: whoever looks at it takes its locks for a moment. */
const TURNS_MAX = 4;
/** An attempt that nobody sees is asked about anew after so long, in milliseconds. */
const UNSEEN_LOOK_MS = 250;

/** Makes the reserver of one engine. */
export function createReserver(options: ReserverOptions): Reserver {
  const { world, dispatch, claimer, callTimeMaxMs } = options;

  function look(request: ReservedId): Promise<Reservation> {
    return dispatch.reservation(request, world.monotonicNow() + callTimeMaxMs);
  }

  /** Null: a claim must be asked for. */
  async function reserve(work: Work, reserving: Reserving): Promise<Begun | null> {
    let others = 0;
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      if (world.probe !== undefined) await world.probe('claim.before', work.id);
      const [sentAt, sentWallAt] = [world.monotonicNow(), world.wallNow()];
      const request = claimRequestOf(work, work, options);
      // Who was met is looked for before a transaction is begun for it again.
      const reserved = reserving.hasMet ? 'taken' : await reserving.reserve(request);
      reserving.hasMet = false;
      if (reserved === 'known') return null;
      if (reserved === 'silent') return metOnly(unavailable('store'));
      if (reserved === 'reserved') return began(work, reserving, request, { sentAt, sentWallAt });
      try {
        const held = await look(request);
        if (held === 'known' || (held === 'free' && reserved === 'late')) return null;
        if (held === 'same') {
          reserving.hasMet = true;
          return elsewhere(work);
        }
        others += held === 'other' ? 1 : 0;
        // The one that was met may have ended in that moment, and been of this very request.
        if (others === 2) {
          const record = await dispatch.find(work.id, world.monotonicNow() + callTimeMaxMs);
          return record === null ? metOnly({ kind: 'mismatch' }) : null;
        }
      } catch (error) {
        if (!isStoreError(error)) throw error;
        return metOnly(unavailable('store', retryAfter(error.retryAfterMs ?? 0)));
      }
    }
    return metOnly({ kind: 'in-progress', retryAfterMs: retryAfter(0) });
  }

  function began(
    { id, operation, settings, fingerprint }: Work,
    reserving: Reserving,
    request: ClaimRequest,
    { sentAt, sentWallAt }: { readonly sentAt: number; readonly sentWallAt: number },
  ): Begun {
    if (options.isClosing()) {
      reserving.release();
      return metOnly(unavailable('closing'));
    }
    options.cache.drop(id);
    const granted = { resumed: null, createdAt: sentWallAt, fingerprint, sentWallAt };
    const attempt = new RunningAttempt(
      id,
      operation,
      settings,
      { claimId: request.claimId, attempt: 1 },
      granted,
      sentAt,
    );
    attempt.unrecorded = request;
    // There is no record to renew: the transaction is its sign of life.
    attempt.held = true;
    return { run: attempt };
  }

  /** Another transaction works on it; how long for already, nobody knows. */
  function elsewhere({ id, operation, settings }: Work): Met {
    const usualMs = options.usual.of(operation);
    const running: Running = { ageMs: 0, claimLeftMs: settings.claimTtlMs, usualMs };
    return {
      outcome: { kind: 'in-progress', retryAfterMs: askAgainAfter(running) },
      claimLeftMs: UNSEEN_LOOK_MS,
      running,
      foundAt: id,
      isUnseen: true,
    };
  }

  return {
    async isRunning(work) {
      if (!isReservable(work)) return false;
      try {
        const held = await look({ ...work.id, fingerprint: work.fingerprint });
        return held === 'same' || held === 'other';
      } catch (error) {
        if (!isStoreError(error)) throw error;
        return 'unclear';
      }
    },
    async begin(work, reserving) {
      const begun = isReservable(work) ? await reserve(work, reserving) : null;
      return begun ?? claimer.begin(work);
    },
  };
}

/**
 * What is left to a worker, or taken up by one, has a record of its own from the first. So has a key while a bridge
 * stands: pointers lead to it.
 */
function isReservable({ entry, input, younger }: Work): boolean {
  return entry === 'run' && input === null && younger.length === 0;
}
