/** Whole engines on DynamoDB. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { engineContract } from '../../src/testing/engine-contract.ts';
import { availableDynamoDb, type DynamoDbServer, startDynamoDb } from '../services/dynamodb.ts';
import { dynamoHarness } from '../stores/dynamodb-harness.ts';

for (const source of availableDynamoDb()) {
  describe(source.name, () => {
    let server: DynamoDbServer;
    beforeAll(async () => {
      server = await startDynamoDb(source);
    });
    afterAll(() => server.stop());

    engineContract(
      { describe, it },
      dynamoHarness(source, () => server),
    );
  });
}
