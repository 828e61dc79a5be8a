/**
 * The gate of values: every place at which a value is compared, kept or handed on, times every value that JSON would lose. What is
 * compared is refused before a claim or a call, with its path. The places inside of handlers are in the contracts of engines and of
 * transactions.
 */

import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { comparableBytes } from '../../src/fingerprint/digest.ts';
import { jsonOf } from '../../src/fingerprint/json-value.ts';
import { createOperator, type Settlement } from '../../src/operator/index.ts';
import { type Comparable, createSamekey, type Samekey, singleTenant } from '../../src/index.ts';
import { createOutbox } from '../../src/outbox/index.ts';
import { createReconciler } from '../../src/reconcile/index.ts';
import { checkVerdict } from '../../src/reconcile/verdict.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { HANDED_ON, INCOMPARABLE, TOO_DEEP, UNSTORABLE } from '../../../testing/src/hostile-values.ts';
import { kinds } from '../worker/bench.ts';

const SCOPE = singleTenant();

interface Place {
  readonly samekey: Samekey;
  /** Runs of handlers and calls of effects. */
  readonly count: () => void;
  readonly key: string;
}

/** What is compared. Each asks with the value; nothing of it may run. */
const COMPARED: Readonly<Record<string, (at: Place, value: Comparable) => Promise<unknown>>> = {
  'the fingerprint of run': ({ samekey, count, key }, fingerprint) =>
    samekey.run({ operation: 'a', scope: SCOPE, key, fingerprint }, count),
  'the input of a plain operation': ({ samekey, count, key }, input) =>
    samekey.plain({ name: `b ${key}`, policy: 'standard', run: count }).run({ scope: SCOPE, key, input }),
  'the fingerprint of an operation': ({ samekey, count, key }, fingerprint) =>
    samekey
      .plain({ name: `c ${key}`, policy: 'standard', run: count })
      .run({ scope: SCOPE, key, input: null, fingerprint }),
  'the input of a phased operation': ({ samekey, count, key }, input) =>
    samekey.phased({ name: `d ${key}`, run: count }).run({ scope: SCOPE, key, input }),
  'the input of a phased operation with a fingerprint of its own': ({ samekey, count, key }, input) =>
    samekey.phased({ name: `e ${key}`, run: count }).run({ scope: SCOPE, key, input, fingerprint: null }),
  'the input of a deferred operation': ({ samekey, count, key }, input) =>
    samekey
      .deferred(samekey.plain({ name: `f ${key}`, policy: 'standard', run: count }))
      .run({ scope: SCOPE, key, input }),
};

function place(key: string): Place & { readonly counted: { runs: number } } {
  const counted = { runs: 0 };
  return {
    samekey: createSamekey({ store: memoryStore(), policy: 'standard' }),
    counted,
    count: () => void (counted.runs += 1),
    key,
  };
}

describe.each(Object.entries(COMPARED))('%s', (_place, ask) => {
  // F77
  it.each(INCOMPARABLE)(
    'refuses $title before anything is claimed, and names its path',
    async ({ make, path }) => {
      const at = place('k');
      await expect(ask(at, make() as Comparable)).rejects.toMatchObject({ code: 'ERR_SAMEKEY_VALUE', path });
      expect(at.counted.runs).toBe(0);
      expect(await at.samekey.store.list({})).toEqual([]);
    },
  );

  // F90
  it('refuses what is nested too deep', async () => {
    const at = place('k');
    const refused = ask(at, TOO_DEEP() as Comparable);
    await expect(refused).rejects.toMatchObject({ code: 'ERR_SAMEKEY_VALUE', fault: 'too-deep' });
    expect(await at.samekey.store.list({})).toEqual([]);
  });
});

describe('an effect', () => {
  // F77
  it.each(INCOMPARABLE)(
    'with $title as its input is not called, and leaves no intent',
    async ({ make, path }) => {
      const at = place('k');
      const operation = at.samekey.phased({
        name: 'pay',
        run: (_input: null, attempt) =>
          attempt.effect('charge', at.count, {
            rule: 'reconcile',
            input: make() as Comparable,
            callTimeMaxMs: 1_000,
          }),
      });
      const asked = operation.run({ scope: SCOPE, key: 'k', input: null });
      await expect(asked).rejects.toMatchObject({ code: 'ERR_SAMEKEY_VALUE', path });
      expect(at.counted.runs).toBe(0);
      expect(await at.samekey.store.list({})).toMatchObject([{ state: 'retryable', steps: null }]);
    },
  );
});

