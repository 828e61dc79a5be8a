/**
 * When "no effect" counts (contract §5.6). A provider that knows of no payment knows of none *yet*: the call may be
 * under way, or an owner that stood still before it may wake and make it (F61). Pure.
 *
 * Invariant: it counts only after the end of the last claim and the longest call, by the store's clock, and while the
 * provider still remembers; and only if the owner told its own end, so that nothing of it is left to happen, or if a
 * call that still happens carries the key that the next one carries.
 */

import { isOwnerGone } from '../engine/owner-gone.ts';
import type { SamekeyRecord } from '../core/record.ts';
import type { OpenEffect } from './effect-of.ts';

/** How calls of an operation are made. */
export interface CallRule {
  /** How long a call may be under way after its claim has ended, in milliseconds. */
  readonly callTimeMaxMs: number;
  /** Every call carries a key under which the provider makes one payment, however often it is called. */
  readonly downstreamKey: boolean;
  /**
   * How long the provider remembers what it is asked by, in milliseconds; null for ever; undefined: as keys are
   * remembered.
   */
  readonly retentionMs: number | null | undefined;
}

/** Whether it counts; `afterMs`: it may, so much later; null: it never will. */
type NoEffect =
  | { readonly counts: true }
  | { readonly counts: false; readonly because: 'call-time'; readonly afterMs: number }
  | { readonly counts: false; readonly because: 'owner' | 'retention'; readonly afterMs: null };

/** Whether the calls of all attempts carry one key, under which the provider makes one payment. */
export function carriesKey(effect: OpenEffect | null, rule: CallRule): boolean {
  return rule.downstreamKey || effect?.rule === 'downstreamKey';
}

/** How long the calls of a record may be under way after its claim has ended, in milliseconds. */
export function callTimeOf(effect: OpenEffect | null, rule: CallRule): number {
  return Math.max(rule.callTimeMaxMs, effect?.callTimeMaxMs ?? 0);
}

/**
 * Until when the provider surely knows of the call, by the store's clock: it was not made before its intent was stored,
 * or before there was a record.
 */
export function rememberedUntil(record: SamekeyRecord, effect: OpenEffect | null, rule: CallRule): number {
  const own = effect?.retentionMs ?? (rule.downstreamKey ? KEY_RETENTION_MS : null);
  return firstCallAt(record) + ((rule.retentionMs === undefined ? own : rule.retentionMs) ?? Infinity);
}

/** When the call was made at the earliest, by the store's clock. */
export function firstCallAt({ intentAt, createdAt }: SamekeyRecord): number {
  return intentAt ?? createdAt;
}

/** How long providers remember keys, if nobody says otherwise. */
const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

/**
 * Decides it for an answer that was asked for when the store's clock showed `askedAt`. Where that is a clock that may
 * be set, `watchedMs` is how long this process has seen the outcome unknown by its own; null where it is a server's.
 */
export function noEffectCounts(
  record: SamekeyRecord,
  effect: OpenEffect | null,
  rule: CallRule,
  askedAt: number,
  watchedMs: number | null,
): NoEffect {
  // F21: what the provider has forgotten it does not find either.
  if (askedAt > rememberedUntil(record, effect, rule))
    return { counts: false, because: 'retention', afterMs: null };
  const keyUntil = firstCallAt(record) + (effect?.retentionMs ?? Infinity);
  if (
    !(carriesKey(effect, rule) && askedAt <= keyUntil) &&
    !isOwnerGone(record, effect === null ? undefined : effect.attempt)
  )
    return { counts: false, because: 'owner', afterMs: null };
  // Of an unknown outcome `lockedUntil` is when its claim ended.
  const callTimeMs = callTimeOf(effect, rule);
  const leftMs = Math.max(
    record.lockedUntil + callTimeMs - askedAt,
    watchedMs === null ? 0 : callTimeMs - watchedMs,
  );
  return leftMs <= 0 ? { counts: true } : { counts: false, because: 'call-time', afterMs: leftMs };
}
