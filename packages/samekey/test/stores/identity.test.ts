/** Whose a database is: the contract on every store that processes share, and the shared cache in front of them (F116). */

import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { postgresStore } from '../../src/stores/postgres/index.ts';
import { distributedPostgresStore } from '../../src/stores/postgres/distributed/index.ts';
import { redisStore } from '../../src/stores/redis/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { tieredStore } from '../../src/stores/tiered/index.ts';
import { systemWorld } from '../../src/system.ts';
import { claimRequest, finished, foundBecause, only } from '../../../testing/src/contract/context.ts';
import {
  identityContract,
  type IdentifiedStore,
  type PlaceUnderTest,
} from '../../../testing/src/identity-contract.ts';
import type { Store } from '../../src/store/store.ts';
import { signal } from '../../../testing/src/tx/kit.ts';
import { availableDynamoDb, dynamoClient, type DynamoDbServer, startDynamoDb } from '../services/dynamodb.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { anyPostgres } from '../services/postgres.ts';
import { isRedisHere, type RedisServer, startRedis } from '../services/redis.ts';
import { CLIENTS } from './redis-clients.ts';
import { availableClients, temporaryFile } from './sqlite-clients.ts';
import { mapCache } from './tiered-setup.ts';
import { useServer } from './postgres-setup.ts';

const runner = { describe, it };

/** A place whose stores are closed with it, and then what they stand on. */
function placeOf(make: (service: string) => IdentifiedStore, end: () => unknown): PlaceUnderTest {
  const stores: IdentifiedStore[] = [];
  return {
    open(service) {
      const store = make(service);
      stores.push(store);
      return store;
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await end();
    },
  };
}

const distributedOf = (service: string, connect: () => Client): IdentifiedStore =>
  distributedPostgresStore({ service, engine: 'other', lanes: 1, connect });

const connecting = (url: string) => (): Client => {
  const made = new Client(url);
  made.on('error', () => undefined);
  return made;
};

const identified = (service: string, databaseId: string): IdentifiedStore => ({
  ...memoryStore(),
  identity: async () => ({ service, databaseId }),
});

for (const { name, open } of availableClients()) {
  identityContract(runner, {
    name: `SQLite with ${name}`,
    others: 'refused',
    takesAny: true,
    async create() {
      const file = temporaryFile();
      const clients = new Set<{ close(): unknown }>();
      return placeOf(
        (service) => {
          const database = open(file.path);
          clients.add(database);
          return sqliteStore({ service, database });
        },
        () => {
          for (const client of clients) client.close();
          file.remove();
        },
      );
    },
  });
}

const postgres = anyPostgres();
describe.runIf(postgres !== undefined)('PostgreSQL', () => {
  const server = useServer(postgres as NonNullable<typeof postgres>);
  for (const schema of ['public', 'of its own']) {
    identityContract(runner, {
      name: `PostgreSQL, a schema called ${schema}`,
      others: 'refused',
      takesAny: true,
      async create() {
        const db = await server.database();
        return placeOf(
          (service) =>
            postgresStore({ service, schema: schema.replaceAll(' ', '_'), connect: connecting(db.url) }),
          () => db.close(),
        );
      },
    });
  }
  // F116: there is no lock, so the one may have looked before the other wrote.
  it('distributed: of two services that come at once the one that writes second is told', async () => {
    const db = await server.database();
    const [reached, held] = [signal(), signal()];
    const billing = distributedOf('billing', () => {
      const made = connecting(db.url)();
      const query = made.query.bind(made) as (asked: { readonly text: string }) => Promise<unknown>;
      return Object.assign(made, {
        async query(asked: { readonly text: string }) {
          if (asked.text.includes('label) VALUES')) {
            reached.give();
            await held.given;
          }
          return query(asked);
        },
      });
    });
    const second = billing.migrate?.();
    second?.catch(() => undefined);
    await reached.given;
    const orders = distributedOf('orders', connecting(db.url));
    await orders.migrate?.();
    held.give();
    await expect(second).rejects.toThrow(/belongs to the service "orders".*made for "billing"/);
    await orders.ready();
    await Promise.all([orders.close(), billing.close(), db.close()]);
  });

  identityContract(runner, {
    name: 'distributed PostgreSQL',
    others: 'refused',
    takesAny: true,
    async create() {
      const db = await server.database();
      return placeOf(
        (service) =>
          distributedPostgresStore({ service, engine: 'other', lanes: 1, connect: connecting(db.url) }),
        () => db.close(),
      );
    },
  });
});

