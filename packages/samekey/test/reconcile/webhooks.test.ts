/** What a provider says by itself: duplicates, late and early words, words that contradict, and words about nobody. */

import { describe, expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import { StoreError } from '../../src/core/errors.ts';
import type { Told, ToldAbout, VerdictAnswer } from '../../src/reconcile/index.ts';
import { readSteps } from '../../src/ways/steps.ts';
import { claimRequest, finishRequest } from '../../../testing/src/contract/context.ts';
import { CALL_TIME_MAX_MS, createBench } from './bench.ts';

const BY_ID = { scope: ['t'], operation: 'pay', key: 'k' } as const;
const PAID = { kind: 'completed', answer: reply(201, { id: 'ch_1' }) } as const;
const DECLINED = { kind: 'failed', answer: reply(402, { code: 'declined' }) } as const;
const NONE = { kind: 'no-effect' } as const;
const told = (verdict: Told['verdict'], by: ToldAbout = BY_ID): Told => ({
  by,
  verdict,
  source: 'webhook:bank',
});

/** An answer with these header lines. */
function lines(headers: readonly (readonly [string, string])[]): Pick<VerdictAnswer, 'response'> {
  return { response: { status: 201, headers, body: new Uint8Array(0) } };
}

describe('a webhook', () => {
  it('settles an unknown outcome, and a duplicate of it is told that it is known', async () => {
    const bench = createBench();
    await bench.thrown();
    await bench.world.advance(7_000);
    const reconciler = bench.reconciler();
    expect(await reconciler.tell(told(PAID))).toEqual({ kind: 'applied', to: 'completed' });
    expect(await reconciler.tell(told(PAID))).toEqual({ kind: 'already', state: 'completed' });
    expect(await bench.again()).toBe('replay {"id":"ch_1"}');
    expect(bench.events).toMatchObject([
      { type: 'reconcile-resolved', to: 'completed', by: 'webhook', ageMs: 7_000 },
    ]);
    expect(await bench.store.audit({})).toMatchObject([
      { act: 'settle', actor: 'webhook:bank', reason: 'told by webhook:bank' },
    ]);
  });

  it('is about a key of whatever length an application may allow', async () => {
    const bench = createBench();
    const owner = claimRequest({ scope: 't|pay', operation: 'pay', key: 'k'.repeat(1_024) });
    await bench.store.claim([owner]);
    await bench.store.finish([finishRequest({ ...owner, attempt: 1 }, 'unknown')]);
    const by = { ...BY_ID, key: owner.key };
    expect(await bench.reconciler().tell(told(PAID, by))).toEqual({ kind: 'applied', to: 'completed' });
  });

  it('that comes at the same moment as its duplicates and an answer settles once', async () => {
    const bench = createBench();
    await bench.thrown();
    bench.answers.push(PAID);
    const reconciler = bench.reconciler();
    const run = reconciler.run();
    const results = await Promise.all(Array.from({ length: 5 }, () => reconciler.tell(told(PAID))));
    await run;
    expect(results.filter(({ kind }) => kind === 'applied').length).toBeLessThanOrEqual(1);
    expect(bench.types()).toEqual(['reconcile-resolved']);
    expect(await bench.store.audit({})).toHaveLength(1);
  });

  it.each<[string, (bench: ReturnType<typeof createBench>) => ToldAbout | Promise<ToldAbout>]>([
    ['what the call sent along', () => ({ scope: 't|order', key: 'k', attempt: 1 })],
    ['scope, operation and key', () => ({ scope: ['t'], operation: 'order', key: 'k' })],
    ['what the provider calls it', () => ({ providerId: 'pi_k', operation: 'order' })],
    ['that and the caller', () => ({ providerId: 'pi_k', operation: 'order', scope: ['t'] })],
    [
      'the downstream key',
      async (bench) => {
        await bench.reconciler().run();
        return {
          downstreamKey: bench.asked.find(({ key }) => key === 'k')?.inquiry.effect?.downstreamKey ?? '',
        };
      },
    ],
  ])('finds its record by %s, and the operation goes on', async (_what, by) => {
    const bench = createBench();
    for (const other of ['a', 'b', 'k', 'z']) await bench.open(other);
    const about = await by(bench);
    const verdict = { kind: 'took-effect', result: 'ch_7' } as const;
    const reconciler = bench.reconciler();
    expect(await reconciler.tell(told(verdict, about))).toEqual({ kind: 'applied', to: 'retryable' });
    expect(await reconciler.tell(told(verdict, about))).toEqual({ kind: 'already', state: 'retryable' });
    expect(await bench.again('k')).toBe('executed "ch_7"');
    expect(await bench.record('a')).toMatchObject({ state: 'unknown' });
    expect(readSteps((await bench.record('z')).steps)).toMatchObject([{ done: null }]);
  });

  // F141
  it('is not about the record of another operation, whose provider has given the same id', async () => {
    const bench = createBench();
    await bench.open('old', { providerId: '1001' });
    await bench.open('new', { providerId: '1001', operation: 'refund', scope: 'u' });
    const verdict = { kind: 'took-effect', result: 'ch_7' } as const;
    const by = { providerId: '1001', operation: 'order' };
    expect(await bench.reconciler().tell(told(verdict, by))).toEqual({ kind: 'applied', to: 'retryable' });
    expect(await bench.record('old')).toMatchObject({ state: 'retryable' });
    expect(await bench.record('new')).toMatchObject({ state: 'unknown' });
    expect(await bench.reconciler().tell(told(verdict, by))).toEqual({ kind: 'already', state: 'retryable' });
    expect(await bench.record('new')).toMatchObject({ state: 'unknown' });
  });

  // F141
  it('that may be about two is refused and told, and settles the one whose caller it names', async () => {
    const bench = createBench();
    const a = await bench.open('a', { providerId: '1001', scope: 't' });
    const b = await bench.open('b', { providerId: '1001', scope: 'u' });
    const verdict = { kind: 'took-effect', result: 'ch_7' } as const;
    const by = { providerId: '1001', operation: 'order' };
    const ids = [b, a].map(({ scope, key }) => ({ scope, key }));
    expect(await bench.reconciler().tell(told(verdict, by))).toEqual({
      kind: 'ambiguous',
      ids: expect.arrayContaining(ids) as unknown,
    });
    expect(bench.events).toEqual([
      { type: 'webhook-ambiguous', source: 'webhook:bank', operation: 'order', count: 2 },
    ]);
    for (const { key } of ids) expect(await bench.record(key)).toMatchObject({ state: 'unknown' });
    expect(await bench.store.audit({})).toEqual([]);
    const his = { ...by, scope: ['t'] };
    expect(await bench.reconciler().tell(told(verdict, his))).toEqual({ kind: 'applied', to: 'retryable' });
    expect(await bench.record('a')).toMatchObject({ state: 'retryable' });
    expect(await bench.record('b')).toMatchObject({ state: 'unknown' });
  });

  // F144: what a webhook says passes the gate of every answer, before anything is applied.
  it.each<[string, unknown, RegExp]>([
    ['a line break in a header', lines([['X-A', 'a\r\nb: c']]), /cannot/],
    ['a value that is not Latin', lines([['X-A', 'Łódź']]), /cannot/],
    ['a Map as its body', { response: { status: 201, headers: [], body: new Map() } }, /bytes/],
    ['a Map as its answer', { answer: new Map([['id', 1]]) }, /Map/],
    ['a reply of a Map', { answer: reply(201, { id: new Map() }) }, /Map/],
  ])('with %s is refused before anything is written', async (_what, answer, message) => {
    const bench = createBench();
    await bench.thrown();
    const verdict = { kind: 'completed', ...(answer as object) } as Told['verdict'];
    await expect(bench.reconciler().tell(told(verdict))).rejects.toThrow(message);
    expect(await bench.record()).toMatchObject({ state: 'unknown', response: null });
    expect(await bench.store.audit({})).toEqual([]);
  });

  // F144
  it('whose answer brings framing and a session of its own is stored without them', async () => {
    const bench = createBench();
    await bench.thrown();
    const own = [
      ['Content-Length', '999'],
      ['Transfer-Encoding', 'chunked'],
      ['Connection', 'x-hop'],
      ['X-Hop', '1'],
      ['Set-Cookie', 'session=1'],
    ] as const;
    const kept = [['Content-Type', 'application/json']] as const;
    const body = new TextEncoder().encode('{}');
    const response = { status: 201, headers: [...own, ...kept], body, trailers: [...own] };
    const verdict = { kind: 'completed', response } as const;
    expect(await bench.reconciler().tell(told(verdict))).toEqual({ kind: 'applied', to: 'completed' });
    expect((await bench.record()).response).toEqual({ status: 201, headers: kept, body });
  });

  it('about nobody is told so', async () => {
    const bench = createBench();
    await bench.open();
    const reconciler = bench.reconciler();
    for (const by of [
      { ...BY_ID, key: 'other' },
      { ...BY_ID, scope: ['u'] },
      { downstreamKey: 'x' },
      { providerId: 'x', operation: 'order' },
      { providerId: 'pi_k', operation: 'pay' },
      { providerId: 'pi_k', operation: 'order', scope: ['u'] },
    ])
      expect(await reconciler.tell(told(PAID, by))).toEqual({ kind: 'not-known-here' });
  });

  it('looks through so many records and no more, where the store keeps no references', async () => {
    const bench = createBench({ references: false });
    for (let i = 0; i < 12; i += 1) {
      await bench.open(`k-${i}`);
      if (i % 3 === 0) await bench.world.advance(1);
    }
    // The newest come first, and some were made in the same millisecond.
    const by = { providerId: 'pi_k-0', operation: 'order' };
    const verdict = { kind: 'took-effect', result: 1 } as const;
    expect(await bench.reconciler({ lookupMax: 11 }).tell(told(verdict, by))).toEqual({
      kind: 'not-known-here',
    });
    expect(await bench.reconciler({ lookupMax: 12 }).tell(told(verdict, by))).toMatchObject({
      kind: 'applied',
    });
  });

  it('that comes while the call is under way is told to come again', async () => {
    const bench = createBench();
    const samekey = createSamekey({ store: bench.store, world: bench.world, policy: 'payments' });
    let answer: (() => void) | null = null as (() => void) | null;
    const running = samekey.run({ ...BY_ID, scope: ['t'], fingerprint: null }, async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return 'mine';
    });
    await bench.world.advance(1);
    const reconciler = bench.reconciler();
    expect(await reconciler.tell(told(PAID))).toEqual({ kind: 'not-yet', state: 'in_progress' });
    answer?.();
    await running;
    expect(await reconciler.tell(told(PAID))).toEqual({ kind: 'already', state: 'completed' });
    expect(bench.types()).toEqual([]);
  });

  it('about a request that waits for a worker is told to come again', async () => {
    const bench = createBench();
    const samekey = createSamekey({ store: bench.store, world: bench.world, policy: 'payments' });
    const pay = samekey.deferred(samekey.plain({ name: 'pay', run: () => 'done' }));
    await pay.run({ scope: ['t'], key: 'k', input: null });
    expect(await bench.reconciler().tell(told(PAID))).toEqual({ kind: 'not-yet', state: 'pending' });
  });

  it('that says otherwise than what stands there contradicts, and changes nothing', async () => {
    const bench = createBench();
    await bench.thrown();
    const reconciler = bench.reconciler();
    await reconciler.tell(told(PAID));
    expect(await reconciler.tell(told(DECLINED))).toEqual({ kind: 'contradiction', found: 'completed' });
    expect(await reconciler.tell(told(NONE))).toEqual({ kind: 'contradiction', found: 'completed' });
    expect(await bench.again()).toBe('replay {"id":"ch_1"}');
    expect(bench.types()).toEqual(['reconcile-resolved', 'contradiction', 'contradiction']);
    expect(await bench.store.audit({ acts: ['contradiction'] })).toMatchObject([
      { to: 'retryable', from: 'completed', actor: 'webhook:bank' },
      { to: 'failed', from: 'completed' },
    ]);
  });

  it('that contradicts while the store is busy is noted when it is not', async () => {
    const bench = createBench();
    await bench.thrown();
    let refusals = 3;
    const store = {
      ...bench.store,
      note: async (rows: Parameters<typeof bench.store.note>[0]) => {
        if (refusals-- > 0) throw new StoreError('busy', { applied: 'no', transient: true });
        return bench.store.note(rows);
      },
    };
    const reconciler = bench.reconciler({ store });
    await reconciler.tell(told(PAID));
    const contradicts = reconciler.tell(told(DECLINED));
    await bench.world.advance(10_000);
    expect(await contradicts).toEqual({ kind: 'contradiction', found: 'completed' });
    expect(await bench.store.audit({ acts: ['contradiction'] })).toMatchObject([{ to: 'failed' }]);
  });

  it('that comes late, when somebody has said that nothing happened, contradicts', async () => {
    const bench = createBench();
    const { scope, key, claimId, attempt } = await bench.thrown();
    const settled = { to: 'retryable', reason: 'asked by phone', actor: 'anna', response: null } as const;
    await bench.store.settle([{ scope, key, claimId, attempt, ...settled }]);
    expect(await bench.reconciler().tell(told(PAID))).toEqual({ kind: 'contradiction', found: 'retryable' });
    expect(await bench.record()).toMatchObject({ state: 'retryable' });
  });

  it('about an attempt before the one that runs contradicts, if it says which', async () => {
    const bench = createBench();
    await bench.thrown();
    await bench.world.advance(CALL_TIME_MAX_MS);
    const reconciler = bench.reconciler();
    expect(await reconciler.tell(told(NONE))).toEqual({ kind: 'applied', to: 'retryable' });
    await bench.thrown();
    const paid = told(PAID, { ...BY_ID, attempt: 1 });
    expect(await bench.record()).toMatchObject({ state: 'unknown', attempt: 2 });
    expect(await reconciler.tell(paid)).toEqual({ kind: 'contradiction', found: 'unknown' });
  });

  it('about an earlier attempt is about all of them where every call carries one key', async () => {
    const bench = createBench();
    await bench.thrown();
    await bench.world.advance(CALL_TIME_MAX_MS);
    const reconciler = bench.reconciler({
      operations: {
        pay: {
          inquire: async () => ({ kind: 'not-known' }),
          callTimeMaxMs: CALL_TIME_MAX_MS,
          downstreamKey: true,
        },
      },
    });
    expect(await reconciler.tell(told(NONE))).toEqual({ kind: 'applied', to: 'retryable' });
    await bench.thrown();
    expect(await bench.record()).toMatchObject({ state: 'unknown', attempt: 2 });
    const paid = told(PAID, { ...BY_ID, attempt: 1 });
    expect(await reconciler.tell(paid)).toEqual({ kind: 'applied', to: 'completed' });
  });

  it('that says "no effect" is too early until the longest call has had its time', async () => {
    const bench = createBench();
    await bench.thrown();
    const reconciler = bench.reconciler();
    const early = { kind: 'too-early', because: 'call-time', afterMs: CALL_TIME_MAX_MS };
    expect(await reconciler.tell(told(NONE))).toEqual(early);
    await bench.world.advance(CALL_TIME_MAX_MS - 1);
    expect(await reconciler.tell(told(NONE))).toEqual(early);
    await bench.world.advance(1);
    expect(await reconciler.tell(told(NONE))).toEqual({ kind: 'applied', to: 'retryable' });
    expect(await reconciler.tell(told(NONE))).toEqual({ kind: 'already', state: 'retryable' });
    expect(await bench.again()).toBe('executed "ran again"');
  });

  // F61
  it('that says "no effect" of an owner that is not proven gone never counts', async () => {
    const bench = createBench();
    await bench.died();
    await bench.world.advance(86_400_000);
    expect(await bench.reconciler().tell(told(NONE))).toEqual({
      kind: 'too-early',
      because: 'owner',
      afterMs: null,
    });
    expect(await bench.record()).toMatchObject({ state: 'unknown' });
  });

  // F21
  it('that says "no effect" when the provider may have forgotten the call does not count, by the store’s clock', async () => {
    const bench = createBench();
    await bench.thrown();
    const pay = { inquire: async () => NONE, downstreamKey: true };
    const reconciler = bench.reconciler({ operations: { pay } });
    await bench.world.advance(86_400_001);
    expect(await reconciler.tell(told(NONE))).toEqual({
      kind: 'too-early',
      because: 'retention',
      afterMs: null,
    });
    expect(await reconciler.tell(told(PAID))).toMatchObject({ kind: 'applied' });
  });

  it('settles what was given up', async () => {
    const bench = createBench();
    await bench.thrown();
    const reconciler = bench.reconciler({ inquiriesMax: 1 });
    expect(await reconciler.run()).toMatchObject({ givenUp: 1 });
    await bench.world.advance(30 * 86_400_000);
    expect(await reconciler.tell(told(DECLINED))).toEqual({ kind: 'applied', to: 'failed' });
  });

  it('is as careful with operations that the reconciler does not ask about', async () => {
    const bench = createBench();
    await bench.thrown();
    const reconciler = bench.reconciler({ operations: { other: { inquire: async () => NONE } } });
    await bench.world.advance(59_999);
    expect(await reconciler.tell(told(NONE))).toMatchObject({ kind: 'too-early' });
    await bench.world.advance(1);
    expect(await reconciler.tell(told(NONE))).toMatchObject({ kind: 'applied' });
  });

  it.each<[string, Partial<Told>, RegExp]>([
    ['no verdict', { verdict: { kind: 'maybe' } as never }, /A verdict is/],
    ['a verdict that tells nothing', { verdict: { kind: 'not-known' } as never }, /tells nothing/],
    ['no source', { source: '' }, /source/],
    ['nobody it is about', { by: {} as never }, /needs by/],
    ['an id of the provider and no operation', { by: { providerId: 'pi' } as never }, /by\.operation/],
    ['a key that is none', { by: { ...BY_ID, key: '' } }, /no key/],
    ['parts of a scope without an operation', { by: { scope: ['t'], key: 'k' } as never }, /by\.operation/],
    ['what nobody reads', { reason: 'x' } as never, /no option "reason"/],
  ])('with %s is refused', async (_what, wrong, message) => {
    const bench = createBench();
    await bench.thrown();
    await expect(bench.reconciler().tell({ ...told(PAID), ...wrong })).rejects.toThrow(message);
    expect(await bench.record()).toMatchObject({ state: 'unknown' });
  });
});
