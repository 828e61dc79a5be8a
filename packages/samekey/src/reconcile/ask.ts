/**
 * Asks about one unknown outcome and does what follows from the answer: settles it, leaves it to a later question, or
 * gives it up.
 *
 * Invariants: a question is bounded in time · how often was asked stands in the record, so neither the backoff nor the
 * bound begins anew with a new process · "no effect" counts from the moment at which the outcome was taken, before the
 * question.
 */

import type { SamekeyRecord } from '../core/record.ts';
import { type OpenEffect, openEffectOf, stepsWithResult } from './effect-of.ts';
import { firstCallAt, noEffectCounts } from './no-effect.ts';
import type { CheckedOperation, CheckedReconcilerOptions } from './options.ts';
import type { Settler } from './settle.ts';
import { checkVerdict, type CheckedVerdict } from './verdict.ts';

/** What became of a question. `left`: nothing was written, and it is asked again when its lease has ended. */
export type Asked = 'resolved' | 'already' | 'contradiction' | 'scheduled' | 'failed' | 'given-up' | 'left';

/** What a question was about, and what its answer says. */
interface Finding {
  readonly verdict: CheckedVerdict;
  readonly effect: OpenEffect | null;
  readonly rule: CheckedOperation;
}

/** Makes it. `stopping` is aborted when questions under way are to end. */
export function createAsk(
  options: CheckedReconcilerOptions,
  settle: Settler,
  watchedMs: ((record: SamekeyRecord) => number) | null,
  stopping: AbortSignal,
): (record: SamekeyRecord) => Promise<Asked> {
  const { emit, operations, probe, store, world } = options;

  async function ask(
    record: SamekeyRecord,
    effect: OpenEffect | null,
    { inquire }: CheckedOperation,
    askedAt: number,
  ): Promise<CheckedVerdict> {
    const own = new AbortController();
    const { inquiryTimeMaxMs } = options;
    return new Promise((resolve, reject) => {
      const end = (error: Error): void => {
        own.abort(error);
        reject(error);
      };
      const stop = (): void => end(new Error('The reconciler stops.'));
      const timer = world.setTimer(inquiryTimeMaxMs, () =>
        end(new Error(`The question took longer than inquiryTimeMaxMs (${inquiryTimeMaxMs} ms).`)),
      );
      stopping.addEventListener('abort', stop, { once: true });
      (async () => {
        const { inquiries: inquiry } = record;
        const callAgeMs = Math.max(0, Math.floor(askedAt - firstCallAt(record)));
        const told = { inquiry, callAgeMs, effect, signal: own.signal };
        const verdict = checkVerdict(await inquire(record, told));
        // What cannot be written is no answer to the question.
        if (verdict.says === 'took-effect') stepsWithResult(record, verdict.result);
        return verdict;
      })()
        .then(resolve, reject)
        .finally(() => {
          timer.cancel();
          stopping.removeEventListener('abort', stop);
        });
    });
  }

  /** Leaves it to a later question, or to an operator. */
  async function later(record: SamekeyRecord, waitMs: number | null, reason: string): Promise<Asked> {
    const { scope, key, claimId, attempt, operation, inquiries } = record;
    const isLast = inquiries >= options.inquiriesMax;
    const afterMs = isLast ? null : (waitMs ?? backoffMs(inquiries));
    const [result] = await store.postpone([{ scope, key, claimId, attempt, inquiries, afterMs, reason }]);
    // Settled meanwhile, or taken by another after the lease had ended: theirs.
    if (result?.kind === 'refused') return 'left';
    const about = { id: { scope, key }, operation, attempt, inquiries };
    if (afterMs === null) emit({ type: 'reconcile-given-up', ...about });
    else emit({ type: 'reconcile-scheduled', ...about, afterMs });
    return afterMs === null ? 'given-up' : 'scheduled';
  }

  function backoffMs(inquiries: number): number {
    const { backoffMinMs, backoffMaxMs } = options;
    const whole = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(inquiries - 1, DOUBLED_MAX));
    // What became unknown at one moment is not asked about at one moment for ever.
    return Math.ceil(whole * (0.75 + world.random() / 4));
  }

  /** Writes what was found out, or asks again. */
  async function heed(
    record: SamekeyRecord,
    { verdict, effect, rule }: Finding,
    askedAt: number,
    watched: number | null,
  ): Promise<Asked> {
    const { attempt } = record;
    if (verdict.says === 'not-known') {
      const { afterMs, reason } = verdict;
      const waitMs =
        afterMs === null ? null : Math.min(AFTER_MAX_MS, Math.max(options.backoffMinMs, afterMs));
      return later(record, waitMs, reason ?? 'not known');
    }
    if (verdict.says === 'no-effect') {
      const counts = noEffectCounts(record, effect, rule, askedAt, watched);
      if (!counts.counts) {
        const { because, afterMs } = counts;
        return later(record, afterMs, NOT_COUNTED[because]);
      }
    }
    const settled = await settle(
      record,
      { verdict, effect, rule },
      { by: 'inquiry', actor: options.actor, reason: 'found out by asking', attempt, now: askedAt },
    );
    await probe('settle.applied', record);
    switch (settled.kind) {
      case 'applied':
        return 'resolved';
      case 'too-early':
        return later(record, null, 'no effect, too early');
      case 'not-yet':
        return 'left';
      case 'already':
      case 'contradiction':
        return settled.kind;
      default:
        return settled satisfies never;
    }
  }

  return async (record) => {
    const { scope, key, operation, attempt } = record;
    const rule = operations.get(operation);
    // Taken by name, so there is one; and a question that ends its process each time must not be asked for ever.
    if (rule === undefined || record.inquiries > options.inquiriesMax)
      return later(record, null, 'asked as often as allowed');
    // Which effect is open cannot be told, nor asked about.
    if (record.unreadable !== undefined) return later(record, null, 'a part of the record cannot be opened');
    const effect = await openEffectOf(record, world);
    const askedAt = (record.reconcileAfter ?? 0) - options.leaseMs;
    const watched = watchedMs?.(record) ?? null;
    let verdict: CheckedVerdict;
    try {
      await probe('inquire.before', record);
      verdict = await ask(record, effect, rule, askedAt);
      await probe('inquire.after', record);
    } catch (error) {
      if (stopping.aborted) return 'left';
      emit({ type: 'reconcile-failed', id: { scope, key }, operation, attempt, error });
      const then = await later(record, null, 'the question failed');
      return then === 'scheduled' ? 'failed' : then;
    }
    return heed(record, { verdict, effect, rule }, askedAt, watched);
  };
}

/** Doubled so often at most: no clock counts further. */
const DOUBLED_MAX = 30;
/** A provider that says "in a year" is asked in a month. */
const AFTER_MAX_MS = 30 * 24 * 3_600_000;
const NOT_COUNTED = {
  owner: 'no effect, but its owner is not proven gone',
  retention: 'no effect, but the provider may have forgotten it',
  'call-time': 'no effect, too early',
} as const;
