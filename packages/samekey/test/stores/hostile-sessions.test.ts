/** Sessions that mean something else than the store's statements say: the contract on MySQL and MariaDB, on PostgreSQL, and on SQLite. */

import { createConnection, createPool, type PoolConnection, type RowDataPacket } from 'mysql2/promise';
import { Client, Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { claimed, claimRequest, finishRequest } from '../../../testing/src/contract/context.ts';
import {
  type HostileSetting,
  type SessionsUnderTest,
  sessionsContract,
} from '../../../testing/src/sessions-contract.ts';
import { fromMysql2 } from '../../src/tx/mysql2/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { fromSqlite } from '../../src/tx/sqlite/index.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';
import { availableClients, type OpenDatabase, temporaryFile } from './sqlite-clients.ts';

const READ_ONLY = /read-only/;

const MYSQL: readonly HostileSetting[] = [
  "SET completion_type = 'CHAIN'",
  "SET completion_type = 'RELEASE'",
  'SET autocommit = 0',
  "SET sql_mode = ''",
  "SET sql_mode = 'ANSI'",
  "SET time_zone = '-11:00'",
  'SET NAMES latin1',
  'SET character_set_results = NULL',
  'SET unique_checks = 0, foreign_key_checks = 0',
  'SET sql_safe_updates = 1',
  'SET sql_select_limit = 1',
  'SET sql_big_selects = 0, max_join_size = 1',
  'SET sql_auto_is_null = 1',
  'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE',
  'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED',
].map((sql) => ({ sql }));

/** The library's are its user's: what they mean is theirs. */
const MYSQL_OF_STORE: readonly HostileSetting[] = [
  { sql: 'SET SESSION TRANSACTION READ ONLY', ofLibrary: false },
  { sql: 'SET timestamp = 1000000000', ofLibrary: false, refused: /clock of its own/ },
  { sql: 'SET sql_log_bin = 0', ofLibrary: false, refused: /past the binary log/ },
];

for (const source of availableMysql().filter(({ programs }) => programs !== null)) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source, {
        log_bin: 'bin',
        server_id: '1',
        sync_binlog: '1',
        binlog_format: 'ROW',
      });
    }, 60_000);
    afterAll(() => server.stop());

    async function open({ sql, ofLibrary = true }: HostileSetting): Promise<SessionsUnderTest> {
      const url = await server.createDatabase();
      const theirs = await createConnection(url);
      await theirs.query('CREATE TABLE orders (id VARCHAR(64) PRIMARY KEY)');
      const clear = mysqlStore({ service: 'test', connect: () => createConnection(url) });
      await clear.migrate();
      await clear.close();
      const pool = createPool({ uri: url, connectionLimit: 2 });
      if (ofLibrary) pool.on('connection', (connection) => void connection.query(sql));
      const store = mysqlStore({
        service: 'test',
        async connect() {
          const connection = await createConnection(url);
          await connection.query(sql);
          return connection;
        },
      });
      const column = async (text: string): Promise<string[]> => {
        const [rows] = await theirs.query<RowDataPacket[]>(text);
        return rows.map((row) => String(Object.values(row)[0]));
      };
      return {
        store,
        source: fromMysql2<PoolConnection>(pool),
        insert: (tx, id) => (tx as PoolConnection).query('INSERT INTO orders VALUES (?)', [id]),
        orders: () => column('SELECT id FROM orders ORDER BY id'),
        keys: (state) =>
          column(
            `SELECT CONVERT(\`key\` USING utf8mb4) FROM samekey_records WHERE state = '${state}' ORDER BY 1`,
          ),
        async close() {
          await store.close();
          await Promise.all([pool.end(), theirs.end()]);
        },
      };
    }
    sessionsContract({ describe, it }, { name: source.name, settings: [...MYSQL, ...MYSQL_OF_STORE], open });

    // F121: what the COMMIT of a user's own session hangs on is read by the statement that completes.
    it.each([['SET timestamp = 1000000000', /clock of its own/]])(
      'in a session of the library with %s nothing is completed, and the handler is rolled back',
      async (sql, words) => {
        const t = await open({ sql: 'SET autocommit = 1' });
        const owner = await claimed(t.store);
        const ended = t.source.run(async (tx, handle) => {
          await (tx as PoolConnection).query(sql);
          await t.insert(tx, 'never');
          await t.store.within(handle).finish(finishRequest(owner, 'completed'));
        });
        await expect(ended).rejects.toMatchObject({
          applied: 'no',
          message: expect.stringMatching(words) as string,
        });
        expect([await t.orders(), await t.keys('in_progress')]).toEqual([[], [owner.key]]);
        await t.close();
      },
    );

    // F125
    it('a primary that was demoted takes nothing from a busy session, whoever its user is', async () => {
      const t = await open({ sql: 'SET autocommit = 1' });
      const admin = await createConnection(server.url());
      try {
        const owner = await claimed(t.store, { key: 'before' });
        const theirs = await t.source
          .run(async (tx, handle) => {
            await t.insert(tx, 'never');
            const within = t.store.within(handle);
            await within.limit?.(10_000);
            await admin.query('SET GLOBAL read_only = 1');
            const refusal = { applied: 'no', message: expect.stringMatching(READ_ONLY) as string };
            // The sessions are open, and root may write.
            await expect(t.store.finish([finishRequest(owner, 'completed')])).rejects.toMatchObject(refusal);
            await expect(t.store.claim([claimRequest({ key: 'after' })])).rejects.toMatchObject(refusal);
            return Promise.resolve(within.finish(finishRequest(owner, 'completed'))).catch(
              async (error: unknown) => {
                await within.undoes?.(error);
                throw error;
              },
            );
          })
          .catch((error: unknown) => error);
        expect(theirs).toMatchObject({ applied: 'no', message: expect.stringMatching(READ_ONLY) as string });
      } finally {
        await admin.query('SET GLOBAL read_only = 0');
      }
      expect([await t.orders(), await t.keys('in_progress')]).toEqual([[], ['before']]);
      await admin.end();
      await t.close();
    });
  });
}

