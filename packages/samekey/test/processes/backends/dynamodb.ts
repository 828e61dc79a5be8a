/** DynamoDB: a place is a table of its own on one server, which is dynalite unless a URL names another. */

import { dynamodbStore } from 'samekey/stores/dynamodb';
import { dynamoClient, startDynamoDb } from '../../services/dynamodb.ts';
import { type BackendKind, textOf } from './backend.ts';

/** Address: `url` and `table`. */
export const dynamodbBackend: BackendKind = {
  name: 'dynamodb',
  isAvailable: () => true,
  open(address) {
    const client = dynamoClient(textOf(address, 'url'));
    const store = dynamodbStore({ client, tableName: textOf(address, 'table'), timeToLive: false });
    return {
      // The table is made with its place.
      store: { ...store, migrate: async () => undefined },
      close: async () => {
        await store.close();
        client.destroy();
      },
    };
  },
  async start() {
    const server = await startDynamoDb();
    return {
      name: 'dynamodb',
      faults: {},
      async createPlace() {
        const address = { backend: 'dynamodb', url: server.url, table: await server.createTable() };
        return { address, direct: address, remove: async () => undefined };
      },
      close: () => server.stop(),
    };
  },
};
