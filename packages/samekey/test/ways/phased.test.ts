/** The phased way on real databases: what is recorded, where a later attempt goes on, and what stops it. */

import type { PoolClient } from 'pg';
import { describe, expect, it } from 'vitest';
import { createSamekey, reply, type Samekey, type SamekeyEvent } from '../../src/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { pushDue } from '../../src/ways/completer.ts';
import type { Attempt } from '../../src/engine/attempt.ts';
import { freePort } from '../services/machine.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';

const source = anyPostgres();
const DAY_MS = 86_400_000;

/** A provider that remembers keys, and can be told to lose its reply. */
function provider() {
  const charges = new Map<string, number>();
  const calls: { key: string; before: boolean }[] = [];
  let losing = 0;
  return {
    charges,
    calls,
    lose: (count: number) => {
      losing = count;
    },
    charge: async (key: string, amount: number, before: boolean) => {
      calls.push({ key, before });
      charges.set(key, amount);
      if (losing > 0) {
        losing -= 1;
        throw new Error('socket hang up');
      }
      return { id: `ch_${key.slice(0, 6)}` };
    },
  };
}

/** A phase that writes one line. */
const log = (line: string) => async (tx: PoolClient) => {
  await tx.query('INSERT INTO log VALUES ($1)', [line]);
  return { line };
};

