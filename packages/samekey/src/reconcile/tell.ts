/**
 * What a provider says by itself: webhooks. They come twice, late, out of order, and sometimes before the record knows
 * that anything is unknown; each gets an answer that says what to tell the provider.
 */

import { OptionsError } from '../core/errors.ts';
import { anything, readOptions, required, type Table, text } from '../core/options.ts';
import type { RecordId, SamekeyRecord, State } from '../core/record.ts';
import { type OpenEffect, openEffectOf } from './effect-of.ts';
import { findRecord, type FindOptions, namesOf, type ToldAbout } from './find.ts';
import { type CallRule, callTimeOf, carriesKey, noEffectCounts, rememberedUntil } from './no-effect.ts';
import type { CheckedReconcilerOptions } from './options.ts';
import { pastCallOf } from './past-call.ts';
import type { Settled, Settler } from './settle.ts';
import { stateUnderWay } from './under-way.ts';
import { checkVerdict, type FinalVerdict, type Verdict } from './verdict.ts';
import { createWatch } from './watch.ts';

/** A word that came by itself. */
export interface Told {
  readonly by: ToldAbout;
  readonly verdict: Exclude<Verdict, { readonly kind: 'not-known' }>;
  /** Who says so, for the audit: `webhook:stripe`. */
  readonly source: string;
}

/**
 * What became of it, in the order in which it is found out. `not-known-here`: no such record, or not found within
 * `lookupMax`. `ambiguous`: several have this id of the provider, and nothing was done to any: name the caller's scope,
 * or the record. `not-yet`: somebody is at work on it; answer so that the webhook comes again (503). `too-early`: "no
 * effect" does not count yet; the same. `contradiction`: the record says something else and was left as it is.
 * `already`: it says so already. `applied`: it does now.
 */
export type ToldResult =
  | { readonly kind: 'not-known-here' }
  | { readonly kind: 'ambiguous'; readonly ids: readonly RecordId[] }
  | { readonly kind: 'not-yet'; readonly state: State }
  | {
      readonly kind: 'too-early';
      /** `owner`, `retention`: it will not count however often it comes. */
      readonly because: 'call-time' | 'owner' | 'retention';
      /** When it may count, in milliseconds from now at most; null for never. */
      readonly afterMs: number | null;
    }
  | { readonly kind: 'contradiction'; readonly found: State | null }
  | { readonly kind: 'already'; readonly state: State }
  | { readonly kind: 'applied'; readonly to: 'completed' | 'failed' | 'retryable' };

/** Of operations that this reconciler does not ask about: as careful as can be. */
const UNKNOWN_OPERATION: CallRule = {
  callTimeMaxMs: 60_000,
  downstreamKey: false,
  retentionMs: undefined,
};

const TOLD_ROWS = {
  by: required(anything<Told['by']>()),
  verdict: required(anything<Told['verdict']>()),
  source: required(text(), 'tell needs a source, such as "webhook:stripe": it stands in the audit.'),
} satisfies Table<Told>;

/** Makes `tell`. It throws `OptionsError` for what is no verdict, and `StoreError`. */
export function createTell(
  options: CheckedReconcilerOptions,
  find: FindOptions,
  settle: Settler,
  watchedMs: ((record: SamekeyRecord) => number) | null,
): (told: Told) => Promise<ToldResult> {
  const ruleOf = (operation: string): CallRule => options.operations.get(operation) ?? UNKNOWN_OPERATION;
  const watchedCallMs = createWatch(options.world);

  /** Its webhook may have overtaken the answer to a call (F153). */
  async function aboutNobody(by: ToldAbout): Promise<ToldResult> {
    if (!('providerId' in by)) return { kind: 'not-known-here' };
    const operations = namesOf(by.operation, find.internals);
    const state = await stateUnderWay(operations, { ...find, ruleOf, watchedMs: watchedCallMs });
    return state === null ? { kind: 'not-known-here' } : { kind: 'not-yet', state };
  }

  /** What the one who told is told. */
  function answerOf(
    settled: Settled,
    record: SamekeyRecord,
    verdict: FinalVerdict,
    effect: OpenEffect | null,
    rule: CallRule,
  ): ToldResult {
    switch (settled.kind) {
      case 'applied':
        return { kind: 'applied', to: verdict.to };
      case 'too-early':
        // Which of the two the store's clock has refused is told by the machine's.
        return options.world.wallNow() > rememberedUntil(record, effect, rule)
          ? { kind: 'too-early', because: 'retention', afterMs: null }
          : { kind: 'too-early', because: 'call-time', afterMs: callTimeOf(effect, rule) };
      case 'already':
      case 'contradiction':
      case 'not-yet':
        return settled;
      default:
        return settled satisfies never;
    }
  }

  return async (told) => {
    const { by, source } = readOptions('tell', TOLD_ROWS, told);
    const verdict = checkVerdict(told.verdict);
    if (verdict.says === 'not-known')
      throw new OptionsError('"not-known" tells nothing: leave such a webhook alone.');
    const found = await findRecord(by, find);
    if (found === null) return aboutNobody(by);
    if ('ambiguous' in found) {
      const { operation, ambiguous: ids } = found;
      options.emit({ type: 'webhook-ambiguous', source, operation, count: ids.length });
      return { kind: 'ambiguous', ids };
    }
    const { record, referred } = found;
    const rule = ruleOf(record.operation);
    const effect = await openEffectOf(record, options.world);
    const past = referred === null ? null : pastCallOf(record, referred, by, effect, rule);
    const { says } = verdict;
    if (past?.isDone === true && (says === 'completed' || says === 'took-effect'))
      return { kind: 'already', state: record.state };
    // Which effect is open cannot be told here: another process may have the key.
    if (record.unreadable !== undefined && verdict.to === 'retryable')
      return { kind: 'not-yet', state: record.state };
    if (record.state === 'unknown' && says === 'no-effect' && past === null) {
      // By a clock that is later than all calls and earlier than all forgetting: the store's has its word when it is
      // written.
      const counts = noEffectCounts(
        record,
        effect,
        rule,
        rememberedUntil(record, effect, rule),
        watchedMs?.(record) ?? null,
      );
      if (!counts.counts) return { kind: 'too-early', because: counts.because, afterMs: counts.afterMs };
    }
    // Under one key the payment of one attempt is that of all.
    const own = (!carriesKey(effect, rule) && 'attempt' in by ? by.attempt : undefined) ?? null;
    const attempt = past === null || past.isDone ? own : past.attempt;
    const settled = await settle(
      record,
      { verdict, effect, rule },
      {
        by: 'webhook',
        actor: source,
        reason: `told by ${source}`,
        attempt,
        decides: past === null,
        now: options.world.wallNow(),
      },
    );
    return answerOf(settled, record, verdict, effect, rule);
  };
}
