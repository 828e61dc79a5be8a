/** What must be elsewhere before it is acknowledged: on replicas (WAIT), on disks (WAITAOF); and what counts for nothing. */

import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisClient, type RedisStoreOptions, redisStore } from '../../src/stores/redis/index.ts';
import {
  claimed,
  claimRequest,
  finishRequest,
  foundBecause,
  ID,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { areRedisGroupsHere, type RedisServer, startRedis } from '../services/redis.ts';

describe.runIf(areRedisGroupsHere())('what is required before a write is acknowledged', () => {
  let server: RedisServer;
  let replica: RedisServer;
  let client: Redis;
  let prefixes = 0;
  beforeAll(async () => {
    server = await startRedis();
    replica = await startRedis({ replicaof: `127.0.0.1 ${server.port}` });
    client = new Redis(server.url, {
      retryStrategy: () => 20,
      maxRetriesPerRequest: 500,
      socketTimeout: 20_000,
    });
    client.on('error', () => undefined);
    await vi.waitFor(async () => expect(await client.info('replication')).toMatch(/slave0:.*state=online/), {
      timeout: 20_000,
    });
  });
  afterAll(async () => {
    client.disconnect();
    await replica.stop();
    await server.stop();
  });

  function open(options: Partial<RedisStoreOptions> = {}): ReturnType<typeof redisStore> {
    prefixes += 1;
    return redisStore({
      service: 'test',
      client,
      durability: 'always',
      prefix: `replicas-${prefixes}`,
      requireReplicas: 1,
      waitTimeMaxMs: 5_000,
      ...options,
    });
  }

  it('while no replica has them, renewals, checkpoints and ends are unclear, and are acknowledged once one has', async () => {
    const store = open();
    const owner = await claimed(store);
    const hasty = open({ prefix: `replicas-${prefixes}`, waitTimeMaxMs: 50 });
    const steps = { claimTtlMs: 10_000, recoveryPoint: 'paid', steps: '[1]', intentOpen: true };
    const thaw = replica.freeze();
    try {
      for (const write of [
        () => hasty.renew([{ ...owner, claimTtlMs: 10_000 }]),
        () => hasty.checkpoint([{ ...owner, ...steps }]),
        () => hasty.finish([finishRequest(owner, 'completed')]),
      ]) {
        await expect(write()).rejects.toMatchObject({ applied: 'unknown', busy: true, transient: true });
      }
    } finally {
      thaw();
    }
    expect((await store.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('already');
  });

  // F15
  it.each([
    ['ioredis', async () => client as RedisClient, () => undefined],
    [
      'node-redis',
      () => nodeRedis(server.url),
      (lent: RedisClient) => (lent as unknown as { destroy(): void }).destroy(),
    ],
  ])(
    '%s: a WAIT that is repeated over a new connection, where nothing was written, counts for nothing',
    async (_, lend, end) => {
      const lent = await lend();
      const store = open({ client: lent, waitTimeMaxMs: 2_000 });
      await claimed(store, { key: 'before' });
      const thaw = replica.freeze();
      const admin = new Redis(server.url);
      try {
        const claim = store.claim([claimRequest()]).then(
          () => 'granted',
          ({ applied }: { applied: string }) => applied,
        );
        // It waits for the replica now.
        await expect
          .poll(async () => (await admin.info('clients')).includes('blocked_clients:1'), { interval: 5 })
          .toBe(true);
        const blocked = /^id=(\d+) .* flags=b .*$/m.exec((await admin.call('CLIENT', 'LIST')) as string)?.[1];
        await admin.call('CLIENT', 'KILL', 'ID', String(blocked));
        expect(await claim).not.toBe('granted');
      } finally {
        admin.disconnect();
        thaw();
        end(lent);
      }
    },
  );

  // F15
  it('a claim that was asked for again, and granted then, is not undone by its first asking', async () => {
    const store = open({ waitTimeMaxMs: 2_000 });
    await claimed(store, { key: 'before' });
    const request = claimRequest();
    const admin = new Redis(server.url);
    const scripts = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1]);
    const thaw = replica.freeze();
    let answers: readonly unknown[];
    try {
      const first = store.claim([request]).catch(({ applied }: { applied: string }) => applied);
      await expect
        .poll(async () => (await admin.info('clients')).includes('blocked_clients:1'), { interval: 5 })
        .toBe(true);
      const before = await scripts();
      // As the engine does when a call has taken too long: it lies behind the WAIT, on the same connection.
      const second = store.claim([request]).catch(({ applied }: { applied: string }) => applied);
      await expect.poll(scripts, { interval: 5, timeout: 5_000 }).toBeGreaterThan(before);
      thaw();
      answers = await Promise.all([first, second]);
    } finally {
      thaw();
      admin.disconnect();
    }
    const [first, answer] = answers;
    // Whoever was told that it may run has its record.
    expect(answer).toMatchObject([{ kind: 'claimed', attempt: 1 }]);
    expect(await recordOf(store)).toMatchObject({ state: 'in_progress', claimId: request.claimId });
    expect(first).toBe('unknown');
  });

  it('with requireFsync a write is acknowledged once server and replica have it on disk, also with everysec', async ({
    skip,
  }) => {
    if (!(await knowsWaitAof(client)))
      skip(
        'this server is older than Redis 7.2 and does not know WAITAOF: give a newer one by SAMEKEY_TEST_REDIS_SERVER',
      );
    const other = new Redis(replica.url);
    for (const each of [client, other]) await each.config('SET', 'appendfsync', 'everysec');
    const store = open({ durability: 'everysec', requireFsync: true });
    await store.ready();
    const owner = await claimed(store);
    expect((await store.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('applied');
    await foundBecause(store, 'final');
    const thaw = replica.freeze();
    try {
      const hasty = open({ requireFsync: true, waitTimeMaxMs: 50 });
      await expect(hasty.claim([claimRequest()])).rejects.toMatchObject({
        applied: 'no',
        message: expect.stringMatching(/disks/),
      });
      expect(await hasty.find([ID])).toEqual([null]);
    } finally {
      thaw();
      for (const each of [client, other]) await each.config('SET', 'appendfsync', 'always');
      other.disconnect();
    }
    // Alone, its own disk.
    const alone = open({ requireReplicas: 0, requireFsync: true });
    await claimed(alone);
    expect((await recordOf(alone)).state).toBe('in_progress');
  });

  it('a server that does not know WAITAOF is refused by ready(), and grants nothing', async () => {
    if (await knowsWaitAof(client)) {
      // As an old one answers: no such command.
      await client.call('ACL', 'SETUSER', 'old', 'on', '>pass', '~*', '+@all', '-waitaof');
      const lent = new Redis(server.url, { username: 'old', password: 'pass', socketTimeout: 2_000 });
      await expect(open({ client: lent, requireFsync: true }).claim([claimRequest()])).rejects.toMatchObject({
        applied: 'no',
      });
      lent.disconnect();
      return;
    }
    const store = open({ requireFsync: true });
    await expect(store.ready()).rejects.toThrow(/WAITAOF/);
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'no' });
    expect(await store.find([ID])).toEqual([null]);
  });

  it('requireFsync without an append-only file is refused at once', () => {
    expect(() => open({ durability: 'none', requireFsync: true })).toThrow(
      /requireFsync needs an append-only file/,
    );
    expect(() => open({ requireFsync: 'yes' as never })).toThrow(/requireFsync/);
  });
});

async function nodeRedis(url: string): Promise<RedisClient> {
  const client = createClient({ url, socket: { reconnectStrategy: () => 20, socketTimeout: 20_000 } });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function knowsWaitAof(client: Redis): Promise<boolean> {
  const [found] = (await client.call('COMMAND', 'INFO', 'WAITAOF')) as unknown[];
  return found !== null;
}
