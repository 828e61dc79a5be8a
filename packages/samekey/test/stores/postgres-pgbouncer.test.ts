/**
 * Through PgBouncer in transaction mode each statement may meet another session: the store notices it by itself, prepares nothing
 * by name, sets nothing in sessions that others use, and holds the contract.
 */

import { Client, Pool } from 'pg';
import postgres, { type TransactionSql } from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSamekey } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { ANSWER, claimed, finished, finishRequest, recordOf } from '../../../testing/src/contract/context.ts';
import { storeContract } from '../../../testing/src/store-contract.ts';
import {
  type PgBouncer,
  pgBouncerProgram,
  SERVER_CONNECTIONS,
  startPgBouncer,
} from '../services/pgbouncer.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { fromPostgresJs } from '../../src/tx/postgres-js/index.ts';
import { partOf } from './slice.ts';
import { CLIENTS, postgresHarness } from './postgres-clients.ts';

const source = anyPostgres();
const program = pgBouncerProgram();

describe.runIf(source !== undefined && program !== undefined)('through PgBouncer', () => {
  let server: PostgresServer;
  let bouncer: PgBouncer;
  let url = '';
  beforeAll(async () => {
    if (source === undefined || program === undefined) return;
    server = await startPostgres(source);
    url = await server.createDatabase();
    bouncer = await startPgBouncer(program, url);
  });
  afterAll(async () => {
    await bouncer.stop();
    await server.stop();
  });

  for (const client of CLIENTS) {
    storeContract(
      partOf(`PgBouncer, ${client.name}`, false),
      postgresHarness('PostgreSQL behind PgBouncer', () => bouncer.url, client),
    );
  }

  for (const client of CLIENTS) {
    it(`leaves no setting and no statement behind in sessions that others use (${client.name})`, async () => {
      const stores = Array.from({ length: 8 }, () => postgresStore(client.options(bouncer.url)));
      await Promise.all(stores.map((store) => store.migrate()));
      await Promise.all(
        stores.flatMap((store, s) =>
          Array.from({ length: 20 }, async (_, i) => {
            await finished(store, 'completed', { key: `${client.name}-${s}-${i}` });
            await claimed(store, { key: `${client.name}-${s}-${i}-open` });
          }),
        ),
      );
      const users = client.users(bouncer.url);
      await users.end();
      const admin = new Client({ connectionString: bouncer.url });
      await admin.connect();
      for (let i = 0; i < 10; i += 1) {
        const { rows } = await admin.query(
          `SELECT current_setting('enable_seqscan') AS plans, current_setting('application_name') AS name,
             (SELECT count(*)::int FROM pg_prepared_statements
                WHERE statement LIKE '%samekey_%') AS prepared`,
        );
        expect(rows[0]).toEqual({
          plans: 'on',
          name: expect.not.stringMatching('samekey') as unknown,
          prepared: 0,
        });
      }
      await admin.end();
      await Promise.all(stores.map((store) => store.close()));
    });
  }

  // What a client sets for itself stays in the session that the next one gets: nothing resets it in transaction mode.
  for (const client of CLIENTS) {
    it(`goes by nothing that others have set in the sessions it meets (${client.name})`, async () => {
      const store = postgresStore(client.options(bouncer.url));
      await store.migrate();
      await store.ready();
      const leaks = [
        "bytea_output = 'escape'",
        'synchronous_commit = off',
        "search_path = 'nowhere'",
        "TimeZone = 'Pacific/Kiritimati'",
        "DateStyle = 'German, DMY'",
        "default_transaction_isolation = 'serializable'",
        'extra_float_digits = -10',
        "lock_timeout = '1ms'",
      ];
      await inEachSession(leaks.map((setting) => `SET ${setting}`));
      try {
        const owners = await Promise.all(
          Array.from({ length: 50 }, (_, i) =>
            finished(store, 'completed', { key: `${client.name}-leak-${i}` }),
          ),
        );
        for (const record of await store.find(owners)) {
          expect(record?.response).toEqual(ANSWER);
          expect(Math.abs((record?.createdAt ?? 0) - Date.now())).toBeLessThan(60_000);
        }
        const users = client.users(bouncer.url);
        const owner = await claimed(store, { key: `${client.name}-leak-within` });
        await users.transaction(store, async (within) => {
          expect((await within.finish(finishRequest(owner, 'completed'))).kind).toBe('applied');
        });
        await users.end();
        expect((await recordOf(store, owner)).response).toEqual(ANSWER);
      } finally {
        await inEachSession(['RESET ALL']);
        await store.close();
      }
    });
  }

  it('with statements prepared by name it says what to change, and nothing was done', async () => {
    const pool = new Pool({ connectionString: bouncer.url, max: 1 });
    const store = postgresStore({ service: 'test', pool, prepare: true });
    await store.migrate();
    const owner = await claimed(store, { key: 'prepared' });
    // Somebody takes the session that the statements were prepared in.
    const others = await heldSessions(SERVER_CONNECTIONS - 1);
    try {
      const wrong = await Promise.all(
        Array.from({ length: 20 }, () =>
          store.find([owner]).then(
            () => undefined,
            (error: unknown) => error,
          ),
        ),
      );
      for (const error of wrong.filter((one) => one !== undefined)) {
        expect((error as Error).message).toContain('pass prepare: false');
        expect(error).toMatchObject({ applied: 'no' });
      }
      expect((await recordOf(postgresOf(bouncer.url), owner)).state).toBe('in_progress');
    } finally {
      await Promise.all(others.map((end) => end()));
      await store.close();
      await pool.end();
    }
  });

  // postgres.js prepares its COMMIT by name. Where the name is not known that fails, it asks again, and takes ROLLBACK for an answer.
  it.each([
    { prepare: true, ends: 'noticed, and the handler runs again', runsThen: 2 },
    { prepare: false, ends: 'a COMMIT', runsThen: 1 },
  ])(
    'a COMMIT of postgres.js that meets another session is $ends (prepare: $prepare)',
    async ({ prepare, runsThen }) => {
      const sql = postgres(bouncer.url, { max: 1, fetch_types: false, prepare, onnotice: () => undefined });
      const table = `paid_${String(prepare)}`;
      await sql.unsafe(`CREATE TABLE ${table} (key text)`);
      const store = postgresOf(bouncer.url);
      await store.migrate();
      const samekey = createSamekey({ store, transactions: fromPostgresJs<TransactionSql>(sql) });
      let runs = 0;
      const pay = samekey.transactional({
        name: `pay-${String(prepare)}`,
        run: async (key: string, { tx }) => {
          runs += 1;
          await tx.unsafe(`INSERT INTO ${table} VALUES ($1)`, [key]);
          return { key };
        },
      });
      const paid = async (): Promise<unknown> =>
        (await sql.unsafe(`SELECT key FROM ${table} ORDER BY key`).values()).flat();
      const first = await pay.run({ scope: ['shop'], key: 'first-payment', input: 'first' });
      expect(first.kind).toBe('executed');
      const others = await heldSessions(1);
      try {
        runs = 0;
        const second = await pay.run({ scope: ['shop'], key: 'second-payment', input: 'second' });
        expect(second).toMatchObject({ kind: 'executed', state: 'completed' });
        expect(runs).toBe(runsThen);
        expect(await paid()).toEqual(['first', 'second']);
      } finally {
        await Promise.all(others.map((end) => end()));
        await sql.end();
      }
    },
  );

  it('in statement mode no transaction can be held together, and the store is not ready', async () => {
    const one = await startPgBouncer(program ?? '', url, { poolMode: 'statement' });
    for (const client of CLIENTS) {
      const store = postgresStore(client.options(one.url));
      await expect(store.ready()).rejects.toThrow('pool_mode = transaction');
      await store.close();
    }
    await one.stop();
  });

  const opened: { close(): Promise<void> }[] = [];
  afterAll(() => Promise.all(opened.map((store) => store.close())));

  function postgresOf(where: string): ReturnType<typeof postgresStore> {
    const pool = new Pool({ connectionString: where, max: 1 });
    const store = postgresStore({ service: 'test', pool });
    opened.push({
      async close() {
        await store.close();
        await pool.end();
      },
    });
    return store;
  }

  /** Transactions of somebody's, each in a server session of its own; what it returns ends them. */
  async function heldSessions(count: number): Promise<readonly (() => Promise<void>)[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const client = new Client({ connectionString: bouncer.url });
        await client.connect();
        await client.query('BEGIN');
        return async () => {
          await client.query('ROLLBACK');
          await client.end();
        };
      }),
    );
  }

  /** Runs statements in each session that the pooler has, all held at once; sessions keep what is set, as they commit. */
  async function inEachSession(statements: readonly string[]): Promise<void> {
    const clients = await Promise.all(
      Array.from({ length: SERVER_CONNECTIONS }, async () => {
        const client = new Client({ connectionString: bouncer.url });
        await client.connect();
        await client.query('BEGIN');
        return client;
      }),
    );
    for (const client of clients) {
      for (const statement of statements) await client.query(statement);
      await client.query('COMMIT');
      await client.end();
    }
  }
});
