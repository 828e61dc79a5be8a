/**
 * The reply to one statement gets lost on the way from PostgreSQL, after the server has applied and committed it: the connection closes,
 * or stays open and is dead. Whoever asked cannot know; the handler runs once all the same, and there is one answer.
 */

import { Client, Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimed, claimRequest, finishRequest, recordOf } from '../../../testing/src/contract/context.ts';
import { placeOn, postgresBackendOn, STATEMENTS } from '../processes/backends/postgres.ts';
import { type FaultProxy, startFaultProxy } from '../services/fault-proxy.ts';
import { postgresWire } from '../services/pg-wire.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { LEAVES, lostReplies } from './lost-replies.ts';

const source = anyPostgres();

describe.runIf(source !== undefined)('a reply of PostgreSQL that gets lost', () => {
  let server: PostgresServer;
  let proxy: FaultProxy;
  beforeAll(async () => {
    if (source === undefined) return;
    server = await startPostgres(source);
    proxy = await startFaultProxy(server.url(), postgresWire);
  });
  afterAll(async () => {
    await proxy.close();
    await server.stop();
  });

  lostReplies({
    proxy: () => proxy,
    open: async () => ({
      place: placeOn(await server.createDatabase(), proxy),
      backend: await postgresBackendOn(server, false),
    }),
    statements: STATEMENTS,
    kinds: ['claim', 'finish', 'renew', 'find'],
    cutBefore: ['claim', 'finish'],
  });

  // F15: found by `kills`, seed 10207. Another call shares the connection; what happens to it happens to the claims' second
  // statement. A claim with an input has a statement of its own.
  it('to a part of a flush leaves the whole of it unclear: the claim that it granted is not taken for none', async () => {
    const url = await server.createDatabase();
    const through = placeOn(url, proxy).address['url'];
    const store = postgresStore({
      service: 'test',
      connect: () => new Client({ connectionString: String(through) }),
    });
    await store.migrate();
    try {
      const owner = await claimed(store, { key: 'known' });
      const fresh = claimRequest({ key: 'fresh' });
      const fault = proxy.arm({ statement: /^samekey_claim_input_/, what: 'cut-before' });
      // The server is gone from then on: a connection cannot be made, which proves that nothing was applied of what waits for it.
      void fault.happened.then(() => proxy.leadTo('postgres://127.0.0.1:1'));
      const claiming = store
        .claim([fresh, claimRequest({ key: owner.key })])
        .catch((error: unknown) => error);
      const other = claimRequest({ key: 'other', input: new Uint8Array([1]) });
      await expect(store.claim([other])).rejects.toMatchObject({ applied: 'unknown' });
      expect(await claiming).toMatchObject({ applied: 'unknown', transient: true });
      proxy.leadTo(server.url());
      await expect.poll(async () => (await store.claim([fresh]).catch(() => []))[0]?.kind).toBe('claimed');
    } finally {
      proxy.leadTo(server.url());
      await store.close();
    }
  });

  describe('to the COMMIT of a transaction that finishes a key with its business row', () => {
    let url = '';
    beforeAll(async () => {
      url = await server.createDatabase();
      const setup = new Client({ connectionString: url });
      await setup.connect();
      await setup.query('CREATE TABLE orders (id text PRIMARY KEY)');
      await setup.end();
    });

    // F15, F44
    it.each(LEAVES)('leaves it unclear, and a repeated finish tells that it stands (%s)', async (leaves) => {
      const through = new URL(url);
      through.port = new URL(proxy.url).port;
      const pool = new Pool({ connectionString: through.href, query_timeout: 500 });
      const store = postgresStore({ service: 'test', pool });
      await store.migrate();
      try {
        const owner = await claimed(store, { key: `commit-${leaves}` });
        const finish = finishRequest(owner, 'completed');
        const user = await pool.connect();
        user.on('error', () => undefined);
        await user.query('BEGIN');
        await user.query('INSERT INTO orders VALUES ($1)', [owner.key]);
        expect((await store.within(user).finish(finish)).kind).toBe('applied');
        const fault = proxy.arm({ statement: STATEMENTS.commit, what: 'lose-reply', leaves });
        await expect(user.query('COMMIT')).rejects.toThrow(/terminated|timeout/);
        user.release(true);
        await fault.happened;

        const [again] = await store.finish([finish]);
        expect(again?.kind).toBe('already');
        expect((await recordOf(store, owner)).state).toBe('completed');
        const { rows } = await pool.query('SELECT id FROM orders WHERE id = $1', [owner.key]);
        expect(rows).toHaveLength(1);
      } finally {
        await store.close();
        await pool.end();
      }
    });

    it('and one that never reached the server leaves neither row nor answer, and the finish can be made', async () => {
      const through = new URL(url);
      through.port = new URL(proxy.url).port;
      const pool = new Pool({ connectionString: through.href });
      const store = postgresStore({ service: 'test', pool });
      await store.migrate();
      try {
        const owner = await claimed(store, { key: 'commit-cut' });
        const finish = finishRequest(owner, 'completed');
        const user = await pool.connect();
        user.on('error', () => undefined);
        await user.query('BEGIN');
        await user.query('INSERT INTO orders VALUES ($1)', [owner.key]);
        await store.within(user).finish(finish);
        const fault = proxy.arm({ statement: STATEMENTS.commit, what: 'cut-before' });
        await expect(user.query('COMMIT')).rejects.toThrow(/terminated/);
        user.release(true);
        await fault.happened;
        // The server hears of the end of the session and rolls back; until then the row is locked.
        await expect
          .poll(async () => (await store.finish([{ ...finish, to: 'retryable', response: null }]))[0]?.kind)
          .toBe('applied');
        const { rows } = await pool.query("SELECT id FROM orders WHERE id = 'commit-cut'");
        expect(rows).toEqual([]);
      } finally {
        await store.close();
        await pool.end();
      }
    });
  });
});
