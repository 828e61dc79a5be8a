/**
 * Stores with one protection taken away: each is a wrapper around a whole store, and Samekey knows nothing of it.
 * They are the planted bugs of the stage: a run over one of them must go wrong in the way that its story tells.
 */

import type { Store } from 'samekey/internals/store/store';

/** All requests under a key look the same. */
export function withoutFingerprint(store: Store): Store {
  const fingerprint = { label: 'none', digest: 'not compared' };
  return {
    ...store,
    claim: (requests) => store.claim(requests.map((request) => ({ ...request, fingerprint }))),
  };
}