describe('bytes', () => {
  const bytes = Uint8Array.of(9, 1, 2, 9);
  const inner = bytes.subarray(1, 3);
  const own = Uint8Array.of(1, 2);
  const SAME: Readonly<Record<string, Comparable>> = {
    'a Uint8Array': own,
    'a part of another array': inner,
    'a Buffer': Buffer.from(own),
    'an ArrayBuffer': own.buffer,
    'a DataView': new DataView(bytes.buffer, 1, 2),
    'an Int8Array': new Int8Array(own.buffer),
  };
  // F77
  it.each(Object.entries(SAME))('compare as bytes, given as %s', async (_title, fingerprint) => {
    const { samekey } = place('k');
    const ask = (value: Comparable) =>
      samekey.run({ operation: 'a', scope: SCOPE, key: 'k', fingerprint: value }, () => 1);
    expect(await ask(own)).toMatchObject({ kind: 'executed' });
    expect(await ask(fingerprint)).toMatchObject({ kind: 'replay' });
    expect(await ask(Uint8Array.of(1, 3))).toMatchObject({ kind: 'mismatch' });
    // Never equal to a value that has the same text.
    expect(await ask([1, 2])).toMatchObject({ kind: 'mismatch' });
  });

  it('and values are compared as they were when the request came', async () => {
    const { samekey } = place('k');
    const mine = Uint8Array.of(1);
    const first = samekey.run({ operation: 'a', scope: SCOPE, key: 'k', fingerprint: mine }, () => 1);
    mine[0] = 2;
    await first;
    const again = { operation: 'a', scope: SCOPE, key: 'k', fingerprint: Uint8Array.of(1) };
    expect(await samekey.run(again, () => 2)).toMatchObject({ kind: 'replay' });
  });
});

