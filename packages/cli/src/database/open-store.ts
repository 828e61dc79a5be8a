/**
 * A store without tables, opened for an operator by its address. Its driver is the user's to install: most databases
 * need none of these.
 *
 * Invariant: opening changes nothing.
 */

import type { OpenStore } from './opened.ts';
import type { StoreAddress } from './store-address.ts';

/** Opens it. Throws `CliError` where there is nothing to open, or its driver is not installed. */
export async function openStore(address: StoreAddress): Promise<OpenStore> {
  if (address.kind === 'redis') {
    const { openRedis } = await import('./open-redis.ts');
    return openRedis(address);
  }
  const { openDynamoDb } = await import('./open-dynamodb.ts');
  return openDynamoDb(address);
}
