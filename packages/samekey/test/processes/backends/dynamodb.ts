/**
 * DynamoDB: a place is a table of its own on one server: dynoxide, or what a URL names. With faults wanted, the processes reach
 * it through a proxy that reads its requests.
 */

import { dynamodbStore } from 'samekey/stores/dynamodb';
import { availableDynamoDb, dynamoClient, startDynamoDb } from '../../services/dynamodb.ts';
import { startFaultProxy } from '../../services/fault-proxy.ts';
import { dynamoWire } from '../../services/http-wire.ts';
import { type BackendKind, textOf } from './backend.ts';
import { proxyFaults, serverFaults } from './faults.ts';

/** Verbs that change a record; each of them may lose its answer. */
const WRITE = /^(?:Put|Update|Delete)Item /;

/** Behind a proxy a call may get no answer at all, and is given up sooner. */
const DEAF_CALL_TIME_MAX_MS = 1_000;

/** Address: `url`, `table`, and `callTimeMaxMs` of the store. */
export const dynamodbBackend: BackendKind = {
  name: 'dynamodb',
  isAvailable: () => true,
  open(address) {
    // The SDK's own tries are part of what is proven.
    const client = dynamoClient(textOf(address, 'url'));
    const callTimeMaxMs = address['callTimeMaxMs'];
    const store = dynamodbStore({
      service: 'test',
      client,
      tableName: textOf(address, 'table'),
      timeToLive: false,
      ...(typeof callTimeMaxMs === 'number' ? { callTimeMaxMs } : {}),
    });
    return {
      // The table is made with its place.
      store: { ...store, migrate: async () => undefined },
      close: async () => {
        await store.close();
        client.destroy();
      },
    };
  },
  async start({ faulty = false } = {}) {
    // What survives a crash is asked of those that write to files.
    const source = availableDynamoDb().findLast(({ name }) => name !== 'DynamoDB by URL' || !faulty);
    const server = await startDynamoDb(source);
    const proxy = faulty ? await startFaultProxy(server.url, dynamoWire) : undefined;
    return {
      name: 'dynamodb',
      async createPlace() {
        const table = await server.createTable();
        return {
          address: {
            backend: 'dynamodb',
            url: proxy?.url ?? server.url,
            table,
            ...(proxy === undefined ? {} : { callTimeMaxMs: DEAF_CALL_TIME_MAX_MS }),
          },
          direct: { backend: 'dynamodb', url: server.url, table },
          remove: async () => undefined,
        };
      },
      faults: {
        // Dynalite forgets everything, which no store survives.
        ...(proxy !== undefined && server.source.name === 'dynoxide' && serverFaults(server)),
        ...(proxy !== undefined && proxyFaults(proxy, () => ({ statement: WRITE }))),
      },
      async close() {
        await proxy?.close();
        await server.stop();
      },
    };
  },
};
