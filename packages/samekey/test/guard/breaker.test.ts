/** A circuit breaker in front of a store, with the libraries that make them (F44, F54). */

import { circuitBreaker, ConsecutiveBreaker, handleAll } from 'cockatiel';
import CircuitBreaker from 'opossum';
import { OptionsError, type Store, StoreError } from 'samekey';
import { type Breaker, withBreaker } from 'samekey/guard';
import { memoryStore } from 'samekey/stores/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSamekey } from '../../src/samekey.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { faultyStore, type Passage } from '../../../testing/src/faulty-store.ts';
import { codeOf, exchangeOf } from '../http/fake-exchange.ts';

const OPEN_MS = 8_000;
const FAILURES = 3;

const circuitBreakerOf = () =>
  circuitBreaker(handleAll, { halfOpenAfter: OPEN_MS, breaker: new ConsecutiveBreaker(FAILURES) });
const breakers: readonly (readonly [string, () => Breaker])[] = [
  ['cockatiel', circuitBreakerOf],
  [
    'opossum',
    () =>
      new CircuitBreaker((run: () => Promise<unknown>) => run(), {
        resetTimeout: OPEN_MS,
        errorThresholdPercentage: 50,
        volumeThreshold: FAILURES,
        timeout: false,
      }),
  ],
];

const REFUSED: Passage = { arriveAfterMs: [], answer: 'no', answerAfterMs: 0 };
const SILENT: Passage = { arriveAfterMs: [], answer: 'silence', answerAfterMs: 0 };
const BUSY: Passage = { arriveAfterMs: [], answer: 'busy', answerAfterMs: 0 };

/** The libraries have clocks of their own; both go on together here. */
function setup(breaker: Breaker) {
  const world = fakeWorld();
  const line: { is: Passage | null } = { is: null };
  const calls: string[] = [];
  const behind = faultyStore(memoryStore({ now: () => world.wallNow() }), {
    timers: world,
    plan({ verb }) {
      calls.push(verb);
      return verb === 'claim' ? line.is : null;
    },
  });
  const store = withBreaker(behind, breaker, { halfOpenAfterMs: OPEN_MS, world });
  const samekey = createSamekey({ store, world, policy: 'standard', storeTimeMaxMs: 2_000 });
  let keys = 0;
  const ask = (run: () => Promise<string> = async () => 'made') =>
    samekey.run({ operation: 'order', scope: ['acme'], key: `key-${(keys += 1)}`, fingerprint: null }, run);
  async function pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
    await world.advance(ms);
  }
  async function breakIt(): Promise<void> {
    line.is = REFUSED;
    for (let i = 0; i < FAILURES; i += 1) expect((await ask()).kind).toBe('unavailable');
    calls.length = 0;
  }
  return { world, line, calls, store, samekey, ask, pass, breakIt };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(breakers)('a breaker of %s', (_, breakerOf) => {
  // F44
  it('that is open answers 503 without a call of the store, with the time until it is tried again', async () => {
    const bench = setup(breakerOf());
    await bench.breakIt();
    expect(await bench.ask()).toMatchObject({ kind: 'unavailable', retryAfterMs: OPEN_MS });
    await bench.pass(3_000);
    expect(await bench.ask()).toMatchObject({ kind: 'unavailable', because: 'store', retryAfterMs: 5_000 });
    const http = await exchangeOf(bench.samekey, {});
    expect([codeOf(http), http.answer?.status]).toEqual(['store-unavailable', 503]);
    expect(http.answer?.headers).toContainEqual(['Retry-After', '5']);
    expect(bench.calls).toEqual([]);
  });

  it('sends a probe when its time is over: if that fails it stays open, if it is answered all go through', async () => {
    const bench = setup(breakerOf());
    await bench.breakIt();
    await bench.pass(OPEN_MS);
    expect((await bench.ask()).kind).toBe('unavailable');
    expect(bench.calls).toEqual(['claim']);
    expect(await bench.ask()).toMatchObject({ kind: 'unavailable', retryAfterMs: OPEN_MS });
    expect(bench.calls).toEqual(['claim']);
    bench.line.is = null;
    await bench.pass(OPEN_MS);
    expect((await bench.ask()).kind).toBe('executed');
    expect((await bench.ask()).kind).toBe('executed');
  });

  it('that opens while a handler runs keeps neither its renewals nor its end back', async () => {
    const bench = setup(breakerOf());
    const gate: { open?: (value: string) => void } = {};
    const running = bench.ask(() => new Promise<string>((resolve) => void (gate.open = resolve)));
    await bench.world.advance(0);
    await bench.breakIt();
    await bench.pass(11_000);
    expect(bench.calls).toContain('renew');
    gate.open?.('paid');
    expect(await running).toMatchObject({ kind: 'executed', state: 'completed', stored: true });
    expect(bench.calls).toContain('finish');
  });

  // F44
  it('counts a store that hangs: each claim is bounded in time, and then none is sent', async () => {
    const bench = setup(breakerOf());
    bench.line.is = SILENT;
    for (let i = 0; i < FAILURES; i += 1) {
      const asked = bench.ask();
      await bench.world.advance(2_500);
      expect((await asked).kind).toBe('unavailable');
    }
    bench.calls.length = 0;
    const kept = bench.ask();
    await bench.world.advance(500);
    expect((await kept).kind).toBe('unavailable');
    expect(bench.calls).toEqual([]);
  });

  // F54
  it('does not open for a store that is busy, or refuses one row', async () => {
    const bench = setup(breakerOf());
    bench.line.is = BUSY;
    const asked = Array.from({ length: 5 }, () => bench.ask());
    await bench.pass(3_000);
    for (const one of asked) expect((await one).kind).toBe('unavailable');
    bench.line.is = null;
    const answers = [
      new StoreError('busy for a while', { applied: 'no', busy: true }),
      new StoreError('no such value', { applied: 'no', transient: false }),
    ];
    for (const error of answers) {
      const behind: Store = { ...memoryStore(), claim: async () => Promise.reject(error) };
      const store = withBreaker(behind, breakerOf(), { halfOpenAfterMs: OPEN_MS });
      for (let i = 0; i < 4 * FAILURES; i += 1) await expect(store.claim([])).rejects.toBe(error);
    }
    const through = bench.ask();
    await bench.world.advance(500);
    expect((await through).kind).toBe('executed');
  });
});

it('what a breaker makes up by itself is not taken for the store’s answer', async () => {
  const cached: Breaker = { execute: async () => [{ kind: 'claimed', attempt: 1 }] };
  const store = withBreaker(memoryStore(), cached);
  await expect(store.claim([])).rejects.toMatchObject({ code: 'ERR_SAMEKEY_STORE', applied: 'no' });
});

it('what is no breaker, and options that nothing reads, are refused at start', () => {
  expect(() => withBreaker(memoryStore(), {} as never)).toThrow(OptionsError);
  expect(() => withBreaker(memoryStore(), circuitBreakerOf(), { open: 1 } as never)).toThrow(
    /no option "open"/,
  );
});
