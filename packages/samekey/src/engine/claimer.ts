/**
 * Looks for the right to run: one claim, repeated where the first answer was not about this request (another label of
 * the fingerprint, a former name, an own claim whose reply had been lost).
 *
 * Invariants: a claim that was granted is either run or handed back · a claim whose reply was lost is remembered ·
 * without the store's word nothing runs.
 */

import type { Abandoned } from './abandoned.ts';
import { RunningAttempt } from './attempt.ts';
import { createBridges, HOPS_MAX, isTooShort, type Located, type Spot } from './bridge/bridge.ts';
import { finishRequest } from './ending/conclude.ts';
import type { Dispatch } from './dispatch.ts';
import { isStoreError } from '../core/errors.ts';
import type { Met } from './flight.ts';
import { metOnly, outcomeOf, unavailable } from './meeting.ts';
import { type Outcome, retryAfter } from '../core/outcome.ts';
import { isPointer } from './bridge/pointer.ts';
import { isForgotten, isPurgeable, NAME_EXPIRED, type SamekeyRecord } from '../core/record.ts';
import { keepRecord, type ReplayCache } from './replay-cache.ts';
import type { ClaimRequest, ClaimResult, FoundReason } from '../store/store.ts';
import type { Unfit } from './unfit.ts';
import type { Running, UsualLengths } from './usual.ts';
import type { Place, Work } from './work.ts';
import type { World } from '../core/world.ts';

/** The right to run, or what was met instead. */
export type Begun = { readonly run: RunningAttempt } | Met;

/** What looks for the right to run. */
export interface Claimer {
  begin(work: Work): Promise<Begun>;
  /**
   * What stands for the work, under all identities of its operation; what the store's silence is answered with. Writes
   * nothing.
   */
  find(work: Work): Promise<Located | Met>;
  /** Whether a record that was found there is bound to this very request; what to tell if it is not. */
  compare(work: Work, located: Located): Promise<Outcome | null>;
  /** Ends an attempt whose handler never started. */
  handBack(attempt: RunningAttempt, reason: string): Promise<void>;
}

/** What the claimer needs. */
interface ClaimerOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
  readonly abandoned: Abandoned;
  readonly cache: ReplayCache;
  readonly usual: Pick<UsualLengths, 'of'>;
  readonly unfit: Unfit;
  readonly callTimeMaxMs: number;
  readonly writeVersion: number;
  readonly readVersion: number;
  isClosing(): boolean;
}

type Asked = { readonly result: ClaimResult; readonly attempt: RunningAttempt | null };

