/** What only Redis has: scripts that are forgotten, keys with a life of their own, replicas, settings, and faults with names. */

import type { Socket } from 'node:net';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDispatch } from '../../src/engine/dispatch.ts';
import { systemWorld } from '../../src/system.ts';
import { createKeys } from '../../src/stores/redis/key-names.ts';
import { type RedisStoreOptions, redisStore } from '../../src/stores/redis/index.ts';
import { storeError } from '../../src/stores/redis/errors.ts';
import { slotOf } from '../../src/stores/redis/client.ts';
import { EXPIRY_GRACE_MS, REAP } from '../../src/stores/redis/lua.ts';
import {
  ANSWER,
  CLAIM_TTL_MS,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  foundBecause,
  handRequest,
  ID,
  RETENTION_MS,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';

const DISPATCH = { batchRowsMax: 100, batchBytesMax: 1_000_000, callTimeMaxMs: 2_000 };

const isHere = isRedisHere() && process.env['SAMEKEY_TEST_REDIS_URL'] === undefined;

describe.runIf(isHere)('the Redis store on a server', () => {
  let server: RedisServer;
  let client: Redis;
  let prefixes = 0;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url, {
      retryStrategy: () => 20,
      maxRetriesPerRequest: 500,
      socketTimeout: 20_000,
    });
    client.on('error', () => undefined);
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  function open(options: Partial<RedisStoreOptions> = {}): {
    store: ReturnType<typeof redisStore>;
    prefix: string;
  } {
    prefixes += 1;
    const prefix = `servers-${prefixes}`;
    return {
      store: redisStore({ service: 'test', client, durability: 'always', prefix, ...options }),
      prefix,
    };
  }

  it('a server killed with appendfsync always has kept every acknowledged record, and learns the scripts anew', async () => {
    const { store } = open();
    const keys = Array.from({ length: 50 }, (_, i) => `kept-${i}`);
    await Promise.all(keys.map((key) => finished(store, 'completed', { key })));
    await server.kill();
    await server.restart();
    expect(await client.script('EXISTS', '0'.repeat(40))).toEqual([0]);
    for (const key of keys)
      expect((await foundBecause(store, 'final', { key })).record.response).toEqual(ANSWER);
    await finished(store, 'completed', { key: 'after' });
  });

  it('scripts that were flushed between two calls are sent again, and the writes happen once', async () => {
    const { store } = open();
    const owner = await claimed(store);
    await client.script('FLUSH');
    expect((await store.renew([{ ...owner, claimTtlMs: 10_000 }]))[0]?.kind).toBe('renewed');
    await client.script('FLUSH');
    expect((await store.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('applied');
    expect((await recordOf(store)).renewals).toBe(1);
  });

  // F47
  it('only final records have a life of their own, which ends behind retention and tombstone', async () => {
    const { store, prefix } = open();
    const key = keyOf(prefix);
    const owner = await claimed(store, { tombstoneMs: 500 });
    expect(await client.pttl(key)).toBe(-1);
    await store.renew([{ ...owner, claimTtlMs: 10_000 }]);
    expect(await client.pttl(key)).toBe(-1);
    await store.finish([finishRequest(owner, 'failed')]);
    const { expiresAt } = await recordOf(store);
    const answers = (await client.multi().call('TIME').pttl(key).exec()) ?? [];
    const [[seconds, micros], ttlMs] = answers.map(([, reply]) => reply) as [[string, string], number];
    const endsAt = Number(seconds) * 1_000 + Number(micros) / 1_000 + ttlMs;
    // The server reads its clock three times.
    expect(Math.abs(endsAt - (expiresAt + 500 + EXPIRY_GRACE_MS))).toBeLessThanOrEqual(5);
    await store.reopen([handRequest(owner)]);
    expect(await client.pttl(key)).toBe(-1);
  });

  it('a record that nobody can read fails alone: those that are asked for with it are answered, and it never runs', async () => {
    const { store, prefix } = open();
    // As code of before the first release wrote it, or as a hand has spoilt it.
    await client.hset(keyOf(prefix), { version: '1', state: 'completed', scope: ID.scope, key: ID.key });
    const dispatch = createDispatch(store, systemWorld(), DISPATCH, null);
    const inTime = performance.now() + 5_000;
    const answers = await Promise.allSettled(
      ['a', ID.key, 'b'].map((key) => dispatch.claim(claimRequest({ key }), inTime)),
    );
    expect(answers).toMatchObject([
      { value: { kind: 'claimed' } },
      { reason: { applied: 'unknown', transient: false } },
      { value: { kind: 'claimed' } },
    ]);
    const found = await Promise.allSettled(
      ['a', ID.key, 'b'].map((key) => dispatch.find({ scope: ID.scope, key }, inTime)),
    );
    expect(found.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(store.claim([claimRequest()])).rejects.toThrow(/none: look at it with HGETALL/);
  });

  it('a record that nobody can read holds up no sweep of others, nor a list', async () => {
    let now = Date.UTC(2030, 0);
    const { store, prefix } = open({ now: () => now });
    await claimed(store);
    const other = await claimed(store, { key: 'other' });
    await client.hdel(keyOf(prefix), 'made');
    now += CLAIM_TTL_MS + 1;
    expect((await store.sweep(10)).length).toBe(1);
    expect((await recordOf(store, other)).state).toBe('unknown');
    expect((await store.list({ states: ['in_progress', 'unknown'] })).map(({ key }) => key)).toEqual([
      'other',
    ]);
  });

  it('what Redis deleted by itself is told by the reaper, once, and leaves nothing in the indexes', async () => {
    let now = Date.UTC(2030, 0);
    const { store, prefix } = open({ now: () => now });
    await finished(store, 'completed');
    await client.del(keyOf(prefix));
    expect(await store.list({})).toEqual([]);
    now += RETENTION_MS;
    const reaped = await store.reap(10);
    expect([reaped.count, [...reaped.byScope]]).toEqual([1, [[ID.scope, 1]]]);
    expect((await store.reap(10)).count).toBe(0);
    expect(await client.keys(`{${prefix}/test:*}:*`)).toEqual([]);
    expect((await store.count()).completed).toBe(0);
  });

  it('what an index says is looked at again in the record: one that is still to be replayed is not reaped', async () => {
    const { store, prefix } = open();
    const owner = await finished(store, 'completed');
    const set = createKeys(`${prefix}/test`, 64).of(ID).keys[REAP] as string;
    const [member = ''] = await client.zrange(set, 0, -1);
    // As it was read before somebody opened the record and ended it anew.
    expect(await client.zadd(set, 'XX', 'CH', 1, member)).toBe(1);
    expect((await store.reap(10)).count).toBe(0);
    expect((await recordOf(store, owner)).response).toEqual(ANSWER);
  });

  it('no key of a client and no scope stands in the name of a key', async () => {
    const { store, prefix } = open();
    await finished(store, 'completed', { scope: 'alice', key: 'very-secret' });
    for (const name of await client.keys(`{${prefix}/test:*`)) expect(name).not.toMatch(/alice|very-secret/);
  });

  it('without enough replicas a claim is undone, and nobody is told that it was granted', async () => {
    const { store } = open({ requireReplicas: 1, waitTimeMaxMs: 50 });
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'no', transient: true });
    expect(await store.find([ID])).toEqual([null]);
  });

  it('with a replica claims and ends are acknowledged once it has them; an end it has not is left unclear', async () => {
    const replica = await startRedis({ replicaof: `127.0.0.1 ${server.port}` });
    try {
      await expect
        .poll(() => client.info('replication'), { timeout: 20_000 })
        .toMatch(/slave0:.*state=online/);
      const { store } = open({ requireReplicas: 1, waitTimeMaxMs: 5_000 });
      const owner = await claimed(store);
      await replica.kill();
      const hasty = open({ requireReplicas: 1, waitTimeMaxMs: 50 });
      const lone = redisStore({
        service: 'test',
        client,
        durability: 'always',
        prefix: `servers-${prefixes - 1}`,
        requireReplicas: 1,
        waitTimeMaxMs: 50,
      });
      await expect(lone.finish([finishRequest(owner, 'completed')])).rejects.toMatchObject({
        applied: 'unknown',
      });
      await expect(hasty.store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'no' });
    } finally {
      await replica.stop();
    }
  });

  it('ready() refuses eviction, a weaker append-only file than declared, and another number of shards', async () => {
    const { store, prefix } = open();
    await store.ready();
    await expect(
      redisStore({ service: 'test', client, durability: 'always', prefix, shards: 8 }).ready(),
    ).rejects.toThrow(/lie in 64 shards/);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(store.ready()).rejects.toThrow(/noeviction/);
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await client.config('SET', 'appendfsync', 'everysec');
    await expect(store.ready()).rejects.toThrow(/appendfsync everysec/);
    await redisStore({ service: 'test', client, durability: 'everysec', prefix }).ready();
    await client.config('SET', 'appendfsync', 'always');
  });

  // F54
  it('a server whose memory is full refuses a claim with applied "no", and has written nothing of it', async () => {
    const { store, prefix } = open();
    await client.config('SET', 'maxmemory', '1');
    try {
      await expect(store.claim([claimRequest()])).rejects.toMatchObject({
        applied: 'no',
        message: expect.stringMatching(/OOM/),
      });
    } finally {
      await client.config('SET', 'maxmemory', '0');
    }
    expect(await client.keys(`{${prefix}/test:*`)).toEqual([]);
  });

  // F54
  it('a server that runs somebody’s long script is busy, not down', async () => {
    await client.config('SET', 'lua-time-limit', '10');
    const other = new Redis(server.url);
    const endless = other.eval('while true do end', 0).catch(() => undefined);
    const { store } = open();
    await expect
      .poll(() =>
        client.ping().then(
          () => 'pong',
          (error: Error) => error.message,
        ),
      )
      .toMatch(/^BUSY/);
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({
      applied: 'no',
      busy: true,
      message: expect.stringMatching(/BUSY/),
    });
    await client.script('KILL' as 'FLUSH');
    await endless;
    other.disconnect();
    await claimed(store);
  });

  it('a call on a connection inside somebody’s MULTI is unclear, not granted', async () => {
    const lent = new Redis(server.url);
    await lent.call('MULTI');
    const { store } = open({ client: lent });
    await expect(store.claim([claimRequest()])).rejects.toMatchObject({ applied: 'unknown' });
    lent.disconnect();
  });

  it('a lost server is neither busy nor a denial: the claim may have been applied', async () => {
    const lost = new Redis(server.url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
    lost.on('error', () => undefined);
    await lost.ping();
    const { store } = open({ client: lost });
    const claim = store.claim([claimRequest()]);
    (lost as unknown as { readonly stream: Socket }).stream.destroy();
    await expect(claim).rejects.toMatchObject({ applied: 'unknown', busy: false });
  });

  it('ready() refuses a client that keeps connections which went silent, and says what to set', async () => {
    const silent = new Redis(server.url);
    await expect(open({ client: silent }).store.ready()).rejects.toThrow(/socketTimeout: 2_000/);
    silent.disconnect();
    const node = createClient({ url: server.url });
    await node.connect();
    await expect(open({ client: node }).store.ready()).rejects.toThrow(/socketTimeout: 2_000/);
    node.destroy();
  });

  it('a client of node-redis that never comes back after a silence is refused; one with a strategy comes back', async () => {
    const lasting = await nodeRedis(server.url, { socketTimeout: 300 });
    await expect(open({ client: lasting }).store.ready()).rejects.toThrow(/reconnectStrategy/);
    const coming = await nodeRedis(server.url, { socketTimeout: 300, reconnectStrategy: 20 });
    const { store } = open({ client: coming });
    await store.ready();
    // Idle for longer than its time: the connection is ended.
    await expect.poll(() => lasting.isOpen, { timeout: 5_000 }).toBe(false);
    await claimed(store);
    coming.destroy();
  });

  // F39
  it('an answer of 24 MiB is kept and given back to the byte', async () => {
    const { store } = open();
    const body = new Uint8Array(24 * 1024 * 1024).map((_, i) => (i * 31) % 251);
    const owner = await claimed(store);
    const response = { status: 200, headers: [], body };
    await store.finish([{ ...finishRequest(owner, 'completed'), response }]);
    const { record } = await foundBecause(store, 'final');
    expect(Buffer.compare(record.response?.body ?? new Uint8Array(), body)).toBe(0);
  });

  it('sweeping, reaping, listing and erasing go by indexes: the server is never asked for all its keys', async () => {
    const { store } = open({ prefix: 'indexed' });
    const owner = await claimed(store, { whenClaimEnds: 'resume' });
    await finished(store, 'completed', { key: 'over' });
    await client.config('RESETSTAT');
    await store.sweep(10);
    await store.reap(10);
    await store.list({ caller: owner.scope });
    await store.count();
    await store.due({ operations: ['x'], limit: 10 });
    await store.takeUnknown({ operations: null, leaseMs: 1_000, limit: 10 });
    await store.erase({ scope: owner.scope, limit: 10, reason: 'asked for', actor: 'test' });
    const names = (await client.info('commandstats')).matchAll(/^cmdstat_(\w+)/gm);
    const used = new Set([...names].map(([, name]) => name));
    expect(used).toContain('zrangebyscore');
    // SSCAN goes through one caller's own set, a page at a time.
    for (const name of ['keys', 'scan', 'hscan', 'zscan', 'smembers']) expect(used).not.toContain(name);
  });

  it('a pool of node-redis cannot wait for replicas, and is refused with requireReplicas', () => {
    const single = createClient();
    expect(() => open({ client: single, requireReplicas: 1 })).not.toThrow();
    const pool = Object.assign(Object.create(null), { sendCommand: async () => null, totalClients: 1 });
    expect(() => open({ client: pool, requireReplicas: 1 })).toThrow(
      /requireReplicas and requireFsync need a client/,
    );
    expect(() => open({ client: {} as never })).toThrow(/client must be a client/);
    expect(() => open({ durability: 'sometimes' as never })).toThrow(/durability is/);
    expect(() => open({ prefix: 'a{b}' })).toThrow(/prefix must be/);
  });
});

describe('error replies', () => {
  it.each(['BUSY', 'LOADING', 'READONLY', 'MASTERDOWN', 'CLUSTERDOWN', 'MOVED', 'TRYAGAIN'])(
    '%s: the server is up, and nothing was applied',
    (code) => {
      expect(storeError(new Error(`${code} some words`))).toMatchObject({ applied: 'no', busy: true });
    },
  );

  it('a user who may not: the message leads to the page of what must be allowed', () => {
    const error = storeError(new Error('NOPERM this user has no permissions'));
    expect(error.message).toContain('https://samekey.example/internals/redis.');
  });

  it('an error from the middle of a script may come after a write', () => {
    expect(storeError(new Error('ERR Error running script'))).toMatchObject({
      applied: 'unknown',
      busy: false,
    });
  });

  it('the slot of a key is that of its hash tag', () => {
    expect([slotOf('123456789'), slotOf('{user1000}.following')]).toEqual([12_739, slotOf('user1000')]);
  });
});

function keyOf(prefix: string): string {
  return createKeys(`${prefix}/test`, 64).of(ID).keys[0] as string;
}

async function nodeRedis(url: string, socket: { socketTimeout: number; reconnectStrategy?: number }) {
  const client = createClient({ url, socket });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
