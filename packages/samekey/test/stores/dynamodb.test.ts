/** The DynamoDB store holds the contract, on a server of its own. */

import { afterAll, beforeAll, describe } from 'vitest';
import { storeContract } from '../../../testing/src/store-contract.ts';
import { availableDynamoDb, type DynamoDbServer, startDynamoDb } from '../services/dynamodb.ts';
import { dynamoHarness } from './dynamodb-harness.ts';
import { partOf } from './slice.ts';

const SOURCES = availableDynamoDb();

for (const source of SOURCES) {
  describe(source.name, () => {
    let server: DynamoDbServer;
    beforeAll(async () => {
      server = await startDynamoDb(source);
    });
    afterAll(() => server.stop());

    storeContract(
      // The most capable one holds all of it.
      partOf(source.name, source === SOURCES.at(-1)),
      dynamoHarness(source, () => server),
    );
  });
}
