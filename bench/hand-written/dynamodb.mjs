/** A PutItem on condition and an UpdateItem, by the SDK's own client. */
import { DynamoDB } from '@aws-sdk/client-dynamodb';

/** @param {string} url its fragment is the table */
export function openDynamoDb(url) {
  const { origin, hash } = new URL(url);
  const client = new DynamoDB({
    endpoint: origin,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  return { client, tableName: hash.slice(1) };
}

/** @param {string} key */
const itemKey = (key) => ({ pk: { S: `hand-${key}` }, sk: { S: 'r' } });

/** @type {import('../contract.d.ts').OpenHandWritten} */
export async function open({ url }) {
  const { client, tableName: TableName } = openDynamoDb(url);
  return {
    async begin(key) {
      const ConditionExpression = 'attribute_not_exists(pk)';
      try {
        await client.putItem({ TableName, Item: itemKey(key), ConditionExpression });
        return true;
      } catch {
        return false;
      }
    },
    async end(key, text) {
      await client.updateItem({
        TableName,
        Key: itemKey(key),
        UpdateExpression: 'SET body = :body',
        ExpressionAttributeValues: { ':body': { S: text } },
      });
    },
    async find(key) {
      const { Item } = await client.getItem({ TableName, Key: itemKey(key), ConsistentRead: true });
      return Item?.['body']?.S ?? null;
    },
    close: async () => client.destroy(),
  };
}
