/** `@samekey/client/browser`: pending operations where browsers keep things. */

export { indexedDbPending } from './indexed-db.ts';
export { localStoragePending } from './local-storage.ts';
