/** A tiered store holds the contract of the store behind it, with each tier. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { redisCache } from '../../src/stores/tiered/index.ts';
import { outboxContract, type OutboxUnderTest } from '../../../testing/src/outbox-contract.ts';
import { type StoreHarness, storeContract } from '../../../testing/src/store-contract.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';
import { CLIENTS as POSTGRES, postgresHarness } from './postgres-clients.ts';
import { CLIENTS as REDIS, redisHarness } from './redis-clients.ts';
import { MEMORY_HARNESSES, tieredHarness } from './tiered-setup.ts';

for (const harness of MEMORY_HARNESSES) storeContract({ describe, it }, harness);

const source = anyPostgres();

describe.runIf(source !== undefined && isRedisHere())('a cache that processes share', () => {
  let server: PostgresServer;
  let redis: RedisServer;
  let url = '';
  beforeAll(async () => {
    server = await startPostgres(source as NonNullable<typeof source>);
    url = await server.createDatabase();
    redis = await startRedis();
  });
  afterAll(async () => {
    opened.close();
    await Promise.all([server.stop(), redis.stop()]);
  });

  const [postgres] = POSTGRES;
  const [client] = REDIS;
  let opened: Awaited<ReturnType<NonNullable<typeof client>['open']>>;
  beforeAll(async () => {
    opened = await (client as NonNullable<typeof client>).open(redis.url);
  });
  let prefixes = 0;
  const behindRedis = (behind: StoreHarness): StoreHarness =>
    tieredHarness(behind, 'a cache in Redis', () => ({
      cache: redisCache({ client: opened.client, prefix: `contract-${(prefixes += 1)}` }),
      memoryBytesMax: 1_000_000,
      replayShareMin: 0,
      // No bound may end a call here because the machine is busy.
      cacheTimeMaxMs: 5_000,
    }));
  // A store that processes share, whose handles are made quickly; what it has not, transactions and messages, PostgreSQL shows.
  storeContract(
    { describe, it },
    behindRedis(redisHarness(() => redis.url, client as NonNullable<typeof client>)),
  );
  const harness = behindRedis(
    postgresHarness('PostgreSQL', () => url, postgres as NonNullable<typeof postgres>),
  );
  outboxContract(
    { describe, it },
    { name: harness.name, create: async () => (await harness.create()) as OutboxUnderTest },
  );
});
