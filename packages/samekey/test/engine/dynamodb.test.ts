/** Whole engines on DynamoDB. */

import { afterAll, beforeAll, describe } from 'vitest';
import { engineContract } from '../../../testing/src/engine-contract.ts';
import { availableDynamoDb, type DynamoDbServer, startDynamoDb } from '../services/dynamodb.ts';
import { dynamoHarness } from '../stores/dynamodb-harness.ts';
import { partOf } from '../stores/slice.ts';

const SOURCES = availableDynamoDb();

for (const source of SOURCES) {
  describe(source.name, () => {
    let server: DynamoDbServer;
    beforeAll(async () => {
      server = await startDynamoDb(source);
    });
    afterAll(() => server.stop());

    engineContract(
      // The most capable one holds all of it.
      partOf(source.name, source === SOURCES.at(-1)),
      dynamoHarness(source, () => server),
    );
  });
}
