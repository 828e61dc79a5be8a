/** When a provider's "no such payment" counts, and what a verdict comes to beside an answer that stands. */

import { describe, expect, it } from 'vitest';
import type { SamekeyRecord, State } from '../../src/core/record.ts';
import { stepsText } from '../../src/ways/steps.ts';
import type { OpenEffect } from '../../src/reconcile/effect-of.ts';
import { meet } from '../../src/reconcile/meet.ts';
import { noEffectCounts } from '../../src/reconcile/no-effect.ts';
import { checkVerdict, type FinalVerdict, type Verdict } from '../../src/reconcile/verdict.ts';
import { reply } from '../../src/index.ts';
import { recordOf } from './record.ts';

const ENDED = 1_000_000;
const RULE = { callTimeMaxMs: 60_000, downstreamKey: false, retentionMs: undefined };
const unknown = (change: Partial<SamekeyRecord> = {}): SamekeyRecord =>
  recordOf({ state: 'unknown', lockedUntil: ENDED, reason: 'handler-threw', ...change });
const effect = (change: Partial<OpenEffect> = {}): OpenEffect => ({
  name: 'charge',
  downstreamKey: 'k',
  rule: 'reconcile',
  provider: null,
  callTimeMaxMs: 10_000,
  retentionMs: null,
  attempt: 1,
  providerId: null,
  ...change,
});
const LATE = ENDED + 60_000;

describe('"no effect"', () => {
  it('counts only after the end of the claim and the longest call, to the millisecond', () => {
    expect(noEffectCounts(unknown(), null, RULE, LATE - 1, null)).toEqual({
      counts: false,
      because: 'call-time',
      afterMs: 1,
    });
    expect(noEffectCounts(unknown(), null, RULE, LATE, null)).toEqual({ counts: true });
    const slow = effect({ callTimeMaxMs: 90_000 });
    expect(noEffectCounts(unknown(), slow, RULE, LATE, null)).toMatchObject({ afterMs: 30_000 });
  });

  // F61: the owner stood still before its call, and may wake and make it however late it is.
  it.each([
    'claim-ended',
    'attempt-time-up',
    'attempts-exhausted',
    'message-dead',
    // F109: a request that does not know the steps of a record may have said so, of an owner that stands still.
    'phases-changed',
    'effect-rule-changed',
    null,
  ])('never counts without a downstream key when the owner did not tell its own end (%s)', (reason) => {
    const year = ENDED + 365 * 86_400_000;
    const never = { counts: false, because: 'owner', afterMs: null };
    expect(noEffectCounts(unknown({ reason }), null, RULE, year, null)).toEqual(never);
    expect(noEffectCounts(unknown({ reason }), effect(), RULE, year, null)).toEqual(never);
    const keyed = { ...RULE, downstreamKey: true };
    expect(noEffectCounts(unknown({ reason }), null, keyed, LATE, null)).toEqual({ counts: true });
    expect(noEffectCounts(unknown({ reason }), null, keyed, LATE - 1, null)).toMatchObject({
      counts: false,
    });
    const byRule = effect({ rule: 'downstreamKey' });
    expect(noEffectCounts(unknown({ reason }), byRule, RULE, LATE, null)).toEqual({ counts: true });
  });

  it.each(['handler-threw', 'status-500', 'status-504', 'effect-unknown', 'effect-retention-passed'])(
    'counts when the owner told its own end (%s)',
    (reason) => {
      expect(noEffectCounts(unknown({ reason }), effect(), RULE, LATE, null)).toEqual({ counts: true });
    },
  );

  it('does not count when the intent is of an earlier attempt than the one that told its end', () => {
    const second = unknown({ attempt: 2, reason: 'effect-unknown' });
    expect(noEffectCounts(second, effect({ attempt: 1 }), RULE, LATE, null)).toMatchObject({
      because: 'owner',
    });
    expect(noEffectCounts(second, effect({ attempt: null }), RULE, LATE, null)).toMatchObject({
      because: 'owner',
    });
    expect(noEffectCounts(second, effect({ attempt: 2 }), RULE, LATE, null)).toEqual({ counts: true });
    const resumed = { attempt: 2, whenClaimEnds: 'resume' as const };
    expect(noEffectCounts(unknown(resumed), null, RULE, LATE, null)).toMatchObject({ because: 'owner' });
    expect(noEffectCounts(unknown({ attempt: 2 }), null, RULE, LATE, null)).toEqual({ counts: true });
  });

  // F21: the provider forgets keys after 24 hours, and then it finds nothing by them.
  it('counts only while the provider remembers what it is asked by, from the intent or the creation of the record', () => {
    const DAY_MS = 86_400_000;
    const keyed = { ...RULE, downstreamKey: true };
    const forgotten = { counts: false, because: 'retention', afterMs: null };
    const record = unknown({ createdAt: ENDED - 1_000 });
    const until = ENDED - 1_000 + DAY_MS;
    expect(noEffectCounts(record, null, keyed, until, null)).toEqual({ counts: true });
    expect(noEffectCounts(record, null, keyed, until + 1, null)).toEqual(forgotten);
    expect(noEffectCounts(record, null, { ...keyed, retentionMs: null }, until + 1, null)).toEqual({
      counts: true,
    });
    expect(noEffectCounts(record, null, RULE, until + 1, null)).toEqual({ counts: true });
    expect(noEffectCounts(record, null, { ...RULE, retentionMs: 60_001 }, LATE, null)).toEqual(forgotten);
    const open = unknown({ intentAt: ENDED - 10, reason: 'effect-unknown' });
    const own = effect({ rule: 'downstreamKey', retentionMs: 3_600_000 });
    expect(noEffectCounts(open, own, keyed, ENDED - 10 + 3_600_000, null)).toEqual({ counts: true });
    expect(noEffectCounts(open, own, keyed, ENDED - 9 + 3_600_000, null)).toEqual(forgotten);
  });

  it('does not count by a key that is forgotten, though the provider finds payments for ever', () => {
    const record = unknown({ intentAt: ENDED, reason: 'claim-ended' });
    const own = effect({ rule: 'downstreamKey', retentionMs: 3_600_000 });
    const ever = { ...RULE, retentionMs: null };
    expect(noEffectCounts(record, own, ever, ENDED + 3_600_000, null)).toEqual({ counts: true });
    expect(noEffectCounts(record, own, ever, ENDED + 3_600_001, null)).toMatchObject({ because: 'owner' });
    const told = { ...record, reason: 'effect-retention-passed' };
    expect(noEffectCounts(told, own, ever, ENDED + 3_600_001, null)).toEqual({ counts: true });
  });

  // F45: a machine's clock that was set forward by an hour.
  it('must have been watched for as long where the clock is the machine’s own', () => {
    const hourLater = ENDED + 3_600_000;
    expect(noEffectCounts(unknown(), null, RULE, hourLater, 59_999)).toMatchObject({ afterMs: 1 });
    expect(noEffectCounts(unknown(), null, RULE, hourLater, 60_000)).toEqual({ counts: true });
  });
});

