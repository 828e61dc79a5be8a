/**
 * Stores with one protection taken away: each is a wrapper around a whole store, and Samekey knows nothing of it.
 * They are the planted bugs of the stage: a run over one of them must go wrong in the way that its story tells.
 */

import type { Store } from 'samekey/internals/store/store';
import type { Within } from 'samekey/internals/store/transaction';

/** All requests under a key look the same. */
export function withoutFingerprint(store: Store): Store {
  const fingerprint = { label: 'none', digest: 'none' };
  return {
    ...store,
    claim: (requests) => store.claim(requests.map((request) => ({ ...request, fingerprint }))),
  };
}

/** A store with transactions, as the engine finds it. */
interface Transactional extends Store {
  within(handle: unknown): Within;
}

/**
 * Whoever writes an end is taken for the owner, however late it comes; and a transaction may take as long as it
 * likes.
 */
export function withoutFence(store: Store): Store {
  const inner = store as Transactional;
  return {
    ...store,
    within(handle: unknown): Within {
      const verbs = inner.within(handle);
      return {
        ...verbs,
        limit: async () => undefined,
        async finish(request) {
          const [record] = await store.find([request]);
          const { claimId, attempt } = record ?? request;
          return verbs.finish({ ...request, claimId, attempt });
        },
      };
    },
  } as Store;
}

/** Steps are said to be noted, and are not. */
export function withoutRecoveryPoint(store: Store): Store {
  return { ...store, checkpoint: async (requests) => requests.map(() => ({ kind: 'applied' })) };
}
