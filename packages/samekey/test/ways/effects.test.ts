/**
 * Effects against a provider that is a process of its own: what nobody knows is not done again, what may be is done with the same
 * key, and a key that is used anew after its retention meets the business key.
 */

import type { PoolClient } from 'pg';
import { describe, expect, it } from 'vitest';
import { createSamekey, type PhasedAttempt, reply, systemWorld } from '../../src/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { pushDue } from '../../src/ways/completer.ts';
import type { ProviderFault } from '../processes/payment-provider.ts';
import { anyPostgres } from '../services/postgres.ts';
import { DOWNSTREAM, type Order, requestOf, useEffects } from './effects-setup.ts';

const HOUR_MS = 3_600_000;

const source = anyPostgres();

const cannotTell = (): never => {
  throw new Error('cannot tell');
};

describe.runIf(source !== undefined)('effects on PostgreSQL and a provider', () => {
  const { setUp, provider, fail, charge, billOf, pay } = useEffects(source as NonNullable<typeof source>);

  // F19: a gateway that times out or answers 504 says nothing of what it did.
  it.each<ProviderFault>(['time-out', 'error-after', 'error-before', 'reset', 'lose-reply'])(
    'a call that ends in %s is unknown under reconcile, and is not made again by request or worker',
    async (fault) => {
      const { samekey, reasons } = await setUp();
      await fail(fault);
      const operation = pay(samekey, { rule: 'reconcile' });
      const request = requestOf();
      expect(await operation.run(request)).toMatchObject({ kind: 'unknown' });
      expect(await operation.run(request)).toMatchObject({ kind: 'unknown' });
      expect(await pushDue(internalsOf(samekey), 10)).toEqual([]);
      expect(reasons()).toEqual([['unknown', 'effect-unknown']]);
      expect((await billOf(request.input)).calls).toBe(1);
    },
  );

  // F20
  it.each<ProviderFault>(['lose-reply', 'error-after', 'time-out'])(
    'a call that ends in %s is made again with its key, and there is one charge',
    async (fault) => {
      const { samekey } = await setUp();
      await fail(fault);
      const operation = pay(samekey, DOWNSTREAM);
      const request = requestOf();
      expect(await operation.run(request)).toMatchObject({ kind: 'in-progress' });
      expect(await operation.run(request)).toMatchObject({ kind: 'executed', attempt: 2 });
      expect(await billOf(request.input)).toEqual({ calls: 2, keys: 1, payments: 1 });
    },
  );

  // F21: how old the intent is, is the store's clock to say; the process's own may be hours off (F45).
  it.each([
    [25, 0, 'unknown'],
    [23, 5, 'executed'],
  ])(
    'an intent %d hours old by the store, seen by a clock %d hours ahead: %s',
    async (ageHours, offHours, kind) => {
      const system = systemWorld();
      const world = { ...system, wallNow: () => system.wallNow() + offHours * HOUR_MS };
      const { samekey, pool, reasons } = await setUp({ world });
      await fail('lose-reply');
      const operation = pay(samekey, DOWNSTREAM);
      const request = requestOf();
      expect(await operation.run(request)).toMatchObject({ kind: 'in-progress' });
      await pool.query(
        "UPDATE samekey_records SET intent_at = intent_at - make_interval(hours => $1), expires_at = now() + interval '1 day'",
        [ageHours],
      );
      await provider().forget();
      if (kind === 'executed') {
        expect(await operation.run(request)).toMatchObject({ kind });
        return;
      }
      expect(await operation.run(request)).toMatchObject({ kind });
      expect(reasons().at(-1)).toEqual(['unknown', 'effect-retention-passed']);
      expect((await billOf(request.input)).calls).toBe(1);
    },
  );

  // F22: the call is never inside of what a serialization failure runs again.
  it('a serialization failure after the call runs the phase again, not the call', async () => {
    const db = await setUp({});
    const { pool } = db;
    const samekey = createSamekey({
      store: db.store,
      transactions: fromPg<PoolClient>(pool, { isolation: 'serializable' }),
    });
    await pool.query('CREATE TABLE counters (n int)');
    await pool.query('INSERT INTO counters VALUES (0)');
    let runs = 0;
    const operation = pay(samekey, DOWNSTREAM, (attempt, id) =>
      attempt.phase('book', async (tx) => {
        runs += 1;
        await tx.query('SELECT n FROM counters');
        // Somebody else is quicker, the first two times.
        if (runs < 3) await pool.query('UPDATE counters SET n = n + 1');
        await tx.query('UPDATE counters SET n = n + 10');
        await tx.query('INSERT INTO bookings VALUES ($1, $2)', [id, id]);
        return null;
      }),
    );
    const request = requestOf();
    expect(await operation.run(request)).toMatchObject({ kind: 'executed', attempt: 1 });
    expect(runs).toBe(3);
    expect(await billOf(request.input)).toEqual({ calls: 1, keys: 1, payments: 1 });
    expect((await pool.query('SELECT n FROM counters')).rows).toEqual([{ n: 12 }]);
  });

  // F55: docs/guides/phases.md shows this handler.
  it('a key used again after its retention runs as new with another downstream key, and the business key stops a second effect', async () => {
    const { samekey, pool } = await setUp();
    for (const isGuarded of [false, true]) {
      const operation = samekey.phased({
        name: isGuarded ? 'guarded' : 'bare',
        run: async ({ reference }: Order, attempt: PhasedAttempt<PoolClient>) => {
          const isNew = await attempt.phase('reserve', async (tx) => {
            if (!isGuarded) return true;
            const { rowCount } = await tx.query('INSERT INTO bookings VALUES ($1) ON CONFLICT DO NOTHING', [
              reference,
            ]);
            return rowCount === 1;
          });
          if (!isNew) return reply(409, { code: 'already-paid' });
          const id = await attempt.effect('charge', (call) => charge(reference, call), DOWNSTREAM);
          return reply(201, { id });
        },
      });
      const request = requestOf();
      expect(await operation.run(request)).toMatchObject({ kind: 'executed', attempt: 1 });
      await pool.query("UPDATE samekey_records SET expires_at = now() - interval '1 second'");
      const again = await operation.run(request);
      expect(again).toMatchObject({ kind: 'executed', attempt: 1 });
      const bill = await billOf(request.input);
      // Without the business key the provider takes it for another payment, which a new use of a key is.
      expect(bill).toEqual(
        isGuarded ? { calls: 1, keys: 1, payments: 1 } : { calls: 2, keys: 2, payments: 2 },
      );
      if (isGuarded) expect(again).toMatchObject({ state: 'failed', value: { code: 'already-paid' } });
    }
  });

  // F57
  it('a plain handler that throws after the charge is unknown under payments, and does not charge again', async () => {
    const { samekey } = await setUp();
    const operation = samekey.plain({
      name: 'plain-pay',
      policy: 'payments',
      run: async ({ reference }: Order) => {
        await charge(reference, { downstreamKey: `${reference}-${Math.random()}` });
        throw new Error('out of memory');
      },
    });
    const request = requestOf();
    await expect(operation.run(request)).rejects.toThrow('out of memory');
    expect(await operation.run(request)).toMatchObject({ kind: 'unknown' });
    expect(await billOf(request.input)).toEqual({ calls: 1, keys: 1, payments: 1 });
  });

  it('an open effect is nobody’s failure: a handler that throws before it comes by leaves it open, also where a 5xx is kept', async () => {
    const { samekey } = await setUp();
    await fail('lose-reply');
    const operation = samekey.phased({
      name: 'moody',
      policy: 'stripe',
      run: async ({ reference }: Order, attempt) => {
        if (attempt.number === 2) throw new Error('no configuration');
        const id = await attempt.effect('charge', (call) => charge(reference, call), {
          ...DOWNSTREAM,
          classify: cannotTell,
        });
        return reply(201, { id });
      },
    });
    const request = requestOf();
    for (const [kind, attempt] of [
      ['in-progress'],
      ['in-progress'],
      ['executed', 3],
      ['replay', 3],
    ] as const) {
      expect(await operation.run(request)).toMatchObject({
        kind,
        ...(attempt === undefined ? {} : { attempt }),
      });
    }
    expect(await billOf(request.input)).toEqual({ calls: 2, keys: 1, payments: 1 });
  });
});
