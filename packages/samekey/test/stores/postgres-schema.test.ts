/** Migrations that many run at once, schemas that are newer, and what `ready()` finds wrong and how it says to mend it. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import {
  claimed,
  finished,
  finishRequest,
  forgetAsSeen,
  only,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { postgresMigrations, postgresStore } from '../../src/stores/postgres/index.ts';
import { migrate } from '../../src/stores/postgres/migrate.ts';
import { MIGRATIONS, SCHEMA_VERSION } from '../../src/stores/postgres/migrations/index.ts';
import type { Migration } from '../../src/stores/postgres/migrations/migration.ts';
import { checkOptions } from '../../src/stores/postgres/options.ts';
import { checkDatabase } from '../../src/stores/postgres/schema.ts';
import { createTables } from '../../src/stores/postgres/tables.ts';
import { programOf } from '../processes/program.ts';
import { availablePostgres } from '../services/postgres.ts';
import { type TestDatabase, timed, useServer } from './postgres-setup.ts';

const PROGRAM = programOf('postgres-worker');
const TABLES = createTables('public', 'clock_timestamp()');

/** What the next version may look like: a column more, beside the traffic an index more, and today's code still fits. */
const NEXT: Migration = {
  number: SCHEMA_VERSION + 1,
  name: 'next',
  minReader: 1,
  statements: ({ records }) => [`ALTER TABLE ${records} ADD COLUMN note text`],
  indexes: ({ records }) => ({ samekey_records_note: `ON ${records} (note)` }),
};

