/** The contract of sealed stores, on stores whose bytes can be read: whatever the verb, nothing stands clear (F123). */

import type { DynamoDB } from '@aws-sdk/client-dynamodb';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealed } from '../../src/seal/index.ts';
import { type DynamoDbStore, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { ANSWER, claimed, finishRequest, recordOf } from '../../../testing/src/contract/context.ts';
import { type SealedUnderTest, sealedContract } from '../../../testing/src/sealed-contract.ts';
import { fromDynamodb } from '../../src/tx/dynamodb/index.ts';
import { availableDynamoDb, type DynamoDbServer, dynamoClient, startDynamoDb } from '../services/dynamodb.ts';
import { availableMysql, type MysqlServer, startMysql } from '../services/mysql.ts';
import { anyPostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';
import { RING, sealing } from './rings.ts';
import { database } from './setup.ts';

const seal = sealing(RING);

sealedContract(
  { describe, it },
  {
    name: 'memory',
    async open() {
      const clear = memoryStore();
      return {
        clear,
        sealed: seal(clear),
        async bytes() {
          const stored = [await clear.list({}), await clear.messages.list({}), await clear.audit({})];
          return JSON.stringify(stored, (_, value: unknown) =>
            value instanceof Uint8Array ? characters(value) : value,
          );
        },
        transaction: (store, body) => clear.transaction((tx) => body((store as typeof clear).within(tx))),
        close: async () => undefined,
      };
    },
  },
);

sealedContract(
  { describe, it },
  {
    name: 'SQLite',
    async open() {
      const { clear, bytes } = await database();
      return {
        clear,
        sealed: seal(clear),
        bytes,
        transaction: (store, body) =>
          clear.transaction((tx) => body((store as SqliteStore).within(tx) as never)),
        close: () => clear.close(),
      };
    },
  },
);

describe.runIf(anyPostgres() !== undefined)('on a server', () => {
  const { database: fresh } = useServer(anyPostgres() as NonNullable<ReturnType<typeof anyPostgres>>);

  async function open(): Promise<SealedUnderTest> {
    const db = await fresh();
    const [clear, pool] = [await db.store(), db.pool(2)];
    return {
      clear,
      sealed: seal(clear),
      async bytes() {
        const tables = ['records', 'messages', 'audit', 'counters', 'references'];
        const rows = await Promise.all(
          tables.map((name) => pool.query<{ text: string }>(`SELECT t::text AS text FROM samekey_${name} t`)),
        );
        return rows.flatMap((result) => result.rows.map(({ text }) => text)).join('\n');
      },
      async transaction(store, body) {
        const client = await pool.connect();
        await client.query('BEGIN');
        const result = await body((store as typeof clear).within(client));
        await client.query('COMMIT');
        client.release();
        return result;
      },
      close: () => db.close(),
    };
  }
  sealedContract({ describe, it }, { name: 'PostgreSQL', open });
});

for (const source of availableMysql().slice(0, 1)) {
  describe(source.name, () => {
    let server: MysqlServer;
    beforeAll(async () => {
      server = await startMysql(source);
    }, 60_000);
    afterAll(() => server.stop());

    async function open(): Promise<SealedUnderTest> {
      const url = await server.createDatabase();
      const clear = mysqlStore({ service: 'test', connect: () => createConnection(url) });
      await clear.migrate();
      const theirs = await createConnection(url);
      return {
        clear,
        sealed: seal(clear),
        async bytes() {
          const tables = ['records', 'messages', 'audit', 'counters'];
          const parts: string[] = [];
          for (const name of tables) {
            const [rows] = await theirs.query<RowDataPacket[]>(`SELECT * FROM samekey_${name}`);
            parts.push(...rows.flatMap((row) => Object.values(row).map(characters)));
          }
          return parts.join('\n');
        },
        async transaction(store, body) {
          await theirs.query('START TRANSACTION');
          const result = await body((store as typeof clear).within(theirs));
          await theirs.query('COMMIT');
          return result;
        },
        async close() {
          await Promise.all([clear.close(), theirs.end()]);
        },
      };
    }
    sealedContract({ describe, it }, { name: source.name, open });
  });
}

for (const source of availableDynamoDb().slice(-1)) {
  describe(source.name, () => {
    let server: DynamoDbServer;
    beforeAll(async () => {
      server = await startDynamoDb(source);
    }, 60_000);
    afterAll(() => server.stop());

    async function open(): Promise<SealedUnderTest> {
      const client = dynamoClient(server.url);
      const tableName = await server.createTable();
      const clear = dynamodbStore({ service: 'test', client, tableName, timeToLive: false });
      await clear.ready();
      return {
        clear,
        sealed: seal(clear),
        async bytes() {
          const { Items } = await client.scan({ TableName: tableName, ConsistentRead: true });
          return JSON.stringify(Items, (_, value: unknown) =>
            value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
          );
        },
        transaction: (store, body) =>
          fromDynamodb(client).run((_tx, inside) => body((store as DynamoDbStore).within(inside))),
        async close() {
          client.destroy();
        },
      };
    }
    sealedContract({ describe, it }, { name: source.name, open });

    // F123
    it('the element of a transaction of yours opens as every other answer', async () => {
      const t = await open();
      const client = dynamoClient(server.url);
      const store = t.sealed as unknown as DynamoDbStore;

      const end = await store.completionItem(finishRequest(await claimed(store), 'completed'));
      if (end.kind !== 'item') throw new Error(`expected an item, got ${end.kind}`);
      await client.putItem(end.item.Put as unknown as Parameters<DynamoDB['putItem']>[0]);
      expect((await recordOf(store)).response).toEqual(ANSWER);
      client.destroy();
      await t.close();
    });
  });
}

describe('a verb that nobody knows', () => {
  const store = { ...memoryStore(), export: async () => 'everything' };

  it('is refused, because answers may leave by it', () => {
    expect(() => sealed(store, RING)).toThrow(/whether export\(\) of this store keeps or hands out/);
  });

  it('passes once its owner says that nothing leaves by it', async () => {
    expect(await sealed(store, RING, { passes: ['export'] }).export()).toBe('everything');
  });
});

function characters(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value);
}
