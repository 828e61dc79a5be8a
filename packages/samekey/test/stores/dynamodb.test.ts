/** The DynamoDB store holds the contract, on a server of its own. */

import { afterAll, beforeAll, describe, it } from 'vitest';
import { storeContract } from '../../src/testing/store-contract.ts';
import { availableDynamoDb, type DynamoDbServer, startDynamoDb } from '../services/dynamodb.ts';
import { dynamoHarness } from './dynamodb-harness.ts';

for (const source of availableDynamoDb()) {
  describe(source.name, () => {
    let server: DynamoDbServer;
    beforeAll(async () => {
      server = await startDynamoDb(source);
    });
    afterAll(() => server.stop());

    storeContract(
      { describe, it },
      dynamoHarness(source, () => server),
    );
  });
}
