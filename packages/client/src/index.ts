/**
 * `@samekey/client`: calls that may be made again. One key an operation, kept with its request across reload, restart
 * and tabs until it is settled. Runs in browsers, workers and Node; at most 6 KB compressed, held by
 * tools/check-size.mjs.
 */

export { type Client, createClient, type PendingInfo } from './client.ts';
export { indexedDbPending } from './indexed-db.ts';
export { uuidV4, uuidV7 } from './keys.ts';
export { localStoragePending } from './local-storage.ts';
export type { ClientOperation } from './named-operation.ts';
export type { ClientOptions, ClientWorld, RetryOptions } from './options.ts';
export { memoryPending, type PendingStore } from './pending.ts';
export type { ClientEvent, ClientResult, OfOperation } from './results.ts';