for (const source of availablePostgres()) {
  describe(`schema: ${source.name}`, () => {
    const { database } = useServer(source);

    it('twenty processes migrate at once, and all are ready', async () => {
      if (!existsSync(PROGRAM)) throw new Error('The test programs are not built: run npx tsc -b first.');
      const db = await database();
      const codes = await Promise.all(
        Array.from({ length: 20 }, () => {
          const child = spawn(process.execPath, [PROGRAM, 'migrate', db.url], { stdio: 'inherit' });
          return new Promise((resolve) => void child.once('exit', resolve));
        }),
      );
      expect(codes).toEqual(Array.from({ length: 20 }, () => 0));
    });

    it('migrating twice changes nothing, and status says what is missing', async () => {
      const db = await database();
      const store = postgresStore({ service: 'test', pool: db.pool() });
      expect(await store.status()).toEqual({
        version: 0,
        needed: SCHEMA_VERSION,
        missing: MIGRATIONS.map(({ name }) => name),
      });
      await expect(store.ready()).rejects.toThrow(/has no Samekey tables.*samekey migrate/);
      await store.migrate();
      await store.migrate();
      expect(await store.status()).toEqual({ version: SCHEMA_VERSION, needed: SCHEMA_VERSION, missing: [] });
      await store.ready();
      await store.close();
    });

    it('a schema of its own is made, and another one beside it is another store', async () => {
      const db = await database();
      const one = await db.store({ schema: 'idem-One' });
      const two = await db.store({ schema: 'two' });
      await claimed(one);
      expect((await claimed(two)).attempt).toBe(1);
      expect((await one.count()).in_progress).toBe(1);
    });

    it('the printed SQL makes the same schema', async () => {
      const db = await database();
      const admin = await db.session();
      // As psql sends it: an index that is built beside the traffic cannot share a message with other statements.
      for (const statement of postgresMigrations({ service: 'test' }).split(/;\n/))
        await admin.query(statement);
      const store = postgresStore({ service: 'test', pool: db.pool() });
      await store.ready();
      await finished(store, 'completed');
      await store.close();
      expect(postgresMigrations({ from: SCHEMA_VERSION })).toBe('');
    });

    // Deploys read-new first: code N on schema N + 1, under traffic.
    it('this code works on the next schema, while it is brought in and after', async () => {
      const db = await database();
      const store = await db.store();
      const { open } = checkOptions({ service: 'test', pool: db.pool() });
      const state = { going: true };
      let written = 0;
      const traffic = Array.from({ length: 4 }, async (_, c) => {
        for (let i = 0; state.going; i += 1) {
          const owner = await claimed(store, { key: `${c}-${i}` });
          expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
          written += 1;
        }
      });
      await expect.poll(() => written).toBeGreaterThan(20);
      await migrate(open, TABLES, { service: 'test', migrations: [...MIGRATIONS, NEXT] });
      const before = written;
      await expect.poll(() => written).toBeGreaterThan(before + 20);
      state.going = false;
      await Promise.all(traffic);
      await store.ready();
      const restarted = postgresStore({ service: 'test', pool: db.pool() });
      await restarted.ready();
      expect((await restarted.status()).version).toBe(SCHEMA_VERSION + 1);
      expect((await recordOf(restarted, { scope: 'tenant-1/payments', key: '0-0' })).state).toBe('completed');
      await restarted.close();
    });

    it('a schema that needs newer code is refused, and so is migrating it back', async () => {
      const db = await database();
      const store = await db.store();
      const admin = await db.session();
      await admin.query("UPDATE samekey_meta SET value = 99 WHERE name IN ('schema_version', 'min_reader')");
      await expect(store.ready()).rejects.toThrow(/version 99.*update samekey/);
      await expect(store.migrate()).rejects.toThrow(/version 99.*update samekey/);
    });

    it('an index whose build was broken off is built again', async () => {
      const db = await database();
      await db.store();
      const admin = await db.session();
      const { open } = checkOptions({ service: 'test', pool: db.pool() });
      const all = [...MIGRATIONS, NEXT];
      await migrate(open, TABLES, { service: 'test', migrations: all });
      await admin.query(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'samekey_records_note'::regclass",
      );
      const connection = await open();
      const ask = async (statement: { name: string; text: string }, values: readonly unknown[]) =>
        (await connection.query(statement, values as string[], false)).rows;
      await expect(checkDatabase(ask, TABLES, 'test', all)).rejects.toThrow(
        /samekey_records_note.*samekey migrate/,
      );
      await Promise.all([1, 2, 3].map(() => migrate(open, TABLES, { service: 'test', migrations: all })));
      await checkDatabase(ask, TABLES, 'test', all);
      await connection.close();
    });

    it('a migration asks again while somebody reads the table for long', async () => {
      const db = await database();
      await db.store();
      const reader = await db.session();
      await reader.query('BEGIN');
      await reader.query('SELECT count(*) FROM samekey_records');
      const { open } = checkOptions({ service: 'test', pool: db.pool() });
      const migrating = timed(
        migrate(open, TABLES, {
          service: 'test',
          migrations: [...MIGRATIONS, { ...NEXT, indexes: () => ({}) }],
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await reader.query('COMMIT');
      expect((await migrating).ms).toBeGreaterThan(2_000);
    });

    it.each<[string, (db: TestDatabase) => Promise<string[]>, RegExp]>([
      [
        'no unique index',
        async () => ['ALTER TABLE samekey_records DROP CONSTRAINT samekey_records_pkey'],
        /no unique index.*ADD PRIMARY KEY/,
      ],
      [
        'an invalid unique index',
        async () => [
          "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'samekey_records_pkey'::regclass",
        ],
        /is invalid.*REINDEX/,
      ],
      ['an unlogged table', async () => ['ALTER TABLE samekey_records SET UNLOGGED'], /SET LOGGED/],
      [
        'unlogged messages',
        async () => ['ALTER TABLE samekey_messages SET UNLOGGED'],
        /samekey_messages SET LOGGED/,
      ],
      [
        'an unlogged audit',
        async () => ['ALTER TABLE samekey_audit SET UNLOGGED'],
        /samekey_audit SET LOGGED/,
      ],
      [
        'a read-only role',
        async (db) => [
          `ALTER DATABASE ${new URL(db.url).pathname.slice(1)} SET default_transaction_read_only = on`,
        ],
        /read-only.*default_transaction_read_only/,
      ],
    ])('ready() finds %s', async (_, statements, message) => {
      const db = await database();
      await db.store();
      const admin = await db.session();
      for (const statement of await statements(db)) await admin.query(statement);
      const store = postgresStore({ service: 'test', pool: db.pool() });
      await expect(store.ready()).rejects.toMatchObject({
        code: 'ERR_SAMEKEY_SCHEMA',
        message: expect.stringMatching(message) as unknown,
      });
      await store.close();
    });

    // F120: what an application may do is not enough for a migration.
    it('a migration without rights names who may run it, and changes nothing', async () => {
      const db = await database();
      const admin = await db.session();
      const role = `reader_${new URL(db.url).pathname.slice(1)}`;
      await admin.query(`CREATE ROLE ${role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`);
      const url = new URL(db.url);
      url.username = role;
      const store = postgresStore({
        service: 'test',
        connect: () => postgres(url.href, { max: 1, fetch_types: false }),
      });
      await expect(store.migrate()).rejects.toThrow(
        /as their owner, or as a role with CREATE .* migrate --print/,
      );
      expect((await store.status()).version).toBe(0);
      await store.close();
    });

    it('ready() finds missing privileges and row security', async () => {
      const db = await database();
      await db.store();
      const admin = await db.session();
      const role = `role_${new URL(db.url).pathname.slice(1)}`;
      await admin.query(
        `CREATE ROLE ${role} LOGIN; GRANT SELECT, INSERT ON samekey_records, samekey_meta TO ${role}`,
      );
      const url = new URL(db.url);
      url.username = role;
      const store = postgresStore({
        service: 'test',
        connect: () => postgres(url.href, { max: 1, fetch_types: false }),
      });
      await expect(store.ready()).rejects.toThrow(/GRANT SELECT, INSERT, UPDATE, DELETE/);
      await admin.query(`GRANT UPDATE, DELETE ON samekey_records, samekey_meta TO ${role}`);
      await expect(store.ready()).rejects.toThrow(
        /GRANT SELECT, INSERT, UPDATE, DELETE ON .*samekey_messages/,
      );
      await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON samekey_messages TO ${role}`);
      await expect(store.ready()).rejects.toThrow(/GRANT SELECT, INSERT ON .*samekey_audit/);
      await admin.query(`GRANT SELECT, INSERT ON samekey_audit TO ${role}`);
      await expect(store.ready()).rejects.toThrow(/GRANT .* ON .*samekey_counters/);
      await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON samekey_counters TO ${role}`);
      await expect(store.ready()).rejects.toThrow(/GRANT .* ON .*samekey_references/);
      await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON samekey_references TO ${role}`);
      await store.ready();
      // Who may only add to the audit can act by hand, and cannot prune.
      const owner = await finished(store, 'completed');
      await forgetAsSeen(store, owner);
      expect(await store.audit({})).toHaveLength(1);
      const pruning = store.pruneAudit({ olderThanMs: 0, acts: ['forget'], limit: 1 });
      await expect(pruning).rejects.toMatchObject({ code: 'ERR_SAMEKEY_STORE', applied: 'no' });
      for (const table of ['records', 'messages', 'audit', 'counters', 'references']) {
        await admin.query(`ALTER TABLE samekey_${table} ENABLE ROW LEVEL SECURITY`);
        await expect(store.ready()).rejects.toThrow(`samekey_${table} DISABLE ROW LEVEL SECURITY`);
        await admin.query(`ALTER TABLE samekey_${table} DISABLE ROW LEVEL SECURITY`);
      }
      await store.close();
      await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    });
  });
}

for (const source of availablePostgres().slice(0, 1)) {
  describe('a server that may lose what it acknowledged', () => {
    const { database } = useServer(source, { fsync: 'off', full_page_writes: 'off' });
    it('is refused', async () => {
      const db = await database();
      await expect(db.store()).rejects.toThrow(/ALTER SYSTEM SET fsync = on/);
    });
  });
}
