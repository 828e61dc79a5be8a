/**
 * Stored answers, inputs, steps and messages, sealed: a copy of the database says nothing of them.
 */

export { type KeyRingOptions, keyRing, type Seal, type SealRing } from './ring.ts';
export { type Sealed, type SealedOptions, sealed, type UnreadableFound } from './sealed-store.ts';
export { sealKeyIdsOf } from './sealer.ts';
export { type SealKeyCounts, type SealKeysInUse, sealKeysInUse } from './keys-in-use.ts';
