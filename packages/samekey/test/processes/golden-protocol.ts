/** What the processes of the golden path and whoever started them say to each other; messages go over IPC. */

import type { FromApi, ToApi } from './api-protocol.ts';

/** How the effects of the operation are resumed; each has a route, `POST /pay/{rule}`. */
export const RULES = ['downstreamKey', 'inquire', 'reconcile'] as const;
export type Rule = (typeof RULES)[number];

/** Options of a process, as JSON in its first argument. */
export interface GoldenOptions {
  /** For people who read what it wrote. */
  readonly name: string;
  readonly role: 'api' | 'worker';
  readonly databaseUrl: string;
  readonly providerPort: number;
  readonly claimTtlMs: number;
  /** How long a call to the provider may take. */
  readonly callTimeMaxMs: number;
  readonly isolation: 'read committed' | 'repeatable read' | 'serializable';
  /** Where orders reserve their keys. */
  readonly reserve: 'before' | 'in-transaction';
  /** How long the provider remembers keys, as the operation believes; default a day. */
  readonly retentionMs?: number;
}

/** To a process. A worker that is told not to work leaves everything alone until it is told to. */
export type ToGolden =
  | Exclude<ToApi, { readonly type: 'lose-replies' }>
  | { readonly type: 'work'; readonly on: boolean };

/** From a process. */
export type FromGolden = FromApi;