describe('plain JSON', () => {
  it.each([
    [{ a: 1, b: undefined }, { a: 1 }],
    [
      { b: 1, a: 2 },
      { a: 2, b: 1 },
    ],
    [-0, 0],
    [Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
  ])('%j is what %j is', (one, other) => {
    expect(comparableBytes('It', one)).toEqual(comparableBytes('It', other));
  });
});

describe('a message', () => {
  for (const kind of kinds().filter(({ name }) => name.startsWith('sqlite'))) {
    const at = kind.use();
    // F147
    it.each(UNSTORABLE)('with $title is not enqueued', async ({ make, path }) => {
      const { store } = await at();
      const outbox = createOutbox({ store });
      const refused = outbox.enqueueAlone({ topic: 'ship', payload: make() });
      await expect(refused).rejects.toMatchObject({ code: 'ERR_SAMEKEY_VALUE', path });
      expect(await outbox.count()).toEqual([]);
    });

    it('is handed on as it says itself', async () => {
      const { worker, outbox } = await at();
      await outbox.enqueueAlone({ topic: 'ship', payload: HANDED_ON.make() });
      const seen = new Promise((resolve) => {
        worker({ handlers: { ship: ({ payload }) => resolve(payload) } }).start();
      });
      expect(await seen).toEqual(HANDED_ON.back);
    });
  }
});

describe('a verdict', () => {
  it.each(UNSTORABLE)('whose answer is $title is none', ({ make, path }) => {
    const value = make();
    expect(() => checkVerdict({ kind: 'completed', answer: value })).toThrow(
      expect.objectContaining({ code: 'ERR_SAMEKEY_VALUE', path }),
    );
  });
});

async function halfDone() {
  const store = memoryStore();
  const samekey = createSamekey({ store });
  const pay = samekey.phased({
    name: 'pay',
    run: (_input: null, attempt) =>
      attempt.effect('charge', () => Promise.reject(new Error('reset')), {
        rule: 'reconcile',
        callTimeMaxMs: 1,
      }),
  });
  await pay.run({ scope: SCOPE, key: 'k', input: null });
  const [record] = await store.list({});
  if (record === undefined) throw new Error('there must be a record');
  return { store, samekey, record };
}

describe('the result of an effect that somebody learned', () => {
  it.each(UNSTORABLE)('is refused by an operator if it is $title', async ({ make, path }) => {
    const { store, record } = await halfDone();
    const settlement: Settlement = { to: 'retryable', effectResult: make(), reason: 'seen in the ledger' };
    const settled = createOperator({ store, actor: 'anna' }).settle(record, settlement);
    await expect(settled).rejects.toMatchObject({ code: 'ERR_SAMEKEY_VALUE', path });
    expect(await store.list({})).toMatchObject([{ state: 'unknown' }]);
  });

  it.each(UNSTORABLE)('is refused by a reconciler if it is $title', async ({ make, path }) => {
    const { samekey, store, record } = await halfDone();
    const reconciler = createReconciler({
      samekey,
      operations: { pay: { inquire: async () => ({ kind: 'not-known' as const }) } },
    });
    const { scope, key } = record;
    const verdict = { kind: 'took-effect', result: make() } as const;
    const told = reconciler.tell({ by: { scope, key }, source: 'webhook:pay', verdict });
    await expect(told).rejects.toMatchObject({ code: 'ERR_SAMEKEY_VALUE', path });
    expect(await store.list({})).toMatchObject([{ state: 'unknown' }]);
  });
});

// F89
describe('run', () => {
  const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
  const GOOD = { operation: 'a', scope: SCOPE, key: 'k', fingerprint: null } as const;

  it.each([
    ['no request', undefined, 'ERR_SAMEKEY_OPTIONS'],
    ['null as its request', null, 'ERR_SAMEKEY_OPTIONS'],
    ['no operation', { ...GOOD, operation: undefined }, 'ERR_SAMEKEY_OPTIONS'],
    ['an operation that is a number', { ...GOOD, operation: 5 }, 'ERR_SAMEKEY_OPTIONS'],
    ['former names that are no list', { ...GOOD, formerly: 'b' }, 'ERR_SAMEKEY_OPTIONS'],
    ['no scope', { ...GOOD, scope: undefined }, 'ERR_SAMEKEY_OPTIONS'],
    ['a scope that is a text', { ...GOOD, scope: 'tenant' }, 'ERR_SAMEKEY_OPTIONS'],
    ['no key', { ...GOOD, key: undefined }, 'ERR_SAMEKEY_KEY'],
    ['null as its key', { ...GOOD, key: null }, 'ERR_SAMEKEY_KEY'],
    ['a number as its key', { ...GOOD, key: 42 }, 'ERR_SAMEKEY_KEY'],
    ['an object as its key', { ...GOOD, key: {} }, 'ERR_SAMEKEY_KEY'],
    ['no fingerprint', { ...GOOD, fingerprint: undefined }, 'ERR_SAMEKEY_VALUE'],
    ['a bigint as its fingerprint', { ...GOOD, fingerprint: 10n }, 'ERR_SAMEKEY_VALUE'],
  ])('with %s says what to do, under a code', async (_what, request, code) => {
    const refused = samekey.run(request as never, () => 1);
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(/: /) });
  });

  it('without a handler says so before anything is claimed', async () => {
    const refused = samekey.run({ ...GOOD, key: 'no-handler' }, undefined as never);
    await expect(refused).rejects.toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
    expect(await samekey.store.list({ key: 'no-handler' })).toEqual([]);
  });

  it.each([undefined, null, 5])('of an operation with the request %j says what to do', async (request) => {
    const operation = samekey.plain({ name: `op ${String(request)}`, policy: 'standard', run: () => 1 });
    await expect(operation.run(request as never)).rejects.toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
  });

  it('of a key whose stored answer is no JSON says what it is', async () => {
    const request = { ...GOOD, key: 'by-hand', policy: 'payments' } as const;
    await expect(samekey.run(request, () => Promise.reject(new Error('reset')))).rejects.toThrow('reset');
    const [record] = await samekey.store.list({ key: 'by-hand' });
    if (record === undefined) throw new Error('there must be a record');
    const settled = await createOperator({ store: samekey.store, actor: 'anna' }).settle(record, {
      to: 'completed',
      response: { status: 200, headers: [['Content-Type', 'text/html']], body: Buffer.from('<p>done</p>') },
      reason: 'seen in the ledger',
    });
    expect(settled).toMatchObject({ kind: 'applied' });
    await expect(samekey.run(request, () => 1)).rejects.toMatchObject({ code: 'ERR_SAMEKEY_VALUE' });
  });
});

function pathOf(value: unknown): string {
  try {
    return String(jsonOf('It', value));
  } catch (error) {
    return (error as { path: string }).path;
  }
}

describe('paths', () => {
  it('are cut where they are long, and odd names are quoted', () => {
    expect(pathOf({ 'a-b': [{ ['x'.repeat(100)]: 1n }] })).toBe(`["a-b"][0]["${'x'.repeat(64)}…"]`);
    let deep: unknown = 1n;
    for (let i = 0; i < 20; i++) deep = { a: deep };
    expect(pathOf(deep)).toBe(`${'a.'.repeat(11)}a…`);
  });

  it('lead to where a cycle closes', () => {
    const a: Record<string, unknown> = {};
    a['b'] = { c: [a] };
    expect(() => jsonOf('It', a)).toThrow(expect.objectContaining({ path: 'b.c[0]', fault: 'cycle' }));
  });

  it('what throws when it is read is a fault of the value', () => {
    const value = {
      get amount(): number {
        throw new Error('not loaded');
      },
    };
    expect(() => jsonOf('It', value)).toThrow(expect.objectContaining({ fault: 'unreadable' }));
  });
});
