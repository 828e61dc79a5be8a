/** Whole engines on Redis, with each client. */

import { afterAll, beforeAll, describe } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';
import { partOf } from '../stores/slice.ts';
import { CLIENTS, redisHarness } from '../stores/redis-clients.ts';

describe.runIf(isRedisHere())('a server of its own', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  for (const client of CLIENTS) {
    engineContract(
      partOf(`Redis, ${client.name}`, client === CLIENTS[0]),
      redisHarness(() => server.url, client),
    );
  }
});
