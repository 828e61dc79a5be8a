/** Rings for tests, and ways to seal a store with them. */

import { randomBytes } from 'node:crypto';
import type { Store } from '../../src/store/store.ts';
import { keyRing, type SealRing, sealed } from '../../src/seal/index.ts';

/** Keys that all tests of one run share. */
export const KEYS: Readonly<Record<'k1' | 'k2', Uint8Array>> = { k1: randomBytes(32), k2: randomBytes(32) };

/** The ring after one rotation. */
export const RING: SealRing = keyRing({ current: 'k2', keys: KEYS });

/** A ring of your own that is asynchronous, as one that asks a KMS. */
export const ASYNC_RING: SealRing = {
  seal: async (bytes, about) => RING.seal(bytes, about),
  open: async (keyId, bytes, about) => RING.open(keyId, bytes, about),
};

/** Seals, and keeps the type: a harness is glad of either. */
export function sealing<S extends Store>(ring: SealRing): (store: S) => S {
  return (store) => sealed(store, ring) as unknown as S;
}
