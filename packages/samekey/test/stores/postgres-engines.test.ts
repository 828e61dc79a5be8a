/** Which engine a server is, and whether it takes writes and keeps them, is asked at start, not found out under load. */

import { Client, Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import {
  type DistributedEngine,
  type DistributedPostgresStore,
  distributedMigrations,
  distributedPostgresStore,
} from '../../src/stores/postgres/distributed/index.ts';
import { claimed, finished } from '../../../testing/src/contract/context.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from './postgres-setup.ts';

const source = anyPostgres();

/** What these engines say of themselves, in the words of their own documentation. */
const VERSIONS: Readonly<Record<string, string>> = {
  cockroachdb: 'CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu, built 2025/06/01 00:00:00, go1.23.7)',
  yugabytedb:
    'PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit',
};

/** New sessions of the database find this function before PostgreSQL's own. */
async function say(admin: Client, version: string): Promise<void> {
  await admin.query('CREATE SCHEMA said');
  await admin.query(`CREATE FUNCTION said.version() RETURNS text LANGUAGE sql AS $$ SELECT '${version}' $$`);
  const { rows } = await admin.query<{ name: string }>('SELECT current_database() AS name');
  await admin.query(`ALTER DATABASE ${rows[0]?.name} SET search_path = said, pg_catalog, public`);
}

describe.runIf(source !== undefined)('engines that speak PostgreSQL', () => {
  if (source === undefined) return;
  const { database } = useServer(source);

  async function stores(engine: DistributedEngine): Promise<{
    readonly url: string;
    readonly admin: Client;
    readonly open: (engine?: DistributedEngine) => DistributedPostgresStore;
    readonly close: () => Promise<void>;
  }> {
    const db = await database();
    const admin = await db.session();
    const opened: DistributedPostgresStore[] = [];
    return {
      url: db.url,
      admin,
      open(other = engine) {
        const store = distributedPostgresStore({ service: 'test', pool: db.pool(), engine: other });
        opened.push(store);
        return store;
      },
      close: async () => void (await Promise.all(opened.map((store) => store.close()))),
    };
  }

  it.each(Object.entries(VERSIONS))(
    'a server that says it is %s is refused by the store for PostgreSQL, and by one told another engine',
    async (engine, version) => {
      const { url, admin, open, close } = await stores('other');
      await say(admin, version);
      const pool = new Pool({ connectionString: url });
      const store = postgresStore({ service: 'test', pool });
      await expect(store.ready()).rejects.toThrow(`distributedPostgresStore({ engine: '${engine}'`);
      await expect(store.migrate()).rejects.toThrow(`distributedPostgresStore({ engine: '${engine}'`);
      await store.close();
      await pool.end();
      await expect(open().migrate()).rejects.toThrow(`pass engine: '${engine}'`);
      await expect(open().ready()).rejects.toThrow(`pass engine: '${engine}'`);
      await close();
    },
  );

  it('a PostgreSQL is not taken for another engine because the options say so', async () => {
    const { open, close } = await stores('other');
    await expect(open('cockroachdb').ready()).rejects.toThrow('does not say that it is CockroachDB');
    await expect(open('yugabytedb').migrate()).rejects.toThrow('does not say that it is YugabyteDB');
    await expect(open('citus').ready()).rejects.toThrow('CREATE EXTENSION citus');
    await close();
  });

  it('without tables, without the key, read-only, or with commits that do not wait it is not ready, and says what mends it', async () => {
    const { admin, open, close } = await stores('other');
    await expect(open().ready()).rejects.toThrow('npx samekey migrate --service test --engine other');
    await open().migrate();
    await open().ready();
    expect(await open().status()).toEqual({ version: 1, needed: 1, missing: [] });
    await admin.query('ALTER TABLE samekey_plain_records DROP CONSTRAINT samekey_plain_records_pkey');
    await expect(open().ready()).rejects.toThrow('no primary key (scope, key)');
    await admin.query('ALTER TABLE samekey_plain_records ADD PRIMARY KEY (scope, key)');
    await open().ready();
    const { rows } = await admin.query<{ name: string }>('SELECT current_database() AS name');
    const name = rows[0]?.name ?? '';
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await expect(open().ready()).rejects.toThrow('read-only');
    await admin.query('BEGIN READ WRITE');
    await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await admin.query('COMMIT');
    await admin.query("UPDATE samekey_plain_meta SET value = 2 WHERE name = 'min_reader'");
    await expect(open().ready()).rejects.toThrow('update samekey in this process');
    await close();
  });

  it('twenty processes make the tables at once, without a lock, and all are ready', async () => {
    const { admin, open, close } = await stores('other');
    const all = Array.from({ length: 20 }, () => open());
    await Promise.all(all.map((store) => store.migrate()));
    await Promise.all(all.map((store) => store.ready()));
    await finished(all[0]!, 'completed');
    const { rows } = await admin.query('SELECT count(*)::int AS n FROM samekey_plain_records');
    expect(rows).toEqual([{ n: 1 }]);
    await close();
  });

  it('the printed SQL makes the same tables', async () => {
    const { admin, open, close } = await stores('other');
    await admin.query(distributedMigrations({ service: 'test', engine: 'other' }));
    await open().ready();
    await claimed(open());
    await close();
    expect(distributedMigrations({ service: 'test', engine: 'citus' })).toContain(
      "create_distributed_table('\"public\".samekey_plain_records', 'scope')",
    );
    expect(distributedMigrations({ service: 'test', engine: 'cockroachdb' })).not.toMatch(/COLLATE|create_/);
  });

  it('the two stores share no table: each says that its own are missing', async () => {
    const { url, open, close } = await stores('other');
    await open().migrate();
    const pool = new Pool({ connectionString: url });
    const store = postgresStore({ service: 'test', pool });
    await expect(store.ready()).rejects.toThrow('has no Samekey tables');
    await store.migrate();
    await Promise.all([store.ready(), open().ready()]);
    const owner = await claimed(store);
    expect(await open().find([owner])).toEqual([null]);
    await store.close();
    await pool.end();
    await close();
  });

  it('wrong options are refused by name', () => {
    expect(make({})).toThrow("engine must be one of 'citus', 'cockroachdb', 'yugabytedb', 'other'");
    expect(make({ engine: 'postgres' })).toThrow('"postgres"');
    expect(make({ engine: 'citus', lanes: 0 })).toThrow('lanes');
    expect(make({ engine: 'citus', notify: true })).toThrow('notify');
    expect(() => distributedMigrations({ service: 'test', engine: 'oracle' as never })).toThrow(
      'engine must be one of',
    );
  });
});

function make(options: object): () => DistributedPostgresStore {
  return () =>
    distributedPostgresStore({ service: 'test', connect: () => new Client(), ...options } as never);
}

describe.runIf(source !== undefined)('servers with a storage of their own', () => {
  if (source === undefined) return;
  const { database } = useServer(source, { fsync: 'off', full_page_writes: 'off' });

  // Neon runs with fsync = off, because its storage keeps what was acknowledged.
  it('settings of a storage that is not used refuse nobody, and those of one that is do', async () => {
    const db = await database();
    const plain = postgresStore({ service: 'test', pool: db.pool() });
    await plain.migrate();
    await expect(plain.ready()).rejects.toThrow('fsync = on');
    await plain.close();
    const { pathname } = new URL(db.url);
    const admin = await db.session();
    await admin.query(
      `ALTER DATABASE ${pathname.slice(1)} SET neon.timeline_id = '11223344556677889900aabbccddeeff'`,
    );
    const neon = postgresStore({ service: 'test', pool: db.pool() });
    await neon.ready();
    await neon.close();
  });
});
