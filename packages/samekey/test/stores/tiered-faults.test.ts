/**
 * A real Redis as the shared cache, and everything that can happen to it under load: killed, frozen, flushed, filled with rubbish, behind.
 * Whatever it suffers, each key runs once and every answer is the store's.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { redisCache, type Tiered, tieredStore } from '../../src/stores/tiered/index.ts';
import { claimRequest, finished, only } from '../../../testing/src/contract/context.ts';
import { createRandom } from '../../../testing/src/random.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';
import { CLIENTS } from './redis-clients.ts';

const SEED = Number(process.env['SAMEKEY_SEED'] ?? 11);
/** The default of `cacheTimeMaxMs`. */
const CACHE_TIME_MAX_MS = 50;
const CALLERS = 16;

interface Process {
  readonly store: Tiered<Store>;
  readonly samekey: Samekey;
}

/**
 * Retries of few keys through all processes until what `blow` does is done, which is told how many were answered; returns
 * what was wrong.
 */
async function load(
  all: readonly Process[],
  blow: (answered: () => number) => Promise<unknown>,
  seed: number,
): Promise<string[]> {
  const random = createRandom(seed);
  const runs = new Map<string, number>();
  const wrong: string[] = [];
  let requests = 0;
  const state = { isOver: false };
  const end = blow(() => requests).finally(() => (state.isOver = true));
  const caller = async (): Promise<void> => {
    while (!state.isOver) {
      const key = `key-${random.between(1, 40)}`;
      const { samekey } = random.pick([...all]);
      const outcome = await samekey.run({ operation: 'pay', scope: ['t'], key, fingerprint: key }, () => {
        runs.set(key, (runs.get(key) ?? 0) + 1);
        return { key };
      });
      requests += 1;
      if (outcome.kind !== 'executed' && outcome.kind !== 'replay' && outcome.kind !== 'in-progress')
        wrong.push(outcome.kind);
      if ('value' in outcome && (outcome.value as { key?: string })?.key !== key) wrong.push('mixed up');
      await new Promise(setImmediate);
    }
  };
  await Promise.all([end, ...Array.from({ length: CALLERS }, caller)]);
  for (const [key, times] of runs) if (times !== 1) wrong.push(`${key} ran ${times} times`);
  return wrong;
}

/** Resolves when it holds; the caller's test ends by its own time-out if it never does. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(10);
}

/** Each caller is answered several times while the cache is away: nobody waits until it is back. */
async function goesOn(answered: () => number): Promise<void> {
  const before = answered();
  await until(() => answered() > before + CALLERS * 5);
}

function hits(all: readonly Process[]): number {
  return all.reduce((sum, { store }) => sum + store.cacheCounts().sharedHits, 0);
}

function failures(all: readonly Process[]): number {
  return all.reduce((sum, { store }) => sum + store.cacheCounts().sharedFailures, 0);
}