const POSTGRES: readonly HostileSetting[] = [
  'synchronous_commit=off',
  'timezone=Pacific/Kiritimati',
  'datestyle=German,DMY',
  'intervalstyle=sql_standard',
  'bytea_output=escape',
  'standard_conforming_strings=off',
  'array_nulls=off',
  'transform_null_equals=on',
  'extra_float_digits=-15',
  'row_security=off',
  'session_replication_role=replica',
  'search_path=nowhere',
  'quote_all_identifiers=on',
  'default_transaction_deferrable=on',
  'xmlbinary=hex',
  'lock_timeout=1',
  'default_transaction_isolation=serializable',
  'escape_string_warning=off',
  'backslash_quote=off',
].map((sql) => ({ sql }));

const POSTGRES_OF_STORE: readonly HostileSetting[] = [
  // F125
  { sql: 'default_transaction_read_only=on', ofLibrary: false, refused: READ_ONLY },
];

describe.runIf(anyPostgres() !== undefined)('on a server', () => {
  const { database } = useServer(anyPostgres() as NonNullable<ReturnType<typeof anyPostgres>>);

  async function open({ sql, ofLibrary = true }: HostileSetting): Promise<SessionsUnderTest> {
    const db = await database();
    await db.store();
    const theirs = await db.session();
    await theirs.query('CREATE TABLE orders (id text PRIMARY KEY)');
    const options = `-c ${sql.replaceAll(',', '\\,')}`.replaceAll('\\,', ',');
    const store = postgresStore({
      service: 'test',
      connect: () => new Client({ connectionString: db.url, options }),
    });
    const pool = new Pool({ connectionString: db.url, max: 2, ...(ofLibrary && { options }) });
    pool.on('error', () => undefined);
    const column = async (text: string): Promise<string[]> =>
      (await theirs.query<Record<string, string>>(text)).rows.map((row) => String(Object.values(row)[0]));
    return {
      store,
      source: fromPg<PoolClient>(pool),
      insert: (tx, id) => (tx as PoolClient).query('INSERT INTO public.orders VALUES ($1)', [id]),
      orders: () => column('SELECT id FROM orders ORDER BY id'),
      keys: (state) => column(`SELECT key FROM samekey_records WHERE state = '${state}' ORDER BY key`),
      async close() {
        await store.close();
        await pool.end();
        await db.close();
      },
    };
  }
  sessionsContract(
    { describe, it },
    { name: 'PostgreSQL', settings: [...POSTGRES, ...POSTGRES_OF_STORE], open },
  );
});

const SQLITE: readonly HostileSetting[] = [
  'synchronous = OFF',
  'ignore_check_constraints = ON',
  'foreign_keys = ON',
  'recursive_triggers = ON',
  'read_uncommitted = ON',
  'reverse_unordered_selects = ON',
  'case_sensitive_like = ON',
  'busy_timeout = 0',
  'automatic_index = OFF',
  'trusted_schema = OFF',
  'cell_size_check = ON',
  'temp_store = MEMORY',
  'short_column_names = OFF',

  'empty_result_callbacks = ON',
].map((sql) => ({ sql: `PRAGMA ${sql}` }));

const SQLITE_OF_STORE: readonly HostileSetting[] = ['query_only', 'count_changes', 'full_column_names'].map(
  (name) => ({
    sql: `PRAGMA ${name} = ON`,
    refused: new RegExp(`PRAGMA ${name} is on`),
  }),
);

for (const client of availableClients().slice(0, 1)) {
  async function open({ sql }: HostileSetting): Promise<SessionsUnderTest> {
    const file = temporaryFile();
    const [own, theirs] = [client.open(file.path), client.open(file.path)] as [OpenDatabase, OpenDatabase];
    await sqliteStore({ service: 'test', database: theirs }).migrate();
    own.exec('CREATE TABLE orders (id text PRIMARY KEY)');
    own.exec(sql);
    const store = sqliteStore({ service: 'test', database: own });
    const column = async (text: string): Promise<string[]> =>
      theirs
        .prepare(text)
        .all()
        .map((row) => String(Object.values(row as object)[0]));
    return {
      store,
      source: fromSqlite(store) as SessionsUnderTest['source'],
      insert: async (tx, id) => (tx as OpenDatabase).prepare('INSERT INTO orders VALUES (?)').run(id),
      orders: () => column('SELECT id FROM orders ORDER BY id'),
      keys: (state) => column(`SELECT key FROM samekey_records WHERE state = '${state}' ORDER BY key`),
      async close() {
        await store.close();
        own.close();
        theirs.close();
        file.remove();
      },
    };
  }
  sessionsContract({ describe, it }, { name: client.name, settings: [...SQLITE, ...SQLITE_OF_STORE], open });
}