/** Makes the claimer of one engine. */
export function createClaimer(options: ClaimerOptions): Claimer {
  const { world, dispatch, abandoned, cache, callTimeMaxMs } = options;

  const bridges = createBridges({
    world,
    dispatch,
    abandoned,
    callTimeMaxMs,
    writeVersion: options.writeVersion,
    readVersion: options.readVersion,
  });

  async function begin(work: Work): Promise<Begun> {
    let prepared: Spot | Met =
      work.younger.length === 0
        ? { id: work.id, fingerprint: work.fingerprint, via: null, until: null, isLaid: true }
        : await bridges.prepare(work);
    // Few turns suffice: another fingerprint once, an own lost claim once, a pointer for each deploy, what had not
    // fitted once.
    for (let turn = 0; turn < 5 + HOPS_MAX; turn += 1) {
      if ('outcome' in prepared) return prepared;
      const spot: Spot = prepared;
      // What a worker may begin at once cannot be given back: it is looked at before.
      if (work.entry === 'accept' && isTooShort(work, spot, world.wallNow()) && !(await lives(spot)))
        return metOnly(unavailable('kept-elsewhere', 5_000));
      const asked = await claim(work, spot);
      if ('outcome' in asked) return asked;
      const { result, attempt } = asked;
      if (attempt !== null) {
        if (options.isClosing()) {
          await handBack(attempt, 'closing');
          return metOnly(unavailable('closing'));
        }
        if (attempt.left.unreadable !== undefined) {
          // What earlier attempts have done cannot be read: running now would do it again.
          await handBack(attempt, 'unreadable');
          return metOnly(unavailable('unreadable', 5_000));
        }
        const begins = attempt.resumed === null || attempt.resumed.reason === POINTER_ENDS;
        if (begins && isTooShort(work, spot, attempt.createdAt)) {
          await handBack(attempt, POINTER_ENDS);
          return metOnly(unavailable('kept-elsewhere', 5_000));
        }
        // What was only just given back by the next lines (of another process) is no earlier attempt either.
        const earlier = attempt.resumed !== null && attempt.resumed.reason !== NAME_EXPIRED;
        if (spot.isLaid || earlier) return { run: attempt };
        // It had expired: a new use of the key begins where old code looks too, and behind pointers.
        await handBack(attempt, NAME_EXPIRED);
        prepared = await bridges.prepare(work);
      } else if (result.kind === 'accepted') {
        return { ...metOnly({ kind: 'pending', retryAfterMs: retryAfter(0) }), isNew: true };
      } else if (result.kind !== 'found') {
        return metOnly(unavailable('store-full', 5_000));
      } else if (isPointer(result.record)) {
        prepared = await bridges.follow(work, spot, result.record);
      } else if (
        (result.because === 'other-label' || result.because === 'mismatch') &&
        result.record.fingerprint !== null
      ) {
        const compared = await bridges.compare(work, spot, result.record.fingerprint);
        if ('kind' in compared) return metOnly(compared);
        prepared = { ...spot, fingerprint: compared };
      } else if (
        work.takesSteps === true &&
        options.unfit.has(spot.id) &&
        !options.unfit.holdsFor(result.record)
      ) {
        // What did not fit is another by now: with the next turn this code may take it up.
      } else if (!mayBeOurs(result.because) || !(await released(result.record))) {
        const { ageMs, claimLeftMs } = result;
        const running: Running = { ageMs, claimLeftMs, usualMs: options.usual.of(work.operation) };
        const { input, unreadable } = result.record;
        return {
          outcome: outcomeOf(result, work.settings, running),
          claimLeftMs,
          running,
          foundAt: spot.id,
          isNobodys: input === null && unreadable === undefined,
        };
      }
    }
    return metOnly({ kind: 'in-progress', retryAfterMs: retryAfter(0) });
  }

  async function lives({ id }: Spot): Promise<boolean> {
    try {
      const record = await dispatch.find(id, world.monotonicNow() + callTimeMaxMs);
      return record !== null && !isForgotten(record) && !isPurgeable(record, world.wallNow());
    } catch (error) {
      if (!isStoreError(error)) throw error;
      return false;
    }
  }

  async function claim(work: Work, { id, fingerprint }: Spot): Promise<Asked | Met> {
    const { settings } = work;
    if (world.probe !== undefined) await world.probe('claim.before', id);
    const asked = cache.asking();
    const sentAt = asked.monotonic;
    const sentWallAt = world.wallNow();
    const request = claimRequestOf(work, { id, fingerprint }, options);
    const { claimId } = request;
    let result: ClaimResult;
    try {
      result = await dispatch.claim(request, sentAt + callTimeMaxMs);
    } catch (error) {
      if (!isStoreError(error)) throw error;
      // What is only noted needs nobody to release it: a worker has it, or it never arrived.
      if (error.applied === 'unknown' && work.entry !== 'accept') abandoned.add(request);
      return metOnly(unavailable('store', retryAfter(error.retryAfterMs ?? 0)));
    }
    if (result.kind === 'found' && result.because === 'final')
      keepRecord(cache, result.record, asked, Math.min(result.lifeLeftMs, result.trustLeftMs ?? Infinity));
    else cache.drop(id);
    if (result.kind === 'claimed') {
      const fence = { claimId, attempt: result.attempt };
      return {
        result,
        attempt: new RunningAttempt(
          id,
          work.operation,
          settings,
          fence,
          { ...result, fingerprint, sentWallAt },
          sentAt,
        ),
      };
    }
    // Our own claim, ended while its reply was under way: nothing ran under it.
    if (result.kind === 'found' && result.because === 'spent') abandoned.add(request);
    return { result, attempt: null };
  }

  async function compare(work: Work, { record, spot }: Located): Promise<Outcome | null> {
    if (record === null || record.fingerprint === null) return null;
    const compared = await bridges.compare(work, spot, record.fingerprint);
    return 'kind' in compared ? compared : null;
  }

  async function released(record: SamekeyRecord): Promise<boolean> {
    if (!abandoned.has(record)) return false;
    try {
      return await abandoned.release(record);
    } catch {
      // The dispatcher has told of the error; the claim stays remembered.
      return false;
    }
  }

  async function handBack(attempt: RunningAttempt, reason: string): Promise<void> {
    const request = finishRequest(attempt, {
      to: 'retryable',
      proof: 'declared',
      reason,
      response: null,
      unbind: false,
    });
    try {
      await dispatch.finish(request, world.monotonicNow() + callTimeMaxMs);
    } catch {
      abandoned.addGranted(attempt.id, attempt.fence, attempt.operation);
    }
  }

  return { begin, find: (work) => bridges.locate(work), compare, handBack };
}

/** What a claim is made with. */
interface ClaimRequestOptions {
  readonly world: Pick<World, 'newClaimId'>;
  readonly unfit: Pick<Unfit, 'has'>;
  readonly writeVersion: number;
  readonly readVersion: number;
}

/** A work as a claim, under a new claimId: of a record of its own, or of one that a transaction makes. */
export function claimRequestOf(
  work: Work,
  { id, fingerprint }: Pick<Place, 'id'> & Pick<Work, 'fingerprint'>,
  { world, unfit, writeVersion, readVersion }: ClaimRequestOptions,
): ClaimRequest {
  const { settings } = work;
  return {
    scope: id.scope,
    key: id.key,
    operation: work.operation,
    claimId: world.newClaimId(),
    claimTtlMs: settings.claimTtlMs,
    fingerprint,
    whenClaimEnds: settings.whenClaimEnds,
    retentionMs: settings.retentionMs,
    replayMinMs: settings.replayMinMs,
    tombstoneMs: settings.tombstoneMs,
    attemptMax: settings.attemptMax,
    formatVersion: writeVersion,
    readVersion,
    entry: work.entry,
    input: work.input,
    pendingTimeMaxMs: work.pendingTimeMaxMs,
    takesSteps: work.takesSteps === true && !unfit.has(id),
  };
}

/** The reason of an attempt that was given back because the pointer to its record would end before the record. */
const POINTER_ENDS = 'pointer-ends';

/** Whether what was found may be a claim of this process that nobody works on. */
function mayBeOurs(because: FoundReason): boolean {
  return because === 'in-progress' || because === 'unknown' || because === 'spent';
}
