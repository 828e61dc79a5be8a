/**
 * Records by what a provider has of a call: the key that it carried, or the provider's own id. One look each, by the
 * references of the store; none of them are read newest first.
 */

import { createHash } from 'node:crypto';
import type { SamekeyRecord } from 'samekey';
import { referenceOf } from 'samekey/internals/store/references';
import { ConsoleFault } from './fault.ts';
import type { StoreOfConsole } from './overview.ts';

/** An id of a provider may be given to many, by providers that are not the same; more than these nobody reads. */
const FOUND_MAX = 200;

const digester = {
  sha256: (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url'),
};

/** What was found, newest first, and whether there may be more. Throws `ConsoleFault` where no references are kept. */
export async function recordsReferred(
  store: StoreOfConsole,
  reference: string,
): Promise<{ readonly records: readonly SamekeyRecord[]; readonly isCut: boolean }> {
  const { references } = store;
  if (references === undefined)
    throw new ConsoleFault(
      400,
      'no-references',
      `This store (${store.name}) keeps no references: a downstream key or an id of a provider leads to no record here. Look for the key or the caller.`,
    );
  const wanted = await Promise.all([
    referenceOf(digester, 'downstream-key', reference),
    referenceOf(digester, 'provider-id', reference),
  ]);
  const referred = await references.find(wanted, FOUND_MAX);
  // Several of them lead to one record.
  const ids = new Map(referred.map(({ scope, key }) => [JSON.stringify([scope, key]), { scope, key }]));
  const found = ids.size === 0 ? [] : await store.find([...ids.values()]);
  return {
    records: found
      .filter((record): record is SamekeyRecord => record !== null)
      .toSorted((a, b) => b.createdAt - a.createdAt),
    isCut: referred.length === FOUND_MAX,
  };
}
