/** The contracts' harness for DynamoDB: a table for each store, and clocks that only `advance` moves. */

import { type DynamoDbStore, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import type { StoreHarness } from '../../../testing/src/store-contract.ts';
import { fromDynamodb } from '../../src/tx/dynamodb/index.ts';
import {
  type DynamoDbServer,
  type DynamoDbSource,
  dynamoClient,
  temporaryBodies,
} from '../services/dynamodb.ts';
import { checkedClient } from './dynamodb-bench.ts';

/** For a server of this source, which the test file starts before its first test. */
export function dynamoHarness(source: DynamoDbSource, server: () => DynamoDbServer): StoreHarness {
  return {
    name: `dynamodb on ${source.name}`,
    auditsTransitions: true,
    async create(options = { auditTransitions: false }) {
      const tableName = await server().createTable();
      const client = dynamoClient(server().url);
      const checked = checkedClient(client, (_operation, _input, run) => run());
      const bodies = temporaryBodies();
      let elapsedMs = 0;
      let handles = 0;
      function handle(wallOffsetMs: number): DynamoDbStore {
        handles += 1;
        const zero = handles * 5_000_000;
        return dynamodbStore({
          service: 'test',
          client: checked,
          tableName,
          bodies,
          ...options,
          timeToLive: false,
          transactions: source.transactions,
          callTimeMaxMs: 60_000,
          now: () => Date.UTC(2030, 0) + elapsedMs + wallOffsetMs,
          // Each process counts from a zero of its own.
          monotonicNow: () => elapsedMs + zero,
        });
      }
      const store = handle(0);
      await store.ready();
      return {
        store,
        advance(ms) {
          elapsedMs += ms;
        },
        ...(source.transactions && {
          transaction: (body) => fromDynamodb(checked).run((_tx, inside) => body(store.within(inside))),
        }),
        async another({ wallOffsetMs }) {
          const other = handle(wallOffsetMs);
          await other.ready();
          return other;
        },
        async close() {
          await client.deleteTable({ TableName: tableName });
          client.destroy();
          bodies.remove();
        },
      };
    },
  };
}
