/** `@samekey/client/browser`: pending operations where browsers keep things. */

export {
  type BestPending,
  bestPending,
  type BestPendingOptions,
  type KeptIn,
} from './best-pending.ts';
export { indexedDbPending } from './indexed-db.ts';
export { localStoragePending } from './local-storage.ts';
