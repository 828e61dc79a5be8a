/** Records whose handler has begun a call, as an effect leaves them. */

import type { Store } from 'samekey';
import { referenceOf } from 'samekey/internals/store/references';
import { systemWorld } from 'samekey/internals/system';
import { claimed } from '../../testing/src/contract/context.ts';

/** A call that was begun for this record, and what the provider has of it. */
export async function called(
  store: Store,
  id: { readonly scope: string; readonly key: string; readonly operation?: string },
  kind: 'downstream-key' | 'provider-id',
  value: string,
): Promise<void> {
  const owner = await claimed(store, { operation: 'order', ...id });
  await store.checkpoint([
    {
      ...owner,
      claimTtlMs: 60_000,
      recoveryPoint: null,
      steps: null,
      intentOpen: true,
      reference: { reference: await referenceOf(systemWorld(), kind, value), effect: 'charge' },
    },
  ]);
}
