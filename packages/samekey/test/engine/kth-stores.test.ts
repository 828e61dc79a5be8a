/** The k-th call of the store meets a fault, in every way: on SQLite, PostgreSQL and Redis, each with one client. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { kthContract } from '../../../testing/src/kth-contract.ts';
import { anyPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';
import { CLIENTS as POSTGRES_CLIENTS, postgresHarness } from '../stores/postgres-clients.ts';
import { CLIENTS as REDIS_CLIENTS, redisHarness } from '../stores/redis-clients.ts';
import { availableClients, sqliteHarness } from '../stores/sqlite-clients.ts';

const [sqlite] = availableClients();
const source = anyPostgres();

if (sqlite !== undefined) kthContract({ describe, it }, sqliteHarness(sqlite.name, sqlite.open));

describe.runIf(source !== undefined)('a PostgreSQL of its own', () => {
  let server: PostgresServer;
  let url = '';
  beforeAll(async () => {
    server = await startPostgres(source as NonNullable<typeof source>);
    url = await server.createDatabase();
  });
  afterAll(() => server.stop());

  for (const client of POSTGRES_CLIENTS.slice(0, 1))
    kthContract(
      { describe, it },
      postgresHarness('PostgreSQL', () => url, client),
    );
});

describe.runIf(isRedisHere())('a Redis of its own', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  for (const client of REDIS_CLIENTS.slice(0, 1))
    kthContract(
      { describe, it },
      redisHarness(() => server.url, client),
    );
});
