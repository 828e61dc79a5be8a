/**
 * Whose the table is (`store/identity.ts`): one item, written by whoever comes first, as a table is made by other means
 * than ours. Looked at before the first call of a store, once.
 */

import {
  belongsTo,
  DATABASE_LABEL,
  identityOf,
  refusal,
  SERVICE_LABEL,
  type StoreIdentity,
} from '../../store/identity.ts';
import type { Calls } from './calls.ts';
import type { Item } from './client.ts';
import { textOf } from './item.ts';

/** Where it stands in every table. */
export const IDENTITY_KEY: { readonly pk: { readonly S: string }; readonly sk: { readonly S: string } } = {
  pk: { S: 'm' },
  sk: { S: 'identity' },
};

/** Makes the look, which is made once and again after a failure. Throws `SchemaError` and `StoreError`. */
export function createIdentity(calls: Calls, service: string): () => Promise<StoreIdentity> {
  let looking: Promise<StoreIdentity> | undefined;

  async function look(): Promise<StoreIdentity> {
    const labels = { [SERVICE_LABEL]: { S: service }, [DATABASE_LABEL]: { S: crypto.randomUUID() } };
    await calls.write('putItem', {
      Item: { ...IDENTITY_KEY, ...labels },
      ConditionExpression: 'attribute_not_exists(pk)',
    });
    const found = (await calls.read('getItem', { Key: IDENTITY_KEY, ConsistentRead: true })) as {
      Item?: Item;
    };
    const said = new Map(
      [SERVICE_LABEL, DATABASE_LABEL].map((name) => [name, textOf(found.Item?.[name]) || null]),
    );
    return belongsTo(service, identityOf(said), `The DynamoDB table ${calls.table}`);
  }

  return async () => {
    looking ??= look().catch((error: unknown) => {
      looking = undefined;
      throw error;
    });
    return looking;
  };
}

/** The name that the table was given by chance, for a call that needs it. Throws `StoreError`: nothing was written. */
export async function tableIdOf(identity: () => Promise<StoreIdentity>): Promise<string> {
  try {
    return (await identity()).databaseId;
  } catch (error) {
    throw refusal(error);
  }
}

/** The calls, each of which waits until the table is known to be this service's. */
export function gated(calls: Calls, identity: () => Promise<StoreIdentity>): Calls {
  let isOurs = false;
  async function check(): Promise<void> {
    await tableIdOf(identity);
    isOurs = true;
  }
  return {
    ...calls,
    async read(operation, input) {
      if (!isOurs) await check();
      return calls.read(operation, input);
    },
    async readPatiently(operation, input) {
      if (!isOurs) await check();
      return calls.readPatiently(operation, input);
    },
    async write(operation, input) {
      if (!isOurs) await check();
      return calls.write(operation, input);
    },
  };
}
