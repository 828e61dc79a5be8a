/** Rows of a batch request: each has a key, a record and a run of its own. Over a server that listens. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { type RowAnswer, type RowCall, type RowsOptions, serveRows } from '../../src/adapters/rows/index.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import { createSamekey, reply } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { gate } from '../../../testing/src/adapter/kit.ts';

interface Payment {
  readonly id?: string | null;
  readonly cents: number;
}

type Native = RowCall<express.Request, Payment>;
type Told = Omit<RowAnswer, 'error'>;

/** What runs of an operation and how, until it is let go on. */
async function bank(
  options: Partial<RowsOptions<express.Request, Payment, Payment>> = {},
  run: (payment: Payment) => unknown = ({ cents }) => reply(201, { paid: cents }),
) {
  const store = memoryStore();
  const samekey = createSamekey({ store });
  const began: number[] = [];
  let underWay = 0;
  let mostUnderWay = 0;
  const pay = samekey.plain({
    name: 'pay',
    policy: 'payments',
    async run(payment: Payment) {
      began.push(payment.cents);
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      try {
        return (await run(payment)) as object;
      } finally {
        underWay -= 1;
      }
    },
  });
  const payAll = serveRows(pay, {
    scope: ({ request }: Native) => request.get('x-user') ?? null,
    keyIn: ({ row }: Native) => row.id,
    ...options,
  });
  const app = express();
  app.post('/payments/batch', express.json(), async (req, res) => {
    const told = await payAll(req, (req.body as { payments: Payment[] }).payments);
    if (told.status !== 207) res.status(told.status).json(told);
    else
      res
        .status(207)
        .json(
          told.rows.map(({ error, ...row }) => ({ ...row, ...(error === undefined ? {} : { threw: true }) })),
        );
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    began,
    store,
    get mostUnderWay() {
      return mostUnderWay;
    },
    async post(
      payments: unknown,
      user = 'ann',
    ): Promise<{ status: number; rows: (Told & { threw?: boolean })[] }> {
      const headers = { 'content-type': 'application/json', ...(user === '' ? {} : { 'x-user': user }) };
      const body = JSON.stringify({ payments });
      const answer = await fetch(`http://127.0.0.1:${port}/payments/batch`, {
        method: 'POST',
        headers,
        body,
      });
      return { status: answer.status, rows: (await answer.json()) as Told[] };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await samekey.close();
    },
  };
}

const THREE: readonly Payment[] = [
  { id: 'a', cents: 1 },
  { id: 'b', cents: 2 },
  { id: 'c', cents: 3 },
];

function brief(rows: readonly Told[]): unknown[] {
  return rows.map(({ key, status, value, refusal, isReplay }) => [
    key,
    status,
    refusal === null ? value : refusal.code,
    isReplay,
  ]);
}

describe('rows of a batch', () => {
  it('run once each, and a batch that is sent again is told the same', async () => {
    await using t = await bank();
    const first = await t.post(THREE);
    expect([first.status, brief(first.rows)]).toEqual([
      207,
      [
        ['a', 201, { paid: 1 }, false],
        ['b', 201, { paid: 2 }, false],
        ['c', 201, { paid: 3 }, false],
      ],
    ]);
    // Sent again with one more, in another order.
    const again = await t.post([{ id: 'd', cents: 4 }, ...THREE.toReversed()]);
    expect(brief(again.rows)).toEqual([
      ['d', 201, { paid: 4 }, false],
      ['c', 201, { paid: 3 }, true],
      ['b', 201, { paid: 2 }, true],
      ['a', 201, { paid: 1 }, true],
    ]);
    expect(t.began).toEqual([1, 2, 3, 4]);
    expect((await t.store.list({})).length).toBe(4);
  });

  it('fail alone: without a key, with another row under their key, or with an error of their own', async () => {
    await using t = await bank({}, ({ cents }) => {
      if (cents === 13) throw new Error('away');
      if (cents === 14) throw new NotExecutedError('no money');
      return { paid: cents };
    });
    await t.post([{ id: 'a', cents: 1 }]);
    const { rows } = await t.post([
      { cents: 2 },
      { id: null, cents: 3 },
      { id: '', cents: 3 },
      { id: 'a', cents: 4 },
      { id: 'e', cents: 13 },
      { id: 'n', cents: 14 },
      { id: 'f', cents: 6 },
    ]);
    expect(brief(rows)).toEqual([
      [null, 400, 'key-missing', false],
      [null, 400, 'key-missing', false],
      ['', 400, 'key-missing', false],
      ['a', 422, 'key-reused', false],
      ['e', 500, undefined, false],
      ['n', 500, undefined, false],
      ['f', 200, { paid: 6 }, false],
    ]);
    expect(rows.map(({ threw = false }) => threw)).toEqual([false, false, false, false, true, true, false]);
    // What is not known stays so; what was not executed runs again.
    const again = await t.post([
      { id: 'e', cents: 13 },
      { id: 'n', cents: 14 },
    ]);
    expect(brief(again.rows).map((row) => (row as unknown[])[2])).toEqual(['outcome-unknown', undefined]);
    expect(t.began).toEqual([1, 13, 14, 6, 14]);
  });

  it('with one key follow each other: the second is told the same, or refused', async () => {
    await using t = await bank();
    const { rows } = await t.post([
      { id: 'a', cents: 1 },
      { id: 'a', cents: 1 },
      { id: 'a', cents: 2 },
      { id: 'a', cents: 1 },
    ]);
    expect(brief(rows)).toEqual([
      ['a', 201, { paid: 1 }, false],
      ['a', 201, { paid: 1 }, true],
      ['a', 422, 'key-reused', false],
      ['a', 201, { paid: 1 }, true],
    ]);
    expect(t.began).toEqual([1]);
  });

  it('begin in their order, at most so many at once', async () => {
    const held = gate();
    await using t = await bank({ atOnceMax: 2 }, async ({ cents }) => {
      await held.opened;
      return { paid: cents };
    });
    const many = Array.from({ length: 9 }, (_, i) => ({ id: `k${i}`, cents: i }));
    const told = t.post(many);
    await expect.poll(() => t.began.length).toBe(2);
    held.open();
    expect((await told).rows.map(({ value }) => value)).toEqual(many.map(({ cents }) => ({ paid: cents })));
    expect([t.began, t.mostUnderWay]).toEqual([many.map(({ cents }) => cents), 2]);
  });

  it('that come in two requests at once run once', async () => {
    const held = gate();
    await using t = await bank({}, async ({ cents }) => {
      await held.opened;
      return { paid: cents };
    });
    const [one, two] = [t.post(THREE), t.post(THREE)];
    await expect.poll(() => t.began.length).toBe(3);
    held.open();
    const ends = [...(await one).rows, ...(await two).rows];
    expect(t.began.length).toBe(3);
    expect(ends.filter(({ value, isReplay }) => value !== undefined && !isReplay).length).toBe(3);
    expect(brief((await t.post(THREE)).rows).map((row) => (row as unknown[])[3])).toEqual([true, true, true]);
  });

  it('are of their caller: another one has records of its own, and nobody has none', async () => {
    await using t = await bank();
    await t.post(THREE.slice(0, 1));
    expect(brief((await t.post(THREE.slice(0, 1), 'ben')).rows)).toEqual([['a', 201, { paid: 1 }, false]]);
    expect(brief((await t.post(THREE.slice(0, 1), '')).rows)).toEqual([['a', 403, 'anonymous', false]]);
    expect(t.began).toEqual([1, 1]);
  });

  it('are refused whole where they are no list, or too many', async () => {
    await using t = await bank({ rowsMax: 2 });
    for (const [rows, status] of [
      [THREE, 413],
      [{ id: 'a' }, 400],
      [null, 400],
    ] as const)
      expect((await t.post(rows)).status).toBe(status);
    expect((await t.post([])).rows).toEqual([]);
    expect(t.began).toEqual([]);
  });

  it('whose key cannot be found fail alone, and without a way to find keys nothing starts', async () => {
    await using t = await bank({
      keyIn: ({ row }) => {
        if (row.cents === 2) throw new Error('no key');
        return row.cents === 3 ? (3 as unknown as string) : row.id;
      },
    });
    const { rows } = await t.post(THREE);
    expect(rows.map(({ status }) => status)).toEqual([201, 500, 500]);
    expect(() =>
      serveRows(
        createSamekey({ store: memoryStore() }).plain({ name: 'x', policy: 'payments', run: () => 1 }),
        { scope: () => 'a' } as never,
      ),
    ).toThrow(/keyIn/);
  });
});
