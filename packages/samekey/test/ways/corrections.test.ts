/** What becomes of an effect that was settled, of a request that its client corrects, and of handlers and inputs that are wrong. */

import type { PoolClient } from 'pg';
import { describe, expect, it } from 'vitest';
import { createSamekey, type EffectRule, type PhasedAttempt, reply } from '../../src/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { createWorker } from '../../src/worker/index.ts';
import { anyPostgres } from '../services/postgres.ts';
import { DOWNSTREAM, type Order, requestOf, useEffects } from './effects-setup.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('phased operations that somebody has to put right', () => {
  const { setUp, fail, charge, billOf, pay } = useEffects(source as NonNullable<typeof source>);

  it.each<EffectRule<string>>([
    { rule: 'reconcile' },
    // Forgotten at once: a repeat is refused as long as nobody knows.
    { rule: 'downstreamKey', retentionMs: 1 },
  ])('an effect that was settled as not executed is called by the next attempt ($rule)', async (rule) => {
    const { samekey, store } = await setUp();
    await fail('error-before');
    const operation = pay(samekey, rule);
    const request = requestOf();
    await operation.run(request);
    expect(await operation.run(request)).toMatchObject({ kind: 'unknown' });
    const [record] = await store.list({ states: ['unknown'] });
    if (record === undefined) throw new Error('It is not unknown.');
    const { scope, key, claimId, attempt } = record;
    const settled = {
      scope,
      key,
      claimId,
      attempt,
      to: 'retryable',
      reason: 'asked',
      actor: null,
      response: null,
    } as const;
    expect(await store.settle([settled])).toMatchObject([{ kind: 'applied' }]);
    expect(await operation.run(request)).toMatchObject({ kind: 'executed', state: 'completed' });
    expect(await billOf(request.input)).toEqual({ calls: 2, keys: 1, payments: 1 });
  });

  it('that word is good for one attempt: if its call is lost too, nobody knows again', async () => {
    const { samekey, store } = await setUp();
    await fail('error-before', 'lose-reply');
    const operation = pay(samekey, { rule: 'reconcile' });
    const request = requestOf();
    expect(await operation.run(request)).toMatchObject({ kind: 'unknown' });
    const [record] = await store.list({ states: ['unknown'] });
    if (record === undefined) throw new Error('It is not unknown.');
    const { scope, key, claimId, attempt } = record;
    await store.settle([
      { scope, key, claimId, attempt, to: 'retryable', reason: 'asked', actor: null, response: null },
    ]);
    expect(await operation.run(request)).toMatchObject({ kind: 'unknown' });
    expect(await operation.run(request)).toMatchObject({ kind: 'unknown' });
    expect((await billOf(request.input)).calls).toBe(2);
  });

  it('a worker leaves alone what waits for its client to correct it', async () => {
    const { samekey } = await setUp();
    const operation = samekey.phased({
      name: 'correctable',
      run: async ({ reference }: Order, attempt) => {
        if (reference !== 'right') attempt.notExecuted({ correctable: true });
        return reply(reference === 'right' ? 201 : 422, {});
      },
    });
    const request = requestOf();
    expect(await operation.run(request)).toMatchObject({ kind: 'executed', state: 'retryable' });
    expect(await pushDue(internalsOf(samekey), 10)).toEqual([]);
    const corrected = { ...request, input: { reference: 'right' } };
    expect(await operation.run(corrected)).toMatchObject({
      kind: 'executed',
      state: 'completed',
      attempt: 2,
    });
  });

  it('a corrected request is pushed on with what it was corrected to', async () => {
    const { samekey } = await setUp();
    const seen: string[] = [];
    const operation = samekey.phased({
      name: 'corrected',
      run: async ({ reference }: Order, attempt) => {
        seen.push(reference);
        if (reference === 'wrong') attempt.notExecuted({ correctable: true });
        else await attempt.effect('charge', (call) => charge(reference, call), DOWNSTREAM);
        return reply(reference === 'wrong' ? 422 : 201, { reference });
      },
    });
    const right = requestOf();
    expect(await operation.run({ ...right, input: { reference: 'wrong' } })).toMatchObject({
      state: 'retryable',
    });
    await fail('lose-reply');
    expect(await operation.run(right)).toMatchObject({ kind: 'in-progress' });
    const pushed = await pushDue(internalsOf(samekey), 10);
    expect(pushed.map(({ outcome }) => outcome.kind)).toEqual(['executed']);
    expect(seen).toEqual(['wrong', right.input.reference, right.input.reference]);
    expect(await operation.run(right)).toMatchObject({ kind: 'replay', value: right.input });
  });

  it('a deferred request that was corrected is noted anew, and the worker never sees the old one again', async () => {
    const { samekey } = await setUp();
    const seen: string[] = [];
    const operation = samekey.deferred(
      samekey.phased({
        name: 'corrected-later',
        run: async ({ reference }: Order, attempt) => {
          seen.push(reference);
          if (reference === 'wrong') attempt.notExecuted({ correctable: true });
          return reply(reference === 'wrong' ? 422 : 201, { reference });
        },
      }),
    );
    const right = requestOf();
    expect(await operation.run({ ...right, input: { reference: 'wrong' } })).toMatchObject({
      kind: 'pending',
    });
    await pushDue(internalsOf(samekey), 10);
    expect(await pushDue(internalsOf(samekey), 10)).toEqual([]);
    expect(await operation.run(right)).toMatchObject({ kind: 'pending' });
    await pushDue(internalsOf(samekey), 10);
    expect(seen).toEqual(['wrong', right.input.reference]);
    expect(await operation.run(right)).toMatchObject({ kind: 'replay', value: right.input });
  });

  it('an input that cannot be read is left alone and told, and its neighbours are pushed on', async () => {
    const { samekey, pool } = await setUp();
    const operation = samekey.deferred(samekey.phased({ name: 'later', run: async () => 'done' }));
    for (const key of ['a', 'b']) await operation.run(requestOf(key));
    await pool.query("UPDATE samekey_records SET input = 'no json' WHERE key = 'a'");
    const pushed = await pushDue(internalsOf(samekey), 10);
    expect(pushed.map(({ record, outcome }) => [record.key, outcome.kind])).toEqual([['b', 'executed']]);
  });

  it('a handler that ends while its call is under way leaves its outcome open, also where a 5xx is kept', async () => {
    const { samekey } = await setUp();
    let charged: Promise<string> = Promise.resolve('');
    const operation = samekey.phased({
      name: 'hasty',
      policy: 'stripe',
      run: async ({ reference }: Order, attempt) => {
        await new Promise<void>((resolve) => {
          charged = attempt.effect(
            'charge',
            (call) => {
              resolve();
              return charge(reference, call);
            },
            DOWNSTREAM,
          );
          charged.catch(() => undefined);
        });
        if (attempt.number === 1) throw new Error('too early');
        return reply(201, { id: await charged });
      },
    });
    const request = requestOf();
    expect(await operation.run(request)).toMatchObject({ kind: 'in-progress' });
    expect(await operation.run(request)).toMatchObject({ kind: 'executed', state: 'completed', attempt: 2 });
    expect(await billOf(request.input)).toEqual({ calls: 2, keys: 1, payments: 1 });
  });

  it('a provider that is away for a while does not use up the attempts that a worker has', async () => {
    const { samekey } = await setUp();
    const provider = { isAway: true, calls: 0 };
    const operation = samekey.phased({
      name: 'patient',
      run: async ({ reference }: Order, attempt) => {
        await attempt.effect(
          'charge',
          async (call) => {
            provider.calls += 1;
            if (provider.isAway) throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
            return charge(reference, call);
          },
          DOWNSTREAM,
        );
        return 'paid';
      },
    });
    const request = requestOf();
    await expect(operation.run(request)).rejects.toThrow('connect');
    const worker = createWorker({ samekey, pushMs: 5, backoff: { minMs: 100 } });
    worker.start();
    try {
      // By the client, at once, and after 100 ms; then ever more seldom.
      await expect.poll(() => provider.calls).toBeGreaterThanOrEqual(3);
      provider.isAway = false;
      await expect
        .poll(() => operation.run(request), { timeout: 5_000 })
        .toMatchObject({ kind: 'replay', value: 'paid' });
    } finally {
      await worker.stop();
    }
    expect(await billOf(request.input)).toEqual({ calls: 1, keys: 1, payments: 1 });
  });

  const named = (names: { readonly name: string; readonly formerly?: readonly string[] }) => ({
    ...names,
    run: async ({ reference }: Order, attempt: PhasedAttempt<PoolClient>) => {
      await attempt.effect('charge', (call) => charge(reference, call), DOWNSTREAM);
      return reply(201, { reference });
    },
  });

  it('what an operation left under its former name is pushed on under its new one, with the same downstream key', async () => {
    const old = await setUp();
    const request = requestOf();
    await fail('lose-reply');
    expect(await old.samekey.phased(named({ name: 'pay-old' })).run(request)).toMatchObject({
      kind: 'in-progress',
    });

    const { pool, store } = old;
    const samekey = createSamekey({ store, transactions: fromPg<PoolClient>(pool) });
    const renamed = samekey.phased(named({ name: 'pay-new', formerly: ['pay-old'] }));
    const pushed = await pushDue(internalsOf(samekey), 10);
    expect(pushed.map(({ outcome }) => outcome.kind)).toEqual(['executed']);
    expect(await renamed.run(request)).toMatchObject({ kind: 'replay', value: request.input });
    expect(await billOf(request.input)).toEqual({ calls: 2, keys: 1, payments: 1 });
  });

  // Else a corrected request would go on with the steps of the one before it.
  it.each<readonly [string, (attempt: PhasedAttempt<PoolClient>) => Promise<unknown>]>([
    ['before a step', async (attempt) => (attempt.notExecuted(), attempt.phase('late', async () => 1))],
    [
      'inside a step',
      (attempt) => attempt.phase('in', async () => attempt.notExecuted({ correctable: true })),
    ],
    [
      'beside a step',
      async (attempt) => {
        const step = attempt.phase('beside', async () => 1);
        try {
          attempt.notExecuted({ correctable: true });
        } finally {
          await step;
        }
      },
    ],
  ])('notExecuted() %s is refused: what it says would not be true', async (_, run) => {
    const { samekey } = await setUp();
    const operation = samekey.phased({ name: 'untrue', run: async (_input: Order, attempt) => run(attempt) });
    await expect(operation.run(requestOf())).rejects.toThrow(/notExecuted\(\) was called/);
  });
});
