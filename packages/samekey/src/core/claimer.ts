/**
 * Looks for the right to run: one claim, repeated where the first answer was not about this request (another label of the
 * fingerprint, a former name, an own claim whose reply had been lost).
 *
 * Invariants: a claim that was granted is either run or handed back · a claim whose reply was lost is remembered · without
 * the store's word nothing runs.
 */

import type { Abandoned } from './abandoned.ts';
import { RunningAttempt } from './attempt.ts';
import { finishRequest } from './conclude.ts';
import type { Dispatch } from './dispatch.ts';
import { isStoreError } from './errors.ts';
import type { Met } from './flight.ts';
import { metOnly, outcomeOf, unavailable } from './meeting.ts';
import { retryAfter } from './outcome.ts';
import { type Fingerprint, firstLiving, idText, type RecordId, type SamekeyRecord } from './record.ts';
import { keepRecord, type ReplayCache } from './replay-cache.ts';
import type { ClaimRequest, ClaimResult, FoundReason } from './store.ts';
import type { Running, UsualLengths } from './usual.ts';
import type { Work } from './work.ts';
import type { World } from './world.ts';

/** The right to run, or what was met instead. */
export type Begun = { readonly run: RunningAttempt } | Met;

/** What looks for the right to run. */
export interface Claimer {
  begin(work: Work): Promise<Begun>;
  /** The records of the work, under all names of its operation; what the store's silence is answered with. */
  find(work: Work): Promise<{ readonly records: readonly SamekeyRecord[] } | Met>;
  /** Ends an attempt whose handler never started. */
  handBack(attempt: RunningAttempt, reason: string): Promise<void>;
}

/** What the claimer needs. */
export interface ClaimerOptions {
  readonly world: World;
  readonly dispatch: Dispatch;
  readonly abandoned: Abandoned;
  readonly cache: ReplayCache;
  readonly usual: Pick<UsualLengths, 'of'>;
  readonly callTimeMaxMs: number;
  readonly writeVersion: number;
  isClosing(): boolean;
}

type Asked = { readonly result: ClaimResult; readonly attempt: RunningAttempt | null };

/** Makes the claimer of one engine. */
export function createClaimer(options: ClaimerOptions): Claimer {
  const { world, dispatch, abandoned, cache, callTimeMaxMs } = options;

  async function begin(work: Work): Promise<Begun> {
    let { id, fingerprint } = work;
    if (work.otherIds.length > 0) {
      const known = await knownId(work);
      if ('outcome' in known) return known;
      id = idText(known.id) === idText(work.id) ? work.id : known.id;
    }
    // Few turns suffice: another label once, an own lost claim once, a former name that had expired once.
    for (let turn = 0; turn < 5; turn += 1) {
      const asked = await claim(work, id, fingerprint);
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
        // What was only just given back by the next lines (of another process) is no earlier attempt either.
        const earlier = attempt.resumed !== null && attempt.resumed.reason !== NAME_EXPIRED;
        if (id === work.id || earlier) return { run: attempt };
        // It had expired under its former name: new uses of the key belong under the present one.
        await handBack(attempt, NAME_EXPIRED);
        id = work.id;
      } else if (result.kind === 'accepted') {
        return { ...metOnly({ kind: 'pending', retryAfterMs: retryAfter(0) }), isNew: true };
      } else if (result.kind !== 'found') {
        return metOnly(unavailable('store-full', 5_000));
      } else if (result.because === 'other-label' && result.record.fingerprint !== null) {
        const other = await fingerprintFor(work, result.record.fingerprint.label);
        if (other === undefined) return metOnly(unavailable('other-label', 5_000));
        fingerprint = other;
      } else if (!mayBeOurs(result.because) || !(await released(result.record))) {
        const { ageMs, claimLeftMs } = result;
        const running: Running = { ageMs, claimLeftMs, usualMs: options.usual.of(work.operation) };
        return { outcome: outcomeOf(result, work.settings, running), claimLeftMs, running };
      }
    }
    return metOnly({ kind: 'in-progress', retryAfterMs: retryAfter(0) });
  }

  async function claim(work: Work, id: RecordId, fingerprint: Fingerprint): Promise<Asked | Met> {
    const { settings } = work;
    const claimId = world.newClaimId();
    if (world.probe !== undefined) await world.probe('claim.before', id);
    const asked = cache.asking();
    const sentAt = asked.monotonic;
    const sentWallAt = world.wallNow();
    const request: ClaimRequest = {
      scope: id.scope,
      key: id.key,
      operation: work.operation,
      claimId,
      claimTtlMs: settings.claimTtlMs,
      fingerprint,
      whenClaimEnds: settings.whenClaimEnds,
      retentionMs: settings.retentionMs,
      replayMinMs: settings.replayMinMs,
      tombstoneMs: settings.tombstoneMs,
      attemptMax: settings.attemptMax,
      formatVersion: options.writeVersion,
      entry: work.entry,
      input: work.input,
      pendingTimeMaxMs: work.pendingTimeMaxMs,
    };
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

  /** The id to claim: the one under which a record exists, be it of another name, else the operation's identity. */
  async function knownId(work: Work): Promise<{ readonly id: RecordId } | Met> {
    const found = await find(work);
    if ('outcome' in found) return found;
    const first = firstLiving(found.records, world.wallNow()) ?? found.records[0];
    return { id: first === undefined ? work.id : { scope: first.scope, key: first.key } };
  }

  async function find(work: Work): Promise<{ readonly records: readonly SamekeyRecord[] } | Met> {
    const deadline = world.monotonicNow() + callTimeMaxMs;
    try {
      const records = await Promise.all([work.id, ...work.otherIds].map((id) => dispatch.find(id, deadline)));
      return { records: records.filter((record) => record !== null) };
    } catch (error) {
      if (!isStoreError(error)) throw error;
      return metOnly(unavailable('store'));
    }
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

  return { begin, find, handBack };
}

/** The reason of an attempt that was given back because its record belongs under another name of the operation. */
const NAME_EXPIRED = 'former-name-expired';

/** Whether what was found may be a claim of this process that nobody works on. */
function mayBeOurs(because: FoundReason): boolean {
  return because === 'in-progress' || because === 'unknown' || because === 'spent';
}

/** The work's fingerprint under a label; undefined when this process does not know how to make it. */
export async function fingerprintFor(work: Work, label: string): Promise<Fingerprint | undefined> {
  return label === work.fingerprint.label ? work.fingerprint : work.refingerprint(label);
}
