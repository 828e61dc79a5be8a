/** When to ask again about an attempt that runs (F86): the table of the decision, and what is learnt from runs. */

import { describe, expect, it } from 'vitest';
import { askAgainAfter, createUsualLengths, type Running } from '../../src/engine/usual.ts';

const ask = (running: Partial<Running>): number =>
  askAgainAfter({ ageMs: 0, claimLeftMs: 30_000, usualMs: null, ...running }) / 1_000;

describe('when to ask again, in seconds', () => {
  it.each([
    // F86: the length is not known: when the attempt is twice as old.
    [{ ageMs: 0 }, 1],
    [{ ageMs: 300 }, 1],
    [{ ageMs: 1_000 }, 1],
    [{ ageMs: 1_001 }, 2],
    [{ ageMs: 7_500 }, 8],
    [{ ageMs: 600_000, claimLeftMs: 90_000 }, 60],
    // Known: near its end, but not later than when it is three times as old.
    [{ ageMs: 100, usualMs: 300 }, 1],
    [{ ageMs: 1_000, usualMs: 20_000 }, 2],
    [{ ageMs: 5_000, usualMs: 20_000 }, 10],
    [{ ageMs: 15_000, usualMs: 20_000 }, 5],
    [{ ageMs: 19_900, usualMs: 20_000 }, 1],
    // Longer than usual: half its age.
    [{ ageMs: 20_000, usualMs: 20_000 }, 10],
    [{ ageMs: 301, usualMs: 300 }, 1],
    [{ ageMs: 240_000, usualMs: 300, claimLeftMs: 90_000 }, 60],
    // Never more than the claim has left, if that is a second or more.
    [{ ageMs: 7_500, claimLeftMs: 2_900 }, 2],
    [{ ageMs: 7_500, claimLeftMs: 1_000 }, 1],
    [{ ageMs: 7_500, claimLeftMs: 999 }, 8],
    [{ ageMs: 7_500, claimLeftMs: 0 }, 8],
    [{ ageMs: 7_500, claimLeftMs: -5 }, 8],
  ] as const)('%o: %i', (running, seconds) => {
    expect(ask(running)).toBe(seconds);
  });
});

describe('how long an operation usually runs', () => {
  it('is not said before the eighth run, and is their median', () => {
    const usual = createUsualLengths();
    for (const ms of [100, 200, 300, 400, 500, 600, 9_000]) usual.note('pay', ms);
    expect([usual.of('pay'), usual.of('ship')]).toEqual([null, null]);
    usual.note('pay', 700);
    expect(usual.of('pay')).toBe(450);
    usual.note('pay', 1);
    expect(usual.of('pay')).toBe(400);
  });

  it('goes by the last 64 runs, however many there were', () => {
    const usual = createUsualLengths();
    for (let i = 0; i < 1_000; i += 1) usual.note('pay', 10);
    for (let i = 0; i < 33; i += 1) usual.note('pay', 5_000);
    expect(usual.of('pay')).toBe(5_000);
    for (let i = 0; i < 33; i += 1) usual.note('pay', 20);
    expect(usual.of('pay')).toBe(20);
  });

  it('is remembered of 200 operations, which later ones do not push out', () => {
    const usual = createUsualLengths();
    for (let run = 0; run < 8; run += 1) for (let i = 0; i < 300; i += 1) usual.note(`operation-${i}`, 50);
    expect([usual.of('operation-0'), usual.of('operation-199'), usual.of('operation-200')]).toEqual([
      50,
      50,
      null,
    ]);
  });
});
