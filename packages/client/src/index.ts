/**
 * `@samekey/client`: calls that may be made again. One key an operation, kept with its request across reload, restart
 * and tabs until it is settled. Where browsers keep it is `@samekey/client/browser`. Runs in browsers, workers and
 * Node; at most 8.4 KB compressed, held by tools/check-size.mjs.
 */

export type { ClientProfile } from './answer.ts';
export { type Client, createClient, type OpenOperation } from './client.ts';
export type { ClientOperation, OperationOptions } from './named-operation.ts';
export type { ClientWorld } from './client-world.ts';
export type { ClientOptions, WhenDone } from './options.ts';
export type { PendingStore } from './pending.ts';
export type {
  ClientEvent,
  ClientResult,
  Done,
  OfOperation,
  Refused,
  Unknown,
  UnknownWhy,
} from './results.ts';
