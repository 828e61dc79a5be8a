/**
 * Lists at the console, on SQLite and PostgreSQL: every record once, page by page, whatever the filter; hostile keys
 * and bodies.
 */

import type { Store } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kinds, type Opened, open, request } from '../../cli/test/operating.ts';
import { SECRET, type Served, serveConsole } from './serving.ts';

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'; DROP TABLE samekey_records; --",
  '{{constructor.constructor("alert(1)")()}}',
  '%00%2e%2e/..//',
  '#token=x?scope=y&key=z',
];

for (const kind of kinds()) {
  describe(`lists at the console: ${kind.name}`, () => {
    let app: Opened;
    let store: Store;
    let served: Served;
    const keys = Array.from({ length: 137 }, (_, i) => `list-${i}`);

    beforeAll(async () => {
      await kind.start();
      app = await open(await kind.fresh());
      store = app.samekey.store;
      served = await serveConsole({ store, token: { secret: SECRET, actor: 'alice', rights: [] } });
      // At once: many of one millisecond.
      await Promise.all(
        keys.map((key, i) =>
          request(app, key, i % 10 === 0 ? 500 : i % 10 === 1 ? 409 : 201, {
            scope: ['acme', i % 2 === 0 ? 'even' : 'odd'],
            operation: i % 7 === 0 ? 'POST /rare' : 'POST /payments',
          }),
        ),
      );
    });
    afterAll(async () => {
      await served.close();
      await app.close();
      await kind.stop();
    });

    /** All keys of a search, page by page. */
    async function found(filter: object): Promise<string[]> {
      const all: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { status, body } = await served.ask('records', {
          ...filter,
          ...(cursor === '' ? {} : { cursor }),
        });
        expect(status).toBe(200);
        all.push(...body.rows.map((row: { key: string }) => row.key));
        cursor = body.cursor;
      }
      return all;
    }
    const those = (fits: (i: number) => boolean) => keys.filter((_, i) => fits(i)).toSorted();

    it.each([7, 50, 200])('gives every record once, in pages of %i', async (limit) => {
      const all = await found({ limit });
      expect(all).toHaveLength(keys.length);
      expect(all.toSorted()).toEqual(keys.toSorted());
    });

    it('finds what is asked for, with an index or without one', async () => {
      expect((await found({ states: ['unknown'], limit: 5 })).toSorted()).toEqual(those((i) => i % 10 === 0));
      expect((await found({ states: ['failed'], limit: 5 })).toSorted()).toEqual(those((i) => i % 10 === 1));
      expect((await found({ operation: 'POST /rare', limit: 3 })).toSorted()).toEqual(
        those((i) => i % 7 === 0),
      );
      expect((await found({ caller: 'acme/odd', limit: 9 })).toSorted()).toEqual(those((i) => i % 2 === 1));
      expect(await found({ caller: 'acme/even', key: 'list-8' })).toEqual(['list-8']);
      expect(await found({ caller: 'acme/odd', key: 'list-8' })).toEqual([]);
      expect(await found({ key: 'list-8' })).toEqual(['list-8']);
    });

    it('finds a record by the hash that logs have of its key', async () => {
      const [row] = (await served.ask('records', { key: 'list-8' })).body.rows;
      expect(await found({ key: `#${row.keyHash}` })).toEqual(['list-8']);
    });

    it('reads of an index-less search no more than its bound at once, and says how far it came', async () => {
      const calls: number[] = [];
      const endless: Store = Object.create(store, {
        list: {
          value: async ({ limit = 100, createdBefore = 1_000_000 }) => {
            calls.push(limit);
            const [one] = await store.list({ limit: 1 });
            return Array.from({ length: limit }, (_, i) => ({
              ...one,
              key: `k-${createdBefore - 1 - i}`,
              createdAt: createdBefore - 1 - i,
            }));
          },
        },
      });
      const looking = await serveConsole({ store: endless, token: { secret: SECRET, actor: 'a' } });
      const { body } = await looking.ask('records', { operation: 'nowhere' });
      expect(body).toMatchObject({ rows: [], cursor: expect.any(String) });
      expect(body.looked).toBeGreaterThanOrEqual(4_900);
      // Each record whole, with what it holds: a hundred, and the one that ended the page before.
      expect(Math.max(...calls)).toBeLessThanOrEqual(101);
      expect(calls.length).toBeLessThanOrEqual(51);
      calls.length = 0;
      expect((await looking.ask('overview')).body.looked).toBe(1_000);
      expect(Math.max(...calls)).toBeLessThanOrEqual(101);
      await looking.close();
    });

    it('says what it passes over where more are of one millisecond than can be told apart', async () => {
      const [one] = await store.list({ limit: 1 });
      const recordsOf = (many: number, at: number) =>
        Array.from({ length: many }, (_, i) => ({ ...one, key: `${at}-${i}`, createdAt: at }));
      const all = [...recordsOf(1_500, 2_000), ...recordsOf(30, 1_000)];
      const crowded: Store = Object.create(store, {
        list: {
          value: async ({ limit = 100, createdBefore = 1_000_000 }) =>
            all.filter(({ createdAt }) => createdAt < createdBefore).slice(0, limit),
        },
      });
      const looking = await serveConsole({ store: crowded, token: { secret: SECRET, actor: 'a' } });
      const keysOf = new Set<string>();
      const passed: number[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await looking.ask('records', { limit: 200, ...(cursor === '' ? {} : { cursor }) });
        for (const { key } of body.rows) keysOf.add(key);
        if (body.passedOver !== null) passed.push(body.passedOver);
        cursor = body.cursor;
      }
      expect([keysOf.size, passed]).toEqual([1_030, [2_000]]);
      const cursor = `2000.${Array.from({ length: 1_001 }, () => 'a'.repeat(16)).join('.')}`;
      expect((await looking.ask('records', { cursor })).status).toBe(400);
      await looking.close();
    });

    it('tells what needs somebody first, with counts and when they were made', async () => {
      await served.ask('overview');
      await expect
        .poll(async () => (await served.ask('overview')).body.counts, { timeout: 10_000 })
        .not.toBeNull();
      const { body } = await served.ask('overview');
      expect(body.unknown.length).toBe(those((i) => i % 10 === 0).length);
      expect(body.counts.byState.unknown).toBe(body.unknown.length);
      expect(body.operations[0]).toMatchObject({ operation: 'POST /payments' });
    });

    it.each(HOSTILE)('carries the key %s as it is, and finds its record', async (key) => {
      await request(app, key, 500, { scope: ['hostile'], operation: 'POST /<b>x</b>' });
      const [row] = (await served.ask('records', { caller: 'hostile', key })).body.rows;
      const whole = await served.ask('record', { scope: row.scope, key });
      expect(whole.body.row).toMatchObject({ key, state: 'unknown' });
    });

    it('takes a filter for text and for nothing else', async () => {
      for (const filter of [
        { key: { $gt: '' } },
        { caller: ['x'] },
        { states: ["unknown') OR ('1'='1"] },
        { operation: 7 },
      ])
        expect((await served.ask('records', filter)).status).toBe(400);
      expect(await found({ operation: "x' OR '1'='1" })).toEqual([]);
    });

    it('has an outline of a megabyte and no more of it', async () => {
      const big = 'x'.repeat(1024 * 1024);
      await app.samekey.run(
        { scope: ['big'], key: 'big', operation: 'POST /big', fingerprint: 'x' },
        async () => (await import('samekey')).reply(201, { big }),
      );
      const whole = await served.ask('record', { scope: 'big|POST /big', key: 'big' });
      expect(whole.status).toBe(200);
      expect(JSON.stringify(whole.body).length).toBeLessThan(10_000);
    });
  });
}
