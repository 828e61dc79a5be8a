/** `@samekey/client/keys`: makers of keys, for producers that send them elsewhere. */

export { derivedKey } from '../derived.ts';
export { uuidV4, uuidV7 } from '../keys.ts';
