/** Whole engines on DynamoDB. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { engineContract } from '../../src/testing/engine-contract.ts';
import { type DynamoDbServer, startDynamoDb } from '../services/dynamodb.ts';
import { dynamoHarness } from '../stores/dynamodb-harness.ts';

let server: DynamoDbServer;
beforeAll(async () => {
  server = await startDynamoDb();
});
afterAll(() => server.stop());

engineContract(
  { describe, it },
  dynamoHarness(() => server),
);