for (const source of availableMysql().filter(({ programs }) => programs !== null)) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    identityContract(runner, {
      name: source.name,
      others: 'refused',
      takesAny: true,
      async create() {
        const url = await server.createDatabase();
        return placeOf(
          (service) => mysqlStore({ service, connect: () => createConnection(url) }),
          () => undefined,
        );
      },
    });
  });
}

for (const source of availableDynamoDb()) {
  describe(source.name, () => {
    let server: DynamoDbServer;
    beforeAll(async () => {
      server = await startDynamoDb(source);
    });
    afterAll(() => server.stop());

    identityContract(runner, {
      name: `DynamoDB on ${source.name}`,
      others: 'refused',
      takesAny: false,
      async create() {
        const tableName = await server.createTable();
        const client = dynamoClient(server.url);
        return placeOf(
          (service) =>
            dynamodbStore({
              service,
              client,
              tableName,
              timeToLive: false,
              transactions: source.transactions,
            }),
          () => client.destroy(),
        );
      },
    });
  });
}

describe.runIf(isRedisHere())('Redis', () => {
  let server: RedisServer;
  let prefixes = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  for (const { name, open } of CLIENTS) {
    identityContract(runner, {
      name: `Redis with ${name}`,
      others: 'apart',
      takesAny: false,
      async create() {
        const { client, close } = await open(server.url);
        prefixes += 1;
        const prefix = `p${prefixes}`;
        return placeOf((service) => redisStore({ service, client, prefix, durability: 'none' }), close);
      },
    });
  }
});

describe('a shared cache in front of stores of several services', () => {
  const world = systemWorld();
  const tier = (store: IdentifiedStore, cache: ReturnType<typeof mapCache>) =>
    tieredStore({ store, cache, replayShareMin: 0, world });

  /** Puts an answer into the cache by one store, and asks for it by another one, which has learnt its clock. */
  async function asked(by: IdentifiedStore, of: IdentifiedStore): Promise<string> {
    const cache = mapCache();
    const first = tier(of, cache);
    await finished(first, 'completed');
    for (let turn = 0; turn < 3; turn += 1) await foundBecause(first, 'final');
    expect(cache.entries.size).toBe(1);
    const second = tier(by, cache);
    await finished(second, 'completed', { key: 'another' });
    for (let turn = 0; turn < 3; turn += 1)
      await second.claim([claimRequest({ key: 'another', claimId: `again-${turn}` })]);
    return only(await second.claim([claimRequest()])).kind;
  }

  // F116
  it('an entry is of one service and one database, and answers no other', async () => {
    expect(await asked(identified('billing', 'one'), identified('orders', 'one'))).toBe('claimed');
    expect(await asked(identified('orders', 'two'), identified('orders', 'one'))).toBe('claimed');
  });

  it('a copy that was given no name of its own is answered from it: this is what the command is for', async () => {
    expect(await asked(identified('orders', 'one'), identified('orders', 'one'))).toBe('found');
  });

  it('a store that does not say whose its keys are takes no shared cache', () => {
    const nobody = Object.fromEntries(Object.entries(memoryStore()).filter(([name]) => name !== 'identity'));
    expect(() => tieredStore({ store: nobody as unknown as Store, cache: mapCache() })).toThrow(
      /says whose keys it holds/,
    );
  });
});
