/**
 * What a server of MySQL or MariaDB does to its clients: no connection left, sessions ended, a primary that has become a replica, tables that
 * somebody locks, packets that are too large, settings of every kind. The store says what happened, and nothing is lost or run twice.
 */

import * as mariadb from 'mariadb';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MysqlStore, mysqlStore } from '../../src/stores/mysql/index.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  finishRequest,
  only,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';

for (const source of availableMysql().filter(({ programs }) => programs !== null)) {
  describe(source.name, () => {
    let server: MysqlServer;
    let url = '';
    let admin: Connection;
    beforeAll(async () => {
      server = await startMysql(source, { max_connections: '10', max_allowed_packet: '16M' });
      url = await server.createDatabase();
      admin = await createConnection(url);
    }, 60_000);
    afterAll(async () => {
      await admin.end();
      await server.stop();
    });

    /** Works on a store of its own for each test; the tables are shared. */
    async function withStore(
      work: (store: MysqlStore) => Promise<void>,
      connect: () => Promise<Connection | mariadb.Connection> = () => createConnection(url),
    ): Promise<void> {
      // The server has few connections, and ends those of the test before when it comes to it.
      await expect.poll(sessions).toEqual([]);
      const store = mysqlStore({ service: 'test', connect, statementTimeMaxMs: 5_000 });
      try {
        await store.migrate();
        await work(store);
      } finally {
        await store.close();
      }
    }

    async function sessions(): Promise<readonly number[]> {
      const [rows] = await admin.query<RowDataPacket[]>(
        'SELECT id AS id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()',
      );
      return rows.map((row) => Number(row['id']));
    }

    // F44
    it('a server without a free connection is told so, nothing was applied, and later all goes on', () =>
      withStore(async (store) => {
        const owner = await claimed(store, { key: 'full' });
        const app = url.replace('root', 'plain');
        await admin.query("CREATE USER plain IDENTIFIED BY ''");
        await admin.query(`GRANT ALL ON ${new URL(url).pathname.slice(1)}.* TO plain`);
        const all: Connection[] = [];
        // As many as there are; one more is kept for administrators, who are not among them.
        for (let left = true; left; ) {
          const one = await createConnection(app).catch(() => null);
          if (one === null) left = false;
          else all.push(one);
        }
        const late = mysqlStore({ service: 'test', connect: () => createConnection(app) });
        await expect(late.claim([claimRequest({ key: 'late' })])).rejects.toMatchObject({
          message: expect.stringMatching(/error 1040.*raise max_connections/) as string,
          applied: 'no',
          transient: true,
        });
        // Connections that are open go on.
        expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
        await Promise.all(all.map((one) => one.end()));
        await expect
          .poll(async () => (await late.claim([claimRequest({ key: 'late' })]).catch(() => []))[0]?.kind)
          .toBe('claimed');
        await late.close();
      }));

    it.each([
      ['mysql2', () => createConnection(url)],
      ['mariadb', () => mariadb.createConnection(url.replace('mysql:', 'mariadb:'))],
    ] as const)(
      'sessions that the server has ended while they were idle are opened anew before they are used (%s)',
      async (name, connect) => {
        await withStore(async (store) => {
          const owner = await claimed(store, { key: `idle-${name}` });
          await store.finish([finishRequest(await claimed(store, { key: `idle-2-${name}` }), 'completed')]);
          // As wait_timeout does, and a restart of the server.
          for (const id of await sessions()) await admin.query(`KILL ${id}`);
          await expect.poll(sessions).toEqual([]);
          // The drivers hear of it in their own time.
          await new Promise((resolve) => setImmediate(resolve));
          expect(only(await store.claim([claimRequest({ key: `after-${name}` })])).kind).toBe('claimed');
          expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
        }, connect);
      },
    );

    // A failover whose clients still talk to the old primary.
    it('a primary that has become read-only is refused in words, nothing runs, and a new primary is found', async () => {
      await admin.query("CREATE USER app IDENTIFIED BY ''");
      await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${new URL(url).pathname.slice(1)}.* TO app`);
      await withStore(async () => undefined);
      const store = mysqlStore({
        service: 'test',
        connect: () => createConnection(url.replace('root', 'app')),
      });
      try {
        // Four privileges are enough.
        await store.ready();
        const owner = await claimed(store, { key: 'failover' });
        await admin.query('SET GLOBAL read_only = 1');
        const readOnly = {
          message: expect.stringMatching(/read-only, probably a replica: connect to the primary/) as string,
          applied: 'no',
        };
        await expect(store.claim([claimRequest({ key: 'new' })])).rejects.toMatchObject(readOnly);
        await expect(store.finish([finishRequest(owner, 'completed')])).rejects.toMatchObject(readOnly);
        await expect(store.renew([{ ...owner, claimTtlMs: 30_000 }])).rejects.toMatchObject(readOnly);
        await expect(store.ready()).rejects.toThrow(/is read-only, probably a replica/);
        // Nor by those who may write there all the same.
        const root = mysqlStore({ service: 'test', connect: () => createConnection(url) });
        await expect(root.claim([claimRequest({ key: 'new' })])).rejects.toMatchObject(readOnly);
        await root.close();
        // Sessions that were told so are closed: a name that leads to the new primary is looked up again.
        await expect.poll(async () => (await sessions()).length).toBeLessThanOrEqual(1);
        await admin.query('SET GLOBAL read_only = 0');
        // Connecting is tried again after a pause.
        await expect.poll(() => kindOf(store.claim([claimRequest({ key: 'new' })]))).toBe('claimed');
        await expect.poll(() => kindOf(store.finish([finishRequest(owner, 'completed')]))).toBe('applied');
      } finally {
        await admin.query('SET GLOBAL read_only = 0');
        await store.close();
      }
    });

    it('a table that somebody locks is busy within seconds, and no sessions pile up behind it', () =>
      withStore(async (store) => {
        const owner = await claimed(store, { key: 'locked' });
        const theirs = await createConnection(url);
        await theirs.query('LOCK TABLES samekey_records WRITE');
        for (let i = 0; i < 3; i += 1)
          await expect(store.finish([finishRequest(owner, 'completed')])).rejects.toMatchObject({
            applied: 'no',
            busy: true,
          });
        // Of claims, of ends, of upkeep, theirs, and the one that asks.
        expect((await sessions()).length).toBeLessThanOrEqual(5);
        await theirs.query('UNLOCK TABLES');
        expect(only(await store.finish([finishRequest(owner, 'completed')])).kind).toBe('applied');
        await theirs.end();
      }));

    it.each([
      ['mysql2', () => createConnection(url)],
      ['mariadb', () => mariadb.createConnection(url.replace('mysql:', 'mariadb:'))],
    ] as const)(
      'a statement above max_allowed_packet is refused, its keys stay as they were, and parts of it go through (%s)',
      async (name, connect) => {
        await withStore(async (store) => {
          const owners = await Promise.all(
            [0, 1, 2].map((i) => claimed(store, { key: `large-${name}-${i}` })),
          );
          const bodies = owners.map((_, i) => new Uint8Array(3 * 1024 * 1024).fill(i));
          const ends = owners.map((owner, i) =>
            finishRequest(owner, 'completed', { response: { ...ANSWER, body: bodies[i] ?? null } }),
          );
          // 18 MiB as digits; the engine makes groups of 4 MiB by itself.
          await expect(store.finish(ends)).rejects.toMatchObject({
            code: 'ERR_SAMEKEY_STORE',
            applied: 'no',
          });
          for (const owner of owners) expect((await recordOf(store, owner)).state).toBe('in_progress');
          for (const end of ends) expect(only(await store.finish([end])).kind).toBe('applied');
          const record = await recordOf(store, owners[2]);
          expect(Buffer.from(record.response?.body ?? []).equals(bodies[2] ?? new Uint8Array())).toBe(true);
        }, connect);
      },
    );
  });

  // F45, F35
  describe(`${source.name} with every setting that it should not need`, () => {
    const isMariadb = source.name === 'MariaDB';
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source, {
        sql_mode: isMariadb
          ? 'ORACLE,HIGH_NOT_PRECEDENCE,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH'
          : 'ANSI,HIGH_NOT_PRECEDENCE,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH,NO_ZERO_DATE',
        transaction_isolation: 'SERIALIZABLE',
        character_set_server: 'latin1',
        collation_server: 'latin1_general_ci',
        default_time_zone: '+13:00',
        autocommit: '0',
        innodb_rollback_on_timeout: 'ON',
        ...(isMariadb
          ? { innodb_force_primary_key: 'ON', innodb_snapshot_isolation: 'ON', lower_case_table_names: '1' }
          : { sql_require_primary_key: 'ON', sql_generate_invisible_primary_key: 'ON' }),
      });
    }, 60_000);
    afterAll(() => server.stop());

    const MODES = [
      "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'",
      "SET SESSION sql_mode = ''",
      ...(isMariadb ? ["SET SESSION sql_mode = 'ORACLE'", "SET SESSION sql_mode = 'MSSQL'"] : []),
      'SET NAMES latin1',
      'SET NAMES utf8mb4',
      "SET time_zone = '-12:00'",
      'SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED',
      'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE',
      'SET autocommit = 0',
    ];

    it('the store works as ever, and its statements in a transaction whose session has others still', async () => {
      const url = await server.createDatabase();
      const database = new URL(url).pathname.slice(1);
      // Where names of tables have no case, neither has that of the database.
      const named = isMariadb ? database.toUpperCase() : database;
      const store = mysqlStore({ service: 'test', connect: () => createConnection(url), database: named });
      const theirs = await createConnection(url);
      try {
        await store.migrate();
        await store.ready();
        for (const [i, mode] of MODES.entries()) {
          await theirs.query(mode);
          const owner = await claimed(store, { key: `mode-${i}` });
          await theirs.query('START TRANSACTION');
          const within = store.within(theirs);
          await within.limit(10_000);
          const response = { ...ANSWER, headers: [['x', `é\\"'||漢${mode}`]] as const };
          const finish = finishRequest(owner, 'completed', { response, reason: 'naïve || 漢字 \\' });
          expect((await within.finish(finish)).kind).toBe('applied');
          await theirs.query('COMMIT');
          const record = await recordOf(store, owner);
          expect([record.reason, record.response]).toEqual([finish.reason, response]);
          expect(Math.abs(record.createdAt - Date.now())).toBeLessThan(60_000);
        }
        expect((await store.list({ limit: 100 })).length).toBe(MODES.length);
        expect(
          (await store.claim(['A', 'a', 'a '].map((key) => claimRequest({ key })))).map(({ kind }) => kind),
        ).toEqual(['claimed', 'claimed', 'claimed']);
      } finally {
        await theirs.end();
        await store.close();
      }
    });
  });
}

/** What one call came to, also when it could not be made. */
function kindOf(call: Promise<readonly { readonly kind: string }[]>): Promise<string | undefined> {
  return call.then(([one]) => one?.kind, String);
}
