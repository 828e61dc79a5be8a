/** The DynamoDB store; the URL's fragment is the table. */
import { dynamodbStore } from 'samekey/stores/dynamodb';
import { openDynamoDb } from '../hand-written/dynamodb.mjs';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url }) {
  const { client, tableName } = openDynamoDb(url);
  const store = dynamodbStore({ service: 'test', client, tableName, timeToLive: false });
  return { store, close: async () => client.destroy() };
}