describe.runIf(isRedisHere() && process.env['SAMEKEY_TEST_REDIS_URL'] === undefined)(
  'a cache in Redis',
  () => {
    let server: RedisServer;
    let clients: Redis[] = [];
    let prefixes = 0;
    beforeAll(async () => {
      server = await startRedis({ appendonly: 'no' });
    });
    afterEach(() => {
      for (const client of clients) client.disconnect();
      clients = [];
    });
    afterAll(() => server.stop());

    function connect(): Redis {
      const client = new Redis(server.url, { retryStrategy: () => 20 });
      client.on('error', () => undefined);
      clients.push(client);
      return client;
    }

    /** Processes on one store, each with a connection of its own to the cache, and no memory of its own. */
    function processes(count: number): { truth: Store; prefix: string; all: readonly Process[] } {
      const truth = memoryStore();
      const prefix = `faults-${(prefixes += 1)}`;
      const all = Array.from({ length: count }, () => {
        const store = tieredStore({
          store: truth,
          cache: redisCache({ client: connect(), prefix }),
          replayShareMin: 0,
        });
        return { store, samekey: createSamekey({ store, policy: 'standard', replayCacheBytesMax: 0 }) };
      });
      return { truth, prefix, all };
    }

    for (const client of CLIENTS) {
      it(`serves processes with ${client.name}`, async () => {
        const opened = await client.open(server.url);
        const truth = memoryStore();
        const cache = redisCache({ client: opened.client, prefix: `clients-${client.name}` });
        const [a, b] = [0, 1].map(() => tieredStore({ store: truth, cache, replayShareMin: 0 }));
        await finished(truth, 'completed', { key: 'heard' });
        await finished(truth, 'completed');
        await b?.claim([claimRequest({ key: 'heard' })]);
        const first = only((await a?.claim([claimRequest()])) ?? []);
        await until(() => a?.cacheCounts().fills === 1);
        // Behind the fill, on the same connection.
        await cache.get(['nothing']);
        const second = only((await b?.claim([claimRequest()])) ?? []);
        expect(second).toMatchObject({ kind: 'found', because: 'final' });
        expect(second.kind === 'found' && second.record).toEqual(first.kind === 'found' && first.record);
        expect(b?.cacheCounts().sharedHits).toBe(1);
        opened.close();
      });
    }

    // F44
    it(`killed under load and started again, it is left alone and then used again (seed ${SEED})`, async () => {
      const { all } = processes(3);
      const blow = async (answered: () => number): Promise<void> => {
        await until(() => hits(all) > 50);
        await server.kill();
        await until(() => failures(all) > 0);
        await goesOn(answered);
        await server.restart();
        const before = hits(all);
        await until(() => hits(all) > before + 20);
      };
      expect(await load(all, blow, SEED)).toEqual([]);
    });

    // F44, F54: it is up and answers nothing.
    it(`frozen under load, it is waited for shortly and then left alone (seed ${SEED})`, async () => {
      const { all } = processes(3);
      let asked = 0;
      const blow = async (answered: () => number): Promise<void> => {
        await until(() => hits(all) > 50);
        const thaw = server.freeze();
        await until(() => all.every(({ store }) => store.cacheCounts().sharedFailures > 0));
        const before = all.map(({ store }) => store.cacheCounts());
        await goesOn(answered);
        await sleep(CACHE_TIME_MAX_MS * 8);
        asked = all.reduce((sum, { store }, i) => {
          const now = store.cacheCounts();
          return sum + (now.sharedFailures - (before[i]?.sharedFailures ?? 0));
        }, 0);
        thaw();
        const since = hits(all);
        await until(() => hits(all) > since + 20);
      };
      expect(await load(all, blow, SEED)).toEqual([]);
      // What was under way when it froze, and one question a pause; not one a request.
      expect(asked).toBeLessThan(64 * 3);
    });

    it(`flushed again and again, it only helps less (seed ${SEED})`, async () => {
      const { all } = processes(2);
      const admin = connect();
      const blow = async (): Promise<void> => {
        for (let i = 0; i < 20; i += 1) {
          const before = hits(all);
          await until(() => hits(all) > before);
          await admin.flushall();
        }
      };
      expect(await load(all, blow, SEED)).toEqual([]);
    });

    it(`filled with rubbish, it is not believed (seed ${SEED})`, async () => {
      const { all, prefix } = processes(2);
      const admin = connect();
      const random = createRandom(SEED);
      const refused = (): number =>
        all.reduce((sum, { store }) => sum + store.cacheCounts().sharedRefused, 0);
      const blow = async (): Promise<void> => {
        await until(() => hits(all) > 20);
        for (let i = 0; i < 12; i += 1) {
          const names = await admin.keys(`${prefix}:*`);
          for (const name of names) {
            const bytes = await admin.getBuffer(name);
            if (bytes === null) continue;
            const spoilt = [
              Buffer.alloc(0),
              Buffer.from('{"state":"completed"}'),
              bytes.subarray(0, random.between(0, bytes.length - 1)),
              Buffer.concat([bytes, Buffer.from([0])]),
              Buffer.concat([Buffer.from('SKC2'), bytes.subarray(4)]),
              // The lengths of an entry, beyond its end.
              Buffer.concat([bytes.subarray(0, 36), Buffer.from([255, 255, 255, 255]), bytes.subarray(40)]),
              (await admin.getBuffer(random.pick(names))) ?? Buffer.alloc(1),
            ];
            await admin.set(name, random.pick(spoilt), 'PX', 5_000);
          }
          const before = refused();
          if (names.length > 0) await until(() => refused() > before);
        }
        // Another kind of value: Redis answers with an error.
        for (const name of await admin.keys(`${prefix}:*`))
          await admin.multi().del(name).lpush(name, 'x').exec();
      };
      expect(await load(all, blow, SEED)).toEqual([]);
    });
  },
);
