/** The Redis store holds the contract, with each client. */

import { afterAll, beforeAll, describe } from 'vitest';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';
import { partOf } from './slice.ts';
import { CLIENTS, redisHarness } from './redis-clients.ts';

describe.runIf(isRedisHere())('a server of its own', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  for (const client of CLIENTS) {
    storeContract(
      partOf(`Redis, ${client.name}`, client === CLIENTS[0]),
      redisHarness(() => server.url, client),
    );
  }
});
