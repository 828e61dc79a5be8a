/** What only MySQL and MariaDB have: locks of others, implicit commits, collations, time zones, long values in one group. */

import { createConnection as mariadbConnection } from 'mariadb';
import { createConnection, type Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MysqlStore, mysqlMigrations, mysqlStore } from '../../src/stores/mysql/index.ts';
import {
  ANSWER,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  ID,
  only,
  settleRequest,
} from '../../../testing/src/contract/context.ts';
import { SERVER_CLOCK } from '../../src/stores/mysql/tables.ts';
import { message } from '../../../testing/src/outbox/bench.ts';
import { availableMysql, lockWaits, type MysqlServer, startMysql } from '../services/mysql.ts';

for (const source of availableMysql()) {
  describe(source.name, () => {
    let server: MysqlServer;
    let url = '';
    let store: MysqlStore;
    const sessions: Connection[] = [];
    const session = async (): Promise<Connection> => {
      const connection = await createConnection(url);
      sessions.push(connection);
      return connection;
    };
    beforeAll(async () => {
      server = await startMysql(source);
      url = await server.createDatabase();
      // F45: a session's time zone, whatever it is, moves nothing.
      store = mysqlStore({
        service: 'test',
        async connect() {
          const connection = await createConnection(url);
          await connection.query("SET time_zone = '-11:00'");
          return connection;
        },
      });
      await Promise.all(Array.from({ length: 20 }, () => store.migrate()));
      await store.ready();
    }, 60_000);
    afterAll(async () => {
      await store.close();
      await Promise.all(sessions.map((each) => each.end()));
      await server.stop();
    });

    it('a row that a transaction holds is busy at once, and its neighbours go on', async () => {
      const [held, free] = [await claimed(store, { key: 'held' }), await claimed(store, { key: 'free' })];
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      await store.within(theirs).finish(finishRequest(held, 'failed'));
      const waits = await lockWaits(theirs);
      const results = await store.finish([
        finishRequest(held, 'completed'),
        finishRequest(free, 'completed'),
      ]);
      expect(results.map(({ kind }) => kind)).toEqual(['busy', 'applied']);
      expect(await lockWaits(theirs)).toBe(waits);
      // F14, F13: a claim of that key waits for nobody either.
      expect(only(await store.claim([claimRequest({ key: 'held' })])).kind).toBe('found');
      await theirs.query('ROLLBACK');
      expect(only(await store.finish([finishRequest(held, 'completed')])).kind).toBe('applied');
    });

    it('a transaction that has handed over holds up no other key and no other reference', async () => {
      const owner = await claimed(store, { key: 'handed over' });
      const calling = await claimed(store, { key: 'calls meanwhile' });
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      const within = store.within(theirs);
      await within.enqueue([message({ owner, reference: 'sent' })]);
      await within.handOver(owner);
      const waits = await lockWaits(theirs);
      expect(only(await store.claim([claimRequest({ key: 'new meanwhile' })])).kind).toBe('claimed');
      const intent = {
        claimTtlMs: 60_000,
        recoveryPoint: null,
        steps: '{"v":1,"steps":[]}',
        intentOpen: true,
      };
      const reference = { reference: 'called', effect: 'charge' };
      expect(only(await store.checkpoint([{ ...calling, ...intent, reference }])).kind).toBe('applied');
      expect(await lockWaits(theirs)).toBe(waits);
      await theirs.query('COMMIT');
      expect(
        (await store.references?.find(['sent', 'called'], 10))?.map(({ key }) => key).toSorted(),
      ).toEqual(['calls meanwhile', 'handed over']);
    });

    it('an act by hand is tried again while somebody holds its row', async () => {
      const owner = await finished(store, 'unknown', { key: 'held for a moment' });
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      await theirs.query("SELECT 1 FROM samekey_records WHERE `key` = 'held for a moment' FOR UPDATE");
      let tries = 0;
      const patient = mysqlStore({
        service: 'test',
        async connect() {
          const connection = await createConnection(url);
          const query = connection.query.bind(connection) as (given: unknown) => Promise<unknown>;
          return Object.assign(connection, {
            async query(given: { readonly sql: string }) {
              // At its second look the row is free.
              if (given.sql?.includes('SKIP LOCKED') && ++tries === 2) await theirs.query('ROLLBACK');
              return query(given);
            },
          }) as never;
        },
      });
      try {
        expect(only(await patient.settle([settleRequest(owner, 'completed')])).kind).toBe('applied');
        expect(tries).toBe(2);
      } finally {
        await theirs.query('ROLLBACK');
        await patient.close();
      }
    });

    it('a schema change inside a transaction commits it, which is noticed before anything is written', async () => {
      const owner = await claimed(store, { key: 'ddl' });
      const theirs = await session();
      await theirs.query('START TRANSACTION');
      const within = store.within(theirs);
      await within.limit(10_000);
      // It commits first, and is then refused.
      await expect(theirs.query('CREATE TABLE made_inside (id INT)')).rejects.toMatchObject({ errno: 1792 });
      // Also when the next transaction has begun since.
      await theirs.query('START TRANSACTION');
      await expect(within.finish(finishRequest(owner, 'completed'))).rejects.toThrow(
        /ended inside the handler/,
      );
      await theirs.query('ROLLBACK');
      expect(only(await store.find([owner]))?.state).toBe('in_progress');
    });

    it('a connection that is in no transaction is refused', async () => {
      const owner = await claimed(store, { key: 'none' });
      const theirs = await session();
      await expect(store.within(theirs).finish(finishRequest(owner, 'completed'))).rejects.toThrow(/in none/);
      expect(only(await store.find([owner]))?.state).toBe('in_progress');
    });

    // F126
    it('a transaction that stands still before its COMMIT holds its record no longer than the claim, and a moment', async () => {
      const theirs = await session();
      await theirs.query('CREATE TABLE offset_ms (ms BIGINT NOT NULL) ENGINE = MyISAM');
      await theirs.query('INSERT INTO offset_ms VALUES (0)');
      const clock = `${SERVER_CLOCK} + (SELECT ms FROM offset_ms)`;
      const other = mysqlStore({ service: 'test', connect: () => createConnection(url), clock });
      const owner = await claimed(other, { key: 'stands still', claimTtlMs: 5_000 });
      const frozen = await session();
      frozen.on('error', () => undefined);
      await frozen.query('START TRANSACTION');
      const within = other.within(frozen);
      await within.limit(5_000);
      expect((await within.finish(finishRequest(owner, 'completed'))).kind).toBe('applied');
      const mine = async (): Promise<readonly unknown[]> =>
        (await other.sweep(100)).filter(({ key }) => key === owner.key);
      // Its claim lives: it is left alone, and so is its session.
      expect(await mine()).toEqual([]);
      await frozen.query('SELECT 1');
      await (await session()).query('UPDATE offset_ms SET ms = 10000');
      await mine();
      await expect.poll(mine, { timeout: 15_000 }).toMatchObject([{ from: 'in_progress', to: 'unknown' }]);
      await expect(frozen.query('COMMIT')).rejects.toThrow();
      expect(only(await other.find([owner]))?.state).toBe('unknown');
      await other.close();
      sessions.splice(sessions.indexOf(frozen), 1);
    });

    // F35: neither case nor trailing blanks make two keys one, whatever the database's collation is.
    it('keys are compared byte by byte', async () => {
      const keys = ['A', 'a', 'a ', 'á', 'ａ'];
      const requests = keys.map((key) => claimRequest({ key }));
      expect((await store.claim(requests)).map(({ kind }) => kind)).toEqual(keys.map(() => 'claimed'));
    });

    // F46, F45: a time written late in a long transaction is the statement's own, in UTC.
    it('times are the statement’s own', async () => {
      const owner = await claimed(store, { key: 'late' });
      const theirs = await session();
      await theirs.query("SET time_zone = '+13:00'");
      await theirs.query('START TRANSACTION');
      await theirs.query('SELECT SLEEP(0.3)');
      await store.within(theirs).finish(finishRequest(owner, 'completed'));
      await theirs.query('COMMIT');
      const record = only(await store.find([owner]));
      expect((record?.finishedAt ?? 0) - (record?.createdAt ?? 0)).toBeGreaterThanOrEqual(300);
      expect(Math.abs((record?.finishedAt ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    // A table of values, joined, would be cut at 64 KiB without an error on MariaDB 10.11.
    it('answers of one group keep every byte, however different their lengths are', async () => {
      const lengths = [0, 10, 65_535, 65_536, 240_000, 1_000_000];
      const owners = await Promise.all(lengths.map((length) => claimed(store, { key: `long-${length}` })));
      const bodyOf = (i: number): Uint8Array => new Uint8Array(lengths[i] ?? 0).fill(i);
      const ends = owners.map((owner, i) =>
        finishRequest(owner, 'completed', { response: { ...ANSWER, body: bodyOf(i) } }),
      );
      expect(new Set((await store.finish(ends)).map(({ kind }) => kind))).toEqual(new Set(['applied']));
      for (const [i, record] of (await store.find(owners)).entries()) {
        expect(Buffer.from(record?.response?.body ?? []).equals(bodyOf(i))).toBe(true);
      }
    });

    it('sql_mode and character set of the connection that within() is given change nothing', async () => {
      const owner = await claimed(store, { key: 'modes' });
      const theirs = await session();
      await theirs.query("SET NAMES latin1, sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'");
      await theirs.query('START TRANSACTION');
      const response = { ...ANSWER, headers: [['x', 'é\\"\'']] as const };
      await store
        .within(theirs)
        .finish(finishRequest(owner, 'completed', { reason: 'naïve 漢字', response }));
      await theirs.query('COMMIT');
      const record = only(await store.find([owner]));
      expect([record?.reason, record?.response]).toEqual(['naïve 漢字', response]);
    });

    it.each([
      ['mysql2', () => createConnection({ uri: url, typeCast: () => 'odd', bigNumberStrings: true, ...ODD })],
      ['mariadb', () => mariadbConnection({ ...addressOf(url), typeCast: () => 'odd', ...ODD })],
    ] as const)('settings by which %s shapes its rows change nothing', async (name, connect) => {
      const odd = mysqlStore({ service: 'test', connect });
      const owner = await claimed(odd, { key: `odd-${name}` });
      await odd.finish([finishRequest(owner, 'completed')]);
      expect(await odd.find([owner])).toEqual(await store.find([owner]));
      expect(only(await odd.find([owner]))?.response).toEqual(ANSWER);
      await odd.close();
    });

    it('a server that may lose what it acknowledged is not ready, and says what mends it', async () => {
      if (source.programs === null) return expect(source.url).toBeDefined();
      const admin = await session();
      await admin.query('SET GLOBAL innodb_flush_log_at_trx_commit = 2');
      await expect(store.ready()).rejects.toThrow(/SET GLOBAL innodb_flush_log_at_trx_commit = 1/);
      await admin.query('SET GLOBAL innodb_flush_log_at_trx_commit = 1');
      await store.ready();
    });

    it('what was acknowledged outlives a kill of the server, and the store goes on with it', async () => {
      if (source.programs === null) return expect(source.url).toBeDefined();
      const owner = await claimed(store, { key: 'killed' });
      await store.finish([finishRequest(owner, 'completed')]);
      for (const each of sessions.splice(0)) each.destroy();
      await server.kill();
      await expect(store.find([owner])).rejects.toMatchObject({ code: 'ERR_SAMEKEY_STORE' });
      await server.restart();
      let record = null;
      for (const until = Date.now() + 10_000; record === null && Date.now() < until; ) {
        record = await store.find([owner]).then(only, () => null);
      }
      expect(record?.response).toEqual(ANSWER);
    });

    it('the printed SQL makes the same tables', async () => {
      const other = await createConnection(await server.createDatabase());
      const statements = mysqlMigrations({ service: 'test' })
        .split(/;\n/)
        .filter((text) => text.trim() !== '');
      for (const statement of statements) await other.query(statement);
      const ours = await session();
      for (const table of ['records', 'audit', 'counters', 'messages', 'groups', 'meta'].map(
        (name) => `samekey_${name}`,
      ))
        expect(await shape(other, table)).toBe(await shape(ours, table));
      await other.end();
    });

    it('a key that is longer than the index is refused, and cut by nobody', async () => {
      await expect(store.claim([claimRequest({ key: 'k'.repeat(1_025) })])).rejects.toThrow(/1024 bytes/);
      expect(only(await store.find([ID]))).toBeNull();
    });
  });
}

/** Settings of both clients. */
const ODD = { dateStrings: true, rowsAsArray: false, nestTables: true, namedPlaceholders: true } as const;

function addressOf(url: string): { host: string; port: number; user: string; database: string } {
  const { hostname, port, username, pathname } = new URL(url);
  return { host: hostname, port: Number(port), user: username, database: pathname.slice(1) };
}

async function shape(connection: Connection, table: string): Promise<string> {
  const [rows] = await connection.query(`SHOW CREATE TABLE ${table}`);
  return JSON.stringify(rows).replaceAll(/AUTO_INCREMENT=\d+ /g, '');
}
