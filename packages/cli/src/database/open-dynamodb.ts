/** A table of DynamoDB, opened for an operator. */

import { IDENTITY_KEY } from 'samekey/internals/stores/dynamodb/identity';
import { dynamodbStore } from 'samekey/stores/dynamodb';
import { CliError, messageOf } from '../cli-error.ts';
import { driver } from './driver.ts';
import { type OpenStore, STATEMENT_TIME_MAX_MS } from './opened.ts';
import type { DynamoDbAddress } from './store-address.ts';

/** Throws `CliError` where the table cannot be asked, or belongs to no service yet. */
export async function openDynamoDb(address: DynamoDbAddress): Promise<OpenStore> {
  const { table, region, endpoint, shown } = address;
  const module = await driver('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));
  if (module === null) {
    throw new CliError(
      'A dynamodb:// address needs a driver that is not installed here: npm install --save-dev @aws-sdk/client-dynamodb (3).',
    );
  }
  const client = new module.DynamoDB({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  const asked = async <T>(question: Promise<T>): Promise<T> => {
    try {
      return await question;
    } catch (error) {
      throw new CliError(`The DynamoDB table ${shown} cannot be asked: ${messageOf(error)}.`);
    }
  };
  try {
    // A store writes its service into a table that has none, and looking must change nothing.
    const said = await asked(client.getItem({ TableName: table, Key: IDENTITY_KEY, ConsistentRead: true }));
    const service = said.Item?.['service']?.S;
    if (service === undefined) {
      throw new CliError(
        `The DynamoDB table ${shown} belongs to no service yet: check its name, or start the application, which writes itself down in it.`,
      );
    }
    const store = dynamodbStore({
      service,
      client,
      tableName: table,
      callTimeMaxMs: STATEMENT_TIME_MAX_MS,
      // As the table has it: a record that ends is found by what deletes it there.
      timeToLive: await asked(deletesByTime(client, table)),
      // An application starts on a global table only where somebody has seen to it.
      oneWriterRegion: true,
    });
    return {
      store,
      now: async () => Date.now(),
      async close() {
        await store.close();
        client.destroy();
      },
    };
  } catch (error) {
    client.destroy();
    throw error;
  }
}

interface Described {
  describeTimeToLive(input: { readonly TableName: string }): Promise<{
    readonly TimeToLiveDescription?: { readonly TimeToLiveStatus?: string | undefined } | undefined;
  }>;
}

async function deletesByTime(client: Described, TableName: string): Promise<boolean> {
  try {
    const { TimeToLiveDescription } = await client.describeTimeToLive({ TableName });
    return /^ENABL(?:ED|ING)$/.test(TimeToLiveDescription?.TimeToLiveStatus ?? '');
  } catch (error) {
    // Stand-ins that do not know it delete nothing.
    if ((error as { readonly name?: unknown }).name === 'UnknownOperationException') return false;
    throw error;
  }
}
