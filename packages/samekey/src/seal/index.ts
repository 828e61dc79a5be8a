/**
 * Stored answers, inputs, steps and messages, sealed: a copy of the database says nothing of them.
 */

export { type KeyRingOptions, keyRing, type Seal, type SealRing } from './ring.ts';
export { type Sealed, type SealedOptions, sealed } from './sealed-store.ts';
export type { UnreadableFound } from './unreadable.ts';
export { sealKeyIdsOf } from './sealer.ts';
export { type SealKeyCounts, type SealKeysInUse, sealKeysInUse } from './keys-in-use.ts';