describe.runIf(source !== undefined)('phased on PostgreSQL', () => {
  const { database } = useServer(source as NonNullable<typeof source>);

  interface Setup {
    readonly samekey: Samekey<PoolClient>;
    readonly events: SamekeyEvent[];
    readonly rows: () => Promise<string[]>;
  }

  async function setUp(): Promise<Setup> {
    const db = await database();
    const pool = db.pool(10);
    await pool.query('CREATE TABLE log (line text)');
    const events: SamekeyEvent[] = [];
    const samekey = createSamekey({
      store: await db.store(),
      transactions: fromPg<PoolClient>(pool),
      onEvent: (event) => events.push(event),
    });
    return {
      samekey,
      events,
      rows: async () =>
        (await pool.query('SELECT line FROM log ORDER BY line')).rows.map(({ line }) => String(line)),
    };
  }

  const request = { scope: ['t1'], key: 'k-1', input: { amount: 5 } };

  it('a checkpoint after a phase is made upon the phase’s own, and not refused at first', async () => {
    const { samekey, events } = await setUp();
    const pay = samekey.phased({
      name: 'pay',
      async run(_input: unknown, attempt) {
        await attempt.phase('book', log('booked'));
        await attempt.effect('charge', async () => 'ch_1', { rule: 'reconcile' });
        return reply(201, {});
      },
    });
    expect((await pay.run(request)).kind).toBe('executed');
    const checkpoints = events.filter((event) => event.type === 'store-call' && event.verb === 'checkpoint');
    expect(checkpoints.length).toBe(2);
  });

  it('runs its steps once each and replays its answer', async () => {
    const { samekey, rows } = await setUp();
    const bank = provider();
    const pay = samekey.phased({
      name: 'pay',
      run: async ({ amount }: { amount: number }, attempt) => {
        const { line } = await attempt.phase('note', log('noted'));
        const charge = await attempt.effect(
          'charge',
          ({ downstreamKey, mayHaveRunBefore }) => bank.charge(downstreamKey, amount, mayHaveRunBefore),
          { rule: 'downstreamKey', retentionMs: DAY_MS, input: { amount } },
        );
        await attempt.phase('book', log('booked'));
        return reply(201, { line, charge: charge.id });
      },
    });
    const first = await pay.run(request);
    expect(first).toMatchObject({ kind: 'executed', state: 'completed', value: { line: 'noted' } });
    expect(await pay.run(request)).toMatchObject({ kind: 'replay' });
    expect(await rows()).toEqual(['booked', 'noted']);
    expect(bank.calls).toHaveLength(1);
  });

  // F20: the provider accepted, the reply was lost.
  it('an effect whose reply was lost is repeated with the same key by the next attempt', async () => {
    const { samekey, rows } = await setUp();
    const bank = provider();
    bank.lose(1);
    const pay = samekey.phased({
      name: 'pay',
      run: async ({ amount }: { amount: number }, attempt) => {
        await attempt.phase('note', log(`noted ${attempt.number}`));
        await attempt.effect(
          'charge',
          ({ downstreamKey, mayHaveRunBefore }) => bank.charge(downstreamKey, amount, mayHaveRunBefore),
          { rule: 'downstreamKey', retentionMs: DAY_MS, input: { amount } },
        );
        return 'paid';
      },
    });
    expect(await pay.run(request)).toMatchObject({ kind: 'in-progress' });
    expect(await pay.run(request)).toMatchObject({ kind: 'executed', value: 'paid', attempt: 2 });
    expect(await rows()).toEqual(['noted 1']);
    expect(bank.calls.map(({ before }) => before)).toEqual([false, true]);
    expect(bank.charges.size).toBe(1);
  });

  it('a worker pushes what a client has left to its end', async () => {
    const { samekey } = await setUp();
    const bank = provider();
    bank.lose(1);
    const pay = samekey.phased({
      name: 'pay',
      run: async ({ amount }: { amount: number }, attempt) => {
        await attempt.effect('charge', ({ downstreamKey }) => bank.charge(downstreamKey, amount, false), {
          rule: 'downstreamKey',
          retentionMs: DAY_MS,
        });
        return { amount };
      },
    });
    expect(await pay.run(request)).toMatchObject({ kind: 'in-progress' });
    const pushed = await pushDue(internalsOf(samekey), 10);
    expect(pushed.map(({ outcome }) => outcome.kind)).toEqual(['executed']);
    expect(await pay.run(request)).toMatchObject({ kind: 'replay', value: { amount: 5 } });
    expect(await pushDue(internalsOf(samekey), 10)).toEqual([]);
  });

  it.each([
    [
      'a reconcile effect whose reply was lost',
      'effect-unknown',
      (attempt: number) => attempt,
      { rule: 'reconcile' },
    ],
  ] as const)('%s makes the record unknown', async (_, reason, _amount, rule) => {
    const { samekey, events } = await setUp();
    const bank = provider();
    bank.lose(1);
    const pay = samekey.phased({
      name: 'pay',
      run: async ({ amount }: { amount: number }, attempt) => {
        await attempt.effect(
          'charge',
          ({ downstreamKey }) => bank.charge(downstreamKey, amount, false),
          rule,
        );
        return 'paid';
      },
    });
    expect(await pay.run(request)).toMatchObject({ kind: 'unknown' });
    expect(await pay.run(request)).toMatchObject({ kind: 'unknown' });
    expect(events).toContainEqual(expect.objectContaining({ type: 'finished', to: 'unknown', reason }));
    expect(bank.calls).toHaveLength(1);
  });

  // F21: the provider forgets keys before the repeat comes.
  it('a repeat past the provider’s retention is refused', async () => {
    const { samekey, events } = await setUp();
    const bank = provider();
    bank.lose(1);
    const pay = samekey.phased({
      name: 'pay',
      run: async (_input: unknown, attempt) => {
        await attempt.effect('charge', ({ downstreamKey }) => bank.charge(downstreamKey, 1, false), {
          rule: 'downstreamKey',
          retentionMs: 1,
        });
        return 'paid';
      },
    });
    expect(await pay.run(request)).toMatchObject({ kind: 'in-progress' });
    expect(await pay.run(request)).toMatchObject({ kind: 'unknown' });
    expect(events).toContainEqual(expect.objectContaining({ reason: 'effect-retention-passed' }));
    expect(bank.calls).toHaveLength(1);
  });

  it('another input under an open intent, and steps that no longer fit, make the record unknown', async () => {
    for (const [change, reason] of [
      [(n: number) => ({ name: 'charge', input: n }), 'effect-input-changed'],
      [(n: number) => ({ name: `charge-${n}`, input: 1 }), 'phases-changed'],
    ] as const) {
      const { samekey, events } = await setUp();
      const bank = provider();
      bank.lose(1);
      const pay = samekey.phased({
        name: 'pay',
        run: async (_input: unknown, attempt) => {
          const { name, input } = change(attempt.number);
          await attempt.effect(name, ({ downstreamKey }) => bank.charge(downstreamKey, 1, false), {
            rule: 'downstreamKey',
            retentionMs: DAY_MS,
            input,
          });
          return 'paid';
        },
      });
      expect(await pay.run(request)).toMatchObject({ kind: 'in-progress' });
      expect(await pay.run(request)).toMatchObject({ kind: 'unknown' });
      expect(events).toContainEqual(expect.objectContaining({ type: 'finished', to: 'unknown', reason }));
    }
  });

  it('inquire settles an open intent: found is the result, not found calls again', async () => {
    const { samekey } = await setUp();
    for (const found of [true, false]) {
      const bank = provider();
      bank.lose(1);
      const pay = samekey.phased({
        name: `pay-${String(found)}`,
        // "Not found" counts when the intent is older than claim and call together.
        claimTtlMs: 400,
        run: async (_input: unknown, attempt) => {
          const { id } = await attempt.effect(
            'charge',
            ({ downstreamKey }) => bank.charge(downstreamKey, 1, false),
            {
              rule: 'inquire',
              callTimeMaxMs: 50,
              inquire: async ({ downstreamKey }) =>
                found && bank.charges.has(downstreamKey) ? { result: { id: 'found' } } : null,
            },
          );
          return id;
        },
      });
      expect(await pay.run(request)).toMatchObject({ kind: 'in-progress' });
      const second = await pay.run(request);
      expect(second.kind === 'executed' && second.value === 'found').toBe(found);
      expect(bank.calls).toHaveLength(found ? 1 : 2);
    }
  });

  it('a refused connection is proven without effect: the intent goes and the handler decides', async () => {
    const { samekey } = await setUp();
    const port = await freePort();
    const pay = samekey.phased({
      name: 'pay',
      run: async (_input: unknown, attempt) => {
        try {
          await attempt.effect('charge', () => fetch(`http://127.0.0.1:${port}/charge`, { method: 'POST' }), {
            rule: 'reconcile',
          });
        } catch {
          return reply(402, { code: 'provider-down' });
        }
        return 'paid';
      },
    });
    expect(await pay.run(request)).toMatchObject({ kind: 'executed', state: 'failed' });
  });

  it('misuse is told, and nothing is half-committed', async () => {
    const { samekey, rows } = await setUp();
    type Run = (
      attempt: Attempt & Parameters<Parameters<typeof samekey.phased>[0]['run']>[1],
    ) => Promise<unknown>;
    const cases: readonly [RegExp, Run][] = [
      [/used twice/, async (a) => [await a.phase('one', log('1')), await a.phase('one', log('2'))]],
      [/holds a bigint/, (a) => a.phase('big', async (tx) => (await log('x')(tx), 1n))],
      [/64|65536/, (a) => a.phase('large', async (tx) => (await log('x')(tx), 'x'.repeat(70_000)))],
      [
        /inside the phase/,
        (a) =>
          a.phase('outer', async (tx) => {
            await log('x')(tx);
            return a.effect('inner', async () => 1, { rule: 'reconcile' });
          }),
      ],
      [/under way/, async (a) => Promise.all([a.phase('p', log('p')), a.phase('q', log('q'))])],
    ];
    for (const [i, [message, run]] of cases.entries()) {
      const op = samekey.phased({ name: `misuse-${i}`, run: (_: unknown, attempt) => run(attempt) });
      await expect(op.run({ ...request, key: `m-${i}` })).rejects.toThrow(message);
    }
    expect((await rows()).filter((line) => line === 'x')).toEqual([]);
  });
});
