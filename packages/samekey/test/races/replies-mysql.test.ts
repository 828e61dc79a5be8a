/**
 * The reply to one statement gets lost on the way from MySQL or MariaDB, after the server has applied it: the connection closes, or stays
 * open and is dead. Whoever asked cannot know; the handler runs once all the same, and there is one answer.
 */

import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimed, finishRequest, recordOf } from '../../src/testing/contract/context.ts';
import { essenceOf } from '../processes/api-checks.ts';
import type { ApiRequest } from '../processes/api-client.ts';
import { type ApiProcess, type Cluster, startCluster } from '../processes/api-cluster.ts';
import { executionsOf } from '../processes/api-ledger.ts';
import { anyMysql, MYSQL_STATEMENTS, mysqlBackendOn, mysqlPlaceOn } from '../processes/backends/mysql.ts';
import { type FaultProxy, startFaultProxy } from '../services/fault-proxy.ts';
import { type MysqlServer, startMysql } from '../services/mysql.ts';
import { mysqlWire } from '../services/mysql-wire.ts';
import { ask, askUntil, wordOf } from './asking.ts';

const source = anyMysql();
/** A dead connection is noticed after this and a margin of the store's. */
const STATEMENT_TIME_MAX_MS = 300;
const CLAIM_TTL_MS = 900;

const LEAVES = ['closed', 'half-open'] as const;
const KINDS = ['claim', 'finish', 'renew', 'find', 'commit'] as const;
const CASES = KINDS.flatMap((kind) => LEAVES.map((leaves) => ({ kind, leaves })));

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

  describe('on its way to an API process', () => {
    let cluster: Cluster;
    let one: ApiProcess;
    let two: ApiProcess;
    beforeAll(async () => {
      const place = mysqlPlaceOn(await server.createDatabase(), proxy);
      const address = { ...place.address, statementTimeMaxMs: STATEMENT_TIME_MAX_MS };
      cluster = await startCluster({
        backend: await mysqlBackendOn(server, false),
        place: { ...place, address },
        size: 2,
        claimTtlMs: CLAIM_TTL_MS,
        storeTimeMaxMs: 3_000,
      });
      [one, two] = cluster.processes as [ApiProcess, ApiProcess];
    });
    afterAll(() => cluster.close());

    // F15, F44
    it.each(CASES)('to a $kind changes nothing when its connection is $leaves', async ({ kind, leaves }) => {
      const request: ApiRequest = {
        path: '/unknown/now',
        key: `${kind}-${leaves}`,
        // Long enough for a renewal.
        workMs: kind === 'renew' ? CLAIM_TTL_MS : 0,
      };
      // A record is looked up by a process that does not know it from before.
      const before = kind === 'find' ? await ask(one, request) : undefined;
      const fault = proxy.arm({ statement: MYSQL_STATEMENTS[kind], what: 'lose-reply', leaves });
      const first = await ask(before === undefined ? one : two, request);
      await fault.happened;
      expect(wordOf(first)).toBe('201');
      expect(JSON.parse(first.body)).toMatchObject({ attempt: 1 });
      if (before !== undefined) expect(essenceOf(first)).toBe(essenceOf(before));
      for (const process of [one, two]) {
        expect(essenceOf(await askUntil(process, request, '201'))).toBe(essenceOf(first));
      }
      expect(executionsOf(cluster.ledger(), request.key, 'tenant-a')).toHaveLength(1);
    });

    it('does not come at all, when the connection is cut before the statement: it is asked again', async () => {
      for (const kind of ['claim', 'finish', 'commit'] as const) {
        const request: ApiRequest = { path: '/unknown/now', key: `cut-${kind}` };
        const fault = proxy.arm({ statement: MYSQL_STATEMENTS[kind], what: 'cut-before' });
        const first = await ask(one, request);
        await fault.happened;
        expect(wordOf(first)).toBe('201');
        expect(essenceOf(await ask(two, request))).toBe(essenceOf(first));
        expect(executionsOf(cluster.ledger(), request.key, 'tenant-a')).toHaveLength(1);
      }
    });
  });

  // F15: a store says that it does not know, and never that nothing happened.
  it.each(LEAVES)(
    'to the COMMIT of a group of ends leaves it unclear, and they stand (%s)',
    async (leaves) => {
      const url = await server.createDatabase();
      const through = String(mysqlPlaceOn(url, proxy).address['url']);
      const store = mysqlStore({ connect: () => createConnection(through), statementTimeMaxMs: 300 });
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
    const store = mysqlStore({ connect: () => createConnection(through), statementTimeMaxMs: 300 });
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