describe('a verdict', () => {
  const STATES: readonly State[] = ['pending', 'in_progress', 'retryable', 'completed', 'failed', 'unknown'];
  const SAYS: readonly FinalVerdict['says'][] = ['completed', 'failed', 'took-effect', 'no-effect'];

  it('beside what stands there is confirmed, left for later, or contradicted', () => {
    const rows = STATES.map(
      (state) =>
        `${state}: ${SAYS.map((says) => `${says} ${meet(says, recordOf({ state }), null).kind}`).join(', ')}`,
    );
    expect(rows).toEqual([
      'pending: completed not-yet, failed not-yet, took-effect not-yet, no-effect not-yet',
      'in_progress: completed not-yet, failed not-yet, took-effect not-yet, no-effect not-yet',
      'retryable: completed contradiction, failed already, took-effect contradiction, no-effect already',
      'completed: completed already, failed contradiction, took-effect already, no-effect contradiction',
      'failed: completed contradiction, failed already, took-effect contradiction, no-effect already',
      'unknown: completed not-yet, failed not-yet, took-effect not-yet, no-effect not-yet',
    ]);
    expect(meet('completed', null, null)).toEqual({ kind: 'contradiction', found: null });
  });

  it('that an earlier attempt had an effect contradicts a later one that runs', () => {
    const running = recordOf({ state: 'in_progress', attempt: 2 });
    expect(meet('completed', running, 1)).toEqual({ kind: 'contradiction', found: 'in_progress' });
    expect(meet('completed', running, 2)).toMatchObject({ kind: 'not-yet' });
    expect(meet('no-effect', running, 1)).toMatchObject({ kind: 'not-yet' });
  });

  it('waits for an attempt that will look itself, and is confirmed by a result that stands in the steps', () => {
    const open = recordOf({ state: 'retryable', intentAt: 1, proof: 'policy' });
    expect(meet('completed', open, null)).toMatchObject({ kind: 'not-yet' });
    expect(meet('completed', { ...open, proof: 'settled' }, null)).toMatchObject({ kind: 'contradiction' });
    const steps = stepsText([{ kind: 'effect', name: 'charge', input: 'd', done: { result: 'ch_1' } }]);
    const done = recordOf({ state: 'retryable', proof: 'settled', steps });
    expect(meet('took-effect', done, null)).toMatchObject({ kind: 'already' });
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /A verdict is/],
    ['an unknown kind', { kind: 'maybe' }, /A verdict is/],
    ['no answer', { kind: 'completed' }, /needs an answer/],
    ['a success with a refusal’s status', { kind: 'completed', answer: reply(402, null) }, /from 200 to 399/],
    [
      'a refusal with a success’s status',
      { kind: 'failed', answer: { code: 'x' } },
      /from 400 to 599, and it has 200/,
    ],
    [
      'a response without bytes',
      { kind: 'completed', response: { status: 200, headers: [], body: null } },
      /bytes/,
    ],
    ['an answer that JSON cannot hold', { kind: 'completed', answer: Symbol('x') }, /holds a symbol/],
    ['a time that is none', { kind: 'not-known', afterMs: -1 }, /afterMs/],
    ['a reason without end', { kind: 'no-effect', reason: 'x'.repeat(501) }, /reason/],
  ])('is refused with %s', (_what, wrong, message) => {
    expect(() => checkVerdict(wrong as Verdict)).toThrow(message);
  });
});
