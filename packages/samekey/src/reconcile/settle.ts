/**
 * Writes what was learned about an unknown outcome, under the fence of the record as it was asked about, and tells what
 * stands there if that is something else.
 *
 * Invariants: a lost reply is repeated, and "already" is what the repeat then finds · nothing is ever written over an
 * answer · a contradiction is an event and a row of the audit, never silence.
 */

import type { NewAuditRow } from '../store/audit.ts';
import { isStoreError } from '../core/errors.ts';
import { pause } from '../core/pause.ts';
import type { RecordId, SamekeyRecord } from '../core/record.ts';
import type { HandResult, SettleRequest } from '../store/store.ts';
import { type CallRule, callTimeOf, rememberedUntil } from './no-effect.ts';
import { type OpenEffect, stepsWithResult } from './effect-of.ts';
import type { ReconciledBy } from './reconcile-events.ts';
import type { CheckedReconcilerOptions } from './options.ts';
import { meet, type Meeting } from './meet.ts';
import type { FinalVerdict } from './verdict.ts';

/** Who says so. */
interface Teller {
  readonly by: ReconciledBy;
  readonly actor: string;
  /** What stands in the record if the verdict gives no reason. */
  readonly reason: string;
  /** The store's clock, or the machine's where nobody has asked it: for the event only. */
  readonly now: number;
  /** The attempt that the verdict is about; null: whichever there is. */
  readonly attempt: number | null;
  /**
   * Whether it is about what is open: what is said of a call before it is compared with the record, and never written.
   * Default true.
   */
  readonly decides?: boolean;
}

/** `too-early`: "no effect", and the longest call has not had its time by the store's clock. */
export type Settled = { readonly kind: 'applied' } | { readonly kind: 'too-early' } | Meeting;

/** Writes verdicts. Throws `StoreError` when the store could not say whether it was written. */
export type Settler = (
  record: SamekeyRecord,
  found: {
    readonly verdict: FinalVerdict;
    readonly effect: OpenEffect | null;
    readonly rule: CallRule;
  },
  teller: Teller,
) => Promise<Settled>;

const TRIES_MAX = 5;
const PAUSE_MIN_MS = 50;

/** Makes it. */
export function createSettler(options: CheckedReconcilerOptions): Settler {
  const { emit, store, world } = options;

  async function write(request: SettleRequest): Promise<HandResult> {
    let unclear = false;
    for (let tries = 1; ; tries += 1) {
      try {
        const [result] = await store.settle([request]);
        if (result === undefined) throw new TypeError('The store gave no result.');
        return result.kind === 'already' && unclear ? { kind: 'applied' } : result;
      } catch (error) {
        emit({ type: 'store-error', verb: 'settle', error });
        if (!isStoreError(error) || !error.transient || tries >= TRIES_MAX) throw error;
        unclear ||= error.applied === 'unknown';
        await pause(world, PAUSE_MIN_MS * 2 ** tries);
      }
    }
  }

  /**
   * As patient as with what it is about: a row may stand there twice, and is missing only where the store could not be
   * written for long.
   */
  async function note(row: NewAuditRow): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await store.note([row]);
      } catch (error) {
        // The event has told it; the record is as it was.
        emit({ type: 'store-error', verb: 'note', error });
        if (!isStoreError(error) || !error.transient || tries >= TRIES_MAX) return;
        await pause(world, PAUSE_MIN_MS * 2 ** tries);
      }
    }
  }

  async function look(id: RecordId): Promise<SamekeyRecord | null> {
    return (await store.find([id]))[0] ?? null;
  }

  return async (record, { verdict, effect, rule }, teller) => {
    const { scope, key, claimId, attempt, operation } = record;
    const { says, to, response } = verdict;
    const about = { id: { scope, key }, operation, attempt };
    const reason = verdict.reason ?? teller.reason;
    let met: Meeting;
    const isAbout = teller.attempt === null || teller.attempt >= attempt;
    if (record.state === 'unknown' && isAbout && teller.decides !== false) {
      const newSteps = says === 'took-effect' ? stepsWithResult(record, verdict.result) : undefined;
      const result = await write({
        scope,
        key,
        claimId,
        attempt,
        to,
        response,
        reason,
        actor: teller.actor,
        ...(says === 'no-effect' ? conditionsOf(record, effect, rule) : {}),
        ...(newSteps === undefined ? {} : { newSteps }),
      });
      if (result.kind === 'applied') {
        store.hints?.changed({ scope, key });
        const ageMs = Math.max(0, Math.floor(teller.now - record.lockedUntil));
        emit({ type: 'reconcile-resolved', ...about, to, inquiries: record.inquiries, ageMs, by: teller.by });
        return { kind: 'applied' };
      }
      // "Retryable" may have been said because nothing happened: to whom an effect took place that is no agreement.
      if (result.kind !== 'refused' && says !== 'took-effect') return { kind: 'already', state: to };
      const there = result.kind === 'refused' ? result.record : await look({ scope, key });
      const isSame = there?.claimId === claimId && there.attempt === attempt;
      if (there?.state === 'unknown' && isSame) return { kind: 'too-early' };
      met = meet(says, there, attempt);
    } else met = meet(says, record, teller.attempt);
    if (met.kind !== 'contradiction') return met;
    // "It took effect" wants no retry, whatever state it would have led to.
    const wanted = says === 'took-effect' ? 'completed' : to;
    emit({ type: 'contradiction', ...about, wanted, found: met.found });
    await note({
      scope,
      key,
      operation,
      attempt,
      act: 'contradiction',
      from: met.found,
      to,
      reason,
      actor: teller.actor,
    });
    return met;
  };
}

/**
 * The store's clock has the last word: not before the longest call has had its time, not after the provider may have
 * forgotten it.
 */
function conditionsOf(
  record: SamekeyRecord,
  effect: OpenEffect | null,
  rule: CallRule,
): Pick<SettleRequest, 'claimEndedForMs' | 'notAfter'> {
  const notAfter = rememberedUntil(record, effect, rule);
  const claimEndedForMs = callTimeOf(effect, rule);
  return Number.isFinite(notAfter) ? { claimEndedForMs, notAfter } : { claimEndedForMs };
}
