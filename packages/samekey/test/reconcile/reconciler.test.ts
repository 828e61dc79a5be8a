/** The reconciler: asks about unknown outcomes, believes what may be believed, and settles. In virtual time. */

import { describe, expect, it } from 'vitest';
import { NEVER } from '../../src/store/machine/index.ts';
import { readSteps } from '../../src/ways/steps.ts';
import { reply, StoreError } from '../../src/index.ts';
import type { Inquiry, ReconcilerOptions } from '../../src/reconcile/index.ts';
import { fakeWorld } from '../../../testing/src/index.ts';
import { CALL_TIME_MAX_MS, createBench, LEASE_MS } from './bench.ts';

const PAID = {
  kind: 'completed',
  answer: reply(201, { id: 'ch_1' }),
  reason: 'found at the provider',
} as const;
const NONE = { kind: 'no-effect' } as const;

describe('a reconciler', () => {
  // F57: the handler threw after the provider had charged.
  it('settles what it has found out, and retries get its answer', async () => {
    const bench = createBench();
    await bench.thrown();
    await bench.world.advance(5_000);
    expect(await bench.again()).toBe('unknown');
    bench.answers.push(PAID);
    expect(await bench.reconciler({ actor: 'nightly' }).run()).toMatchObject({ taken: 1, resolved: 1 });
    expect(await bench.again()).toBe('replay {"id":"ch_1"}');
    expect(await bench.store.audit({})).toMatchObject([
      { act: 'settle', from: 'unknown', to: 'completed', actor: 'nightly', reason: 'found at the provider' },
    ]);
    expect(bench.events).toEqual([
      expect.objectContaining({ type: 'reconcile-resolved', inquiries: 1, ageMs: 5_000, by: 'inquiry' }),
    ]);
  });

  it('settles a refusal with its answer', async () => {
    const bench = createBench();
    await bench.thrown();
    bench.answers.push({ kind: 'failed', answer: reply(402, { code: 'declined' }) });
    await bench.reconciler().run();
    expect(await bench.again()).toBe('replay {"code":"declined"}');
    expect(await bench.record()).toMatchObject({ state: 'failed', reason: 'found out by asking' });
  });

  // F19, F20: the call may be under way when the provider is asked.
  it('does not believe "no effect" before the longest call has had its time, and asks again then', async () => {
    const bench = createBench();
    await bench.thrown();
    await bench.world.advance(1_000);
    bench.answers.push(NONE);
    const reconciler = bench.reconciler();
    expect(await reconciler.run()).toMatchObject({ scheduled: 1 });
    expect(bench.events).toMatchObject([{ type: 'reconcile-scheduled', afterMs: CALL_TIME_MAX_MS - 1_000 }]);
    expect(await bench.again()).toBe('unknown');
    await bench.world.advance(CALL_TIME_MAX_MS - 1_001);
    expect(await reconciler.run()).toMatchObject({ taken: 0 });
    await bench.world.advance(1);
    expect(await reconciler.run()).toMatchObject({ resolved: 1 });
    expect(await bench.again()).toBe('executed "ran again"');
  });

  it('counts the time of a call from before the question, however late its answer is', async () => {
    const bench = createBench();
    await bench.thrown();
    await bench.world.advance(CALL_TIME_MAX_MS - 1);
    bench.answers.push(() => new Promise((resolve) => void bench.world.setTimer(5_000, () => resolve(NONE))));
    const run = bench.reconciler().run();
    await bench.world.advance(5_000);
    expect(await run).toMatchObject({ scheduled: 1, resolved: 0 });
  });

  // F61: its owner may be frozen before its call.
  it('never believes "no effect" of an owner that is not proven gone, and leaves it to an operator in the end', async () => {
    const bench = createBench();
    await bench.died();
    bench.answers.push(NONE);
    const reconciler = bench.reconciler({ inquiriesMax: 3, backoff: { minMs: 1_000, maxMs: 2_000 } });
    for (let i = 0; i < 4; i += 1) {
      await bench.world.advance(3_600_000);
      await reconciler.run();
    }
    expect(bench.types()).toEqual(['reconcile-scheduled', 'reconcile-scheduled', 'reconcile-given-up']);
    expect(await bench.record()).toMatchObject({ state: 'unknown', reconcileAfter: NEVER, inquiries: 3 });
    expect(await bench.store.audit({ acts: ['give-up'] })).toMatchObject([
      { reason: 'no effect, but its owner is not proven gone' },
    ]);
    expect(bench.asked).toHaveLength(3);
  });

  it('believes it where every call carries a key that the provider knows', async () => {
    const bench = createBench();
    await bench.died();
    const pay = { inquire: async () => NONE, callTimeMaxMs: CALL_TIME_MAX_MS, downstreamKey: true };
    await bench.world.advance(CALL_TIME_MAX_MS);
    expect(await bench.reconciler({ operations: { pay } }).run()).toMatchObject({ resolved: 1 });
    expect(await bench.again()).toBe('executed "ran again"');
  });

  // F21
  it('leaves to an operator what the provider may have forgotten, and tells the question how old the call may be', async () => {
    const bench = createBench();
    await bench.thrown();
    const DAY_MS = 86_400_000;
    await bench.world.advance(DAY_MS + 1);
    let callAgeMs = 0;
    const inquire = async (_record: unknown, inquiry: Inquiry) => {
      ({ callAgeMs } = inquiry);
      return NONE;
    };
    const pay = { inquire, downstreamKey: true };
    expect(await bench.reconciler({ operations: { pay }, inquiriesMax: 1 }).run()).toMatchObject({
      givenUp: 1,
    });
    expect(callAgeMs).toBe(DAY_MS + 1);
    expect(await bench.store.audit({ acts: ['give-up'] })).toMatchObject([
      { reason: 'no effect, but the provider may have forgotten it' },
    ]);
  });

  it('tells the question which effect is open, with its key, its rule and what the provider calls it', async () => {
    const bench = createBench();
    await bench.open();
    await bench.reconciler().run();
    expect(bench.asked[0]?.inquiry).toMatchObject({
      inquiry: 1,
      effect: { name: 'charge', rule: 'reconcile', callTimeMaxMs: 4_000, attempt: 1, providerId: 'pi_k' },
    });
    expect(bench.asked[0]?.inquiry.effect?.downstreamKey).toMatch(/^[\w-]{43}$/);
  });

  // F20: the provider accepted, and the result was not saved.
  it('puts in the result of an effect that did happen: the operation goes on behind it', async () => {
    const bench = createBench();
    await bench.open();
    bench.answers.push({ kind: 'took-effect', result: 'ch_9' });
    expect(await bench.reconciler().run()).toMatchObject({ resolved: 1 });
    expect(readSteps((await bench.record()).steps)).toMatchObject([
      { name: 'charge', done: { result: 'ch_9' } },
    ]);
    expect(await bench.again()).toBe('executed "ch_9"');
  });

  it('lets an effect be called that did not happen', async () => {
    const bench = createBench();
    await bench.open();
    await bench.world.advance(CALL_TIME_MAX_MS);
    bench.answers.push(NONE);
    expect(await bench.reconciler().run()).toMatchObject({ resolved: 1 });
    expect(await bench.again()).toBe('executed "ch_fresh"');
  });

  it('asks again after a backoff that goes on where another reconciler stopped', async () => {
    const bench = createBench();
    await bench.thrown();
    const backoff = { minMs: 10_000, maxMs: 60_000 };
    const waits: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const before = bench.events.length;
      // Each time another one, as after a restart.
      await bench.reconciler({ backoff }).run();
      const event = bench.events[before];
      if (event?.type !== 'reconcile-scheduled') throw new Error('It was not asked.');
      waits.push(event.afterMs);
      await bench.world.advance(event.afterMs);
    }
    for (const [i, whole] of [10_000, 20_000, 40_000, 60_000, 60_000].entries()) {
      expect(waits[i]).toBeGreaterThanOrEqual(whole * 0.75);
      expect(waits[i]).toBeLessThanOrEqual(whole);
    }
    expect(bench.asked.map(({ inquiry }) => inquiry.inquiry)).toEqual([1, 2, 3, 4, 5]);
  });

  it('waits as long as the provider says, and never less than its own least', async () => {
    const bench = createBench();
    await bench.thrown();
    bench.answers.push({ kind: 'not-known', afterMs: 90_000 }, { kind: 'not-known', afterMs: 5 });
    const reconciler = bench.reconciler({ backoff: { minMs: 1_000 } });
    await reconciler.run();
    await bench.world.advance(90_000);
    await reconciler.run();
    expect(bench.events).toMatchObject([{ afterMs: 90_000 }, { afterMs: 1_000 }]);
  });

  it.each<[string, () => Promise<never>, RegExp]>([
    ['fails', () => Promise.reject(new Error('502')), /502/],
    [
      'is answered by what is no verdict',
      () => Promise.resolve({ kind: 'perhaps' } as never),
      /A verdict is/,
    ],
    [
      'puts a result in where no effect is',
      () => Promise.resolve({ kind: 'took-effect' } as never),
      /there is none/,
    ],
    ['never ends', () => new Promise(() => undefined), /inquiryTimeMaxMs/],
  ])('goes on when a question %s', async (_how, answer, message) => {
    const bench = createBench();
    await bench.thrown();
    bench.answers.push(answer);
    const run = bench.reconciler({ inquiryTimeMaxMs: 5_000 }).run();
    await bench.world.advance(5_000);
    expect(await run).toMatchObject({ failed: 1 });
    expect(bench.types()).toEqual(['reconcile-failed', 'reconcile-scheduled']);
    expect(String((bench.events[0] as { error: unknown }).error)).toMatch(message);
    expect(await bench.record()).toMatchObject({ state: 'unknown' });
  });

  it('gives an outcome to one reconciler at a time, and to another when the first has died with it', async () => {
    const bench = createBench();
    await bench.thrown();
    bench.answers.push(() => new Promise(() => undefined), PAID);
    const own = fakeWorld({ timeline: bench.world.timeline, seed: 9 });
    void bench.reconciler({ world: own }).run();
    await bench.world.advance(1);
    own.kill();
    const other = bench.reconciler();
    expect(await other.run()).toMatchObject({ taken: 0 });
    await bench.world.advance(LEASE_MS);
    expect(await other.run()).toMatchObject({ resolved: 1 });
    expect(bench.asked.map(({ inquiry }) => inquiry.inquiry)).toEqual([1, 2]);
  });

  it('does not ask any more about what has killed as many reconcilers as questions are allowed', async () => {
    const bench = createBench();
    await bench.thrown();
    bench.answers.push(() => new Promise(() => undefined));
    for (let i = 0; i < 3; i += 1) {
      const own = fakeWorld({ timeline: bench.world.timeline, seed: 9 });
      void bench.reconciler({ world: own, inquiriesMax: 2 }).run();
      await bench.world.advance(1);
      own.kill();
      await bench.world.advance(LEASE_MS);
    }
    expect(bench.asked).toHaveLength(2);
    expect(await bench.record()).toMatchObject({ reconcileAfter: NEVER });
  });

  it('leaves an owner its word that came back while it was asking', async () => {
    const bench = createBench();
    const record = await bench.died();
    const { scope, key, claimId, attempt } = record;
    bench.answers.push(async () => {
      await bench.store.renew([{ scope, key, claimId, attempt, claimTtlMs: 10_000 }]);
      return PAID;
    });
    expect(await bench.reconciler().run()).toMatchObject({ left: 1 });
    expect(await bench.record()).toMatchObject({ state: 'in_progress' });
    expect(bench.types()).toEqual([]);
  });

  it('tells a contradiction, in an event and in the audit, and changes nothing', async () => {
    const bench = createBench();
    const { scope, key, claimId, attempt } = await bench.thrown();
    bench.answers.push(async () => {
      const byHand = { reason: 'asked by phone', actor: 'anna', response: null };
      await bench.store.settle([{ scope, key, claimId, attempt, to: 'failed', ...byHand }]);
      return PAID;
    });
    expect(await bench.reconciler().run()).toMatchObject({ contradiction: 1 });
    expect(bench.events).toMatchObject([{ type: 'contradiction', wanted: 'completed', found: 'failed' }]);
    expect(await bench.record()).toMatchObject({ state: 'failed', reason: 'asked by phone' });
    expect(await bench.store.audit({ acts: ['contradiction'] })).toMatchObject([
      { from: 'failed', to: 'completed', actor: 'reconciler' },
    ]);
  });

  it('tells a contradiction when somebody has said meanwhile that nothing happened, and it did', async () => {
    const bench = createBench();
    const { scope, key, claimId, attempt } = await bench.open();
    bench.answers.push(async () => {
      const byHand = { reason: 'asked by phone', actor: 'anna', response: null };
      await bench.store.settle([{ scope, key, claimId, attempt, to: 'retryable', ...byHand }]);
      return { kind: 'took-effect', result: 'ch_1' };
    });
    expect(await bench.reconciler().run()).toMatchObject({ contradiction: 1 });
    expect(bench.events).toMatchObject([{ type: 'contradiction', wanted: 'completed', found: 'retryable' }]);
  });

  it('says nothing when somebody else has settled the same', async () => {
    const bench = createBench();
    const { scope, key, claimId, attempt } = await bench.thrown();
    bench.answers.push(async () => {
      const byHand = { reason: 'asked by phone', actor: 'anna', response: null };
      await bench.store.settle([{ scope, key, claimId, attempt, to: 'completed', ...byHand }]);
      return PAID;
    });
    expect(await bench.reconciler().run()).toMatchObject({ already: 1 });
    expect(bench.types()).toEqual([]);
  });

  it('repeats a settling whose reply was lost, and counts it once', async () => {
    const bench = createBench();
    await bench.thrown();
    bench.answers.push(PAID);
    let lost = 2;
    const store: ReconcilerOptions['store'] = {
      ...bench.store,
      async settle(requests) {
        const results = await bench.store.settle(requests);
        lost -= 1;
        if (lost >= 0) throw new StoreError('The reply was lost.', { applied: 'unknown' });
        return results;
      },
    };
    const run = bench.reconciler({ store }).run();
    await bench.world.advance(1_000);
    expect(await run).toMatchObject({ resolved: 1 });
    expect(bench.types()).toEqual(['store-error', 'store-error', 'reconcile-resolved']);
    expect(await bench.store.audit({})).toHaveLength(1);
  });
});
