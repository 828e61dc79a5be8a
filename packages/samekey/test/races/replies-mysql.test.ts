/**
 * The reply to one statement gets lost on the way from MySQL or MariaDB, after the server has applied it: the connection closes, or stays
 * open and is dead. Whoever asked cannot know; the handler runs once all the same, and there is one answer.
 */

import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimed, finishRequest, recordOf } from '../../../testing/src/contract/context.ts';
import { anyMysql, MYSQL_STATEMENTS, mysqlBackendOn, mysqlPlaceOn } from '../processes/backends/mysql.ts';
import { type FaultProxy, startFaultProxy } from '../services/fault-proxy.ts';
import { type MysqlServer, startMysql } from '../services/mysql.ts';
import { mysqlWire } from '../services/mysql-wire.ts';
import { LEAVES, lostReplies } from './lost-replies.ts';

const source = anyMysql();

describe.runIf(source !== undefined)('a reply of MySQL or MariaDB that gets lost', () => {
  let server: MysqlServer;
  let proxy: FaultProxy;
  beforeAll(async () => {
    if (source === undefined) return;
    server = await startMysql(source);
    proxy = await startFaultProxy(server.url(), mysqlWire);
  }, 60_000);
  afterAll(async () => {
    await proxy.close();
    await server.stop();
  });

  lostReplies({
    proxy: () => proxy,
    open: async () => ({
      place: mysqlPlaceOn(await server.createDatabase(), proxy),
      backend: await mysqlBackendOn(server, false),
    }),
    statements: MYSQL_STATEMENTS,
    kinds: ['claim', 'finish', 'renew', 'find', 'commit'],
    cutBefore: ['claim', 'finish', 'commit'],
  });

  // F15: a store says that it does not know, and never that nothing happened.
  it.each(LEAVES)(
    'to the COMMIT of a group of ends leaves it unclear, and they stand (%s)',
    async (leaves) => {
      const url = await server.createDatabase();
      const through = String(mysqlPlaceOn(url, proxy).address['url']);
      const store = mysqlStore({
        service: 'test',
        connect: () => createConnection(through),
        statementTimeMaxMs: 300,
      });
      await store.migrate();
      try {
        const owners = [await claimed(store, { key: 'a' }), await claimed(store, { key: 'b' })];
        const ends = owners.map((owner) => finishRequest(owner, 'completed'));
        const fault = proxy.arm({ statement: MYSQL_STATEMENTS.commit, what: 'lose-reply', leaves });
        await expect(store.finish(ends)).rejects.toMatchObject({ applied: 'unknown', transient: true });
        await fault.happened;
        const again = (): Promise<readonly unknown[]> => store.finish(ends).catch(() => []);
        await expect.poll(again).toMatchObject([{ kind: 'already' }, { kind: 'already' }]);
        for (const owner of owners) expect((await recordOf(store, owner)).state).toBe('completed');
      } finally {
        await store.close();
      }
    },
  );

  it('to the statement before COMMIT means that nothing was applied: it is done again at once', async () => {
    const url = await server.createDatabase();
    const through = String(mysqlPlaceOn(url, proxy).address['url']);
    const store = mysqlStore({
      service: 'test',
      connect: () => createConnection(through),
      statementTimeMaxMs: 300,
    });
    await store.migrate();
    try {
      const owner = await claimed(store);
      const finish = finishRequest(owner, 'completed');
      const once = proxy.arm({ statement: MYSQL_STATEMENTS.finish, what: 'lose-reply' });
      expect(await store.finish([finish])).toMatchObject([{ kind: 'applied' }]);
      await once.happened;
      const other = await claimed(store, { key: 'other' });
      const faults = [1, 2].map(() => proxy.arm({ statement: MYSQL_STATEMENTS.finish, what: 'lose-reply' }));
      await expect(store.finish([finishRequest(other, 'completed')])).rejects.toMatchObject({
        applied: 'no',
      });
      await Promise.all(faults.map(({ happened }) => happened));
      expect((await recordOf(store, other)).state).toBe('in_progress');
    } finally {
      await store.close();
    }
  });
});
