/** Slots that move in a Cluster, and servers that are up and cannot serve: what is told of them is told apart from a server that is down. */

import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisStore } from '../../src/stores/redis/index.ts';
import { createKeys } from '../../src/stores/redis/key-names.ts';
import { slotOf } from '../../src/stores/redis/client.ts';
import {
  claimed,
  claimRequest,
  finished,
  finishRequest,
  foundBecause,
  ID,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { areRedisGroupsHere, type RedisServer, startRedis } from '../services/redis.ts';
import { ask, type RedisGroup, startRedisCluster } from '../services/redis-groups.ts';
import { CLUSTER_CLIENTS } from './redis-clients.ts';

describe.runIf(areRedisGroupsHere())('slots of a Cluster that move', () => {
  let cluster: RedisGroup;
  let prefixes = 0;
  beforeAll(async () => {
    cluster = await startRedisCluster(0);
  });
  afterAll(() => cluster.stop());

  for (const { name, open } of CLUSTER_CLIENTS) {
    async function opened(): Promise<{
      store: ReturnType<typeof redisStore>;
      prefix: string;
      close: () => void;
    }> {
      const { client, close } = await open(cluster.servers.map(({ url }) => url).join(','));
      prefixes += 1;
      const prefix = `moves-${prefixes}`;
      return { store: redisStore({ service: 'test', client, prefix, durability: 'always' }), prefix, close };
    }

    it(`${name}: a slot that was moved is followed (MOVED), and its records are there`, async () => {
      const { store, prefix, close } = await opened();
      const owner = await claimed(store);
      const move = await beginMove(cluster, keyOf(prefix));
      await move.keys(1_000);
      await move.end();
      expect((await store.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('applied');
      await foundBecause(store, 'final');
      close();
    });

    it(`${name}: while a slot is half moved (ASK, TRYAGAIN) its shard is told to be busy, others go on, and nothing is granted twice`, async () => {
      const { store, prefix, close } = await opened();
      const owner = await finished(store, 'completed');
      const here = shardOf(prefix, ID.key);
      const [inside = '', elsewhere = ''] = [true, false].map((isHere) =>
        String(
          Array.from({ length: 10_000 }, (_, i) => i).find(
            (i) => (shardOf(prefix, `k${i}`) === here) === isHere,
          ),
        ),
      );
      const move = await beginMove(cluster, keyOf(prefix));
      // The record and some indexes are over there, the others are still here.
      await move.keys(2);
      const fault = await store.claim([claimRequest({ key: `k${inside}` })]).catch((error: unknown) => error);
      expect(fault).toMatchObject({ busy: true, transient: true });
      expect((await store.find([owner]))[0]?.state).toBe('completed');
      await claimed(store, { key: `k${elsewhere}` });
      await move.keys(1_000);
      await move.end();
      // Whatever became of it, the same claim gets it now, and another does not.
      const again = await store.claim([claimRequest({ key: `k${inside}` })]);
      expect(again[0]?.kind).toBe('claimed');
      const other = await store.claim([claimRequest({ key: `k${inside}`, claimId: 'another' })]);
      expect(other[0]?.kind).toBe('found');
      close();
    });
  }

  it('a server of the cluster that is gone without a replica makes it CLUSTERDOWN: busy, and nothing is granted', async () => {
    const [first] = cluster.servers as [RedisServer];
    const client = new Redis(first.url, { enableReadyCheck: false });
    const store = redisStore({ service: 'test', client, prefix: 'down', durability: 'always' });
    await (cluster.servers[2] as RedisServer).kill();
    await expect
      .poll(async () => String(await ask(first.port, 'CLUSTER', 'INFO')), { timeout: 20_000 })
      .toMatch(/cluster_state:fail/);
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({
      applied: 'no',
      busy: true,
      message: /CLUSTERDOWN/,
    });
    client.disconnect();
    await (cluster.servers[2] as RedisServer).restart();
    await cluster.whole();
  });
});

describe.runIf(areRedisGroupsHere())('a replica and its master', () => {
  // F54
  it('a replica is up and takes no writes (READONLY), or none at all without its master (MASTERDOWN); one that is gone is not busy', async () => {
    const master = await startRedis();
    const replica = await startRedis({ replicaof: `127.0.0.1 ${master.port}` });
    const client = new Redis(replica.url, {
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    client.on('error', () => undefined);
    const store = redisStore({ service: 'test', client, durability: 'always', prefix: 'replica' });
    try {
      await expect
        .poll(() => client.info('replication'), { timeout: 20_000 })
        .toMatch(/master_link_status:up/);
      await client.config('SET', 'replica-serve-stale-data', 'no');
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({
        applied: 'no',
        busy: true,
        message: /READONLY/,
      });
      await master.kill();
      await expect
        .poll(() => client.info('replication'), { timeout: 20_000 })
        .toMatch(/master_link_status:down/);
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({
        applied: 'no',
        busy: true,
        message: /MASTERDOWN/,
      });
      await replica.kill();
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({ busy: false });
    } finally {
      client.disconnect();
      await replica.stop();
      await master.stop();
    }
  });

  it('a replica that took over has not what the old master acknowledged since; with requireReplicas it was not acknowledged', async () => {
    const master = await startRedis();
    const replica = await startRedis({ replicaof: `127.0.0.1 ${master.port}` });
    const [before, after] = [new Redis(master.url), new Redis(replica.url)];
    for (const client of [before, after]) client.on('error', () => undefined);
    try {
      await expect
        .poll(() => before.info('replication'), { timeout: 20_000 })
        .toMatch(/slave0:.*state=online/);
      const [loose, strict] = [storeOn(before, 'loose'), storeOn(before, 'strict', 1)];
      const owner = await claimed(storeOn(before, 'strict', 1, 10_000));
      // Made a master beside the one that lives, and hears nothing of it any more.
      await after.call('REPLICAOF', 'NO', 'ONE');
      await finished(loose, 'completed');
      await expect(strict.finish([finishRequest(owner, 'completed')])).rejects.toMatchObject({
        applied: 'unknown',
      });
      await expect(strict.claim([claimRequest({ key: 'late' })])).rejects.toMatchObject({ applied: 'no' });
      await master.kill();
      expect(await storeOn(after, 'loose').find([ID])).toEqual([null]);
      // The owner repeats it, and it is still its own.
      expect((await recordOf(storeOn(after, 'strict'))).state).toBe('in_progress');
      expect((await storeOn(after, 'strict').finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe(
        'applied',
      );
    } finally {
      for (const client of [before, after]) client.disconnect();
      await replica.stop();
      await master.stop();
    }
  });
});

/** A store on one of two servers. */
const storeOn = (
  client: Redis,
  prefix: string,
  requireReplicas = 0,
  waitTimeMaxMs = 100,
): ReturnType<typeof redisStore> =>
  redisStore({ service: 'test', client, durability: 'always', prefix, requireReplicas, waitTimeMaxMs });

interface Move {
  /** Moves at most so many keys of the slot. */
  keys(count: number): Promise<void>;
  end(): Promise<void>;
}

/** Begins to move the slot of a key to another server, as tools that reshard do. */
async function beginMove(cluster: RedisGroup, key: string): Promise<Move> {
  const slot = String(slotOf(key));
  const from = await cluster.masterOf(key);
  const to = cluster.servers.find((server) => server !== from) as RedisServer;
  const [fromId, toId] = await Promise.all(
    [from, to].map(async ({ port }) => String(await ask(port, 'CLUSTER', 'MYID'))),
  );
  await ask(to.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(fromId));
  await ask(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(toId));
  return {
    async keys(count) {
      const names = (await ask(from.port, 'CLUSTER', 'GETKEYSINSLOT', slot, String(count))) as string[];
      if (names.length === 0) return;
      await ask(from.port, 'MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...names);
    },
    async end() {
      for (const server of [to, from, ...cluster.servers]) {
        await ask(server.port, 'CLUSTER', 'SETSLOT', slot, 'NODE', String(toId));
      }
    },
  };
}

function keyOf(prefix: string): string {
  return createKeys(`${prefix}/test`, 64).of(ID).keys[0] as string;
}

function shardOf(prefix: string, key: string): number {
  return createKeys(`${prefix}/test`, 64).of({ ...ID, key }).shard;
}
