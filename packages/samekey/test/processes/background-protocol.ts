/** What the processes of the proof of background work and whoever started them say to each other; messages go over IPC. */

import type { StoreAddress } from './backends/backend.ts';

/**
 * The operations. `book`: a line and a message in one transaction. `ship`: a line, and the request handed over with a message. `pay-…`: a
 * line, an effect under that rule, another line. `report`: a line, deferred. `charge`: a plain call of the provider.
 */
export const OPERATIONS = [
  'book',
  'ship',
  'pay-downstreamKey',
  'pay-inquire',
  'pay-reconcile',
  'report',
  'charge',
] as const;
export type OperationName = (typeof OPERATIONS)[number];

/** The lines that each operation writes; a second one of a kind is a second run. */
export const LINES: Readonly<Record<OperationName, readonly string[]>> = {
  book: ['book'],
  ship: ['ship'],
  'pay-downstreamKey': ['reserve', 'done'],
  'pay-inquire': ['reserve', 'done'],
  'pay-reconcile': ['reserve', 'done'],
  report: ['report'],
  charge: [],
};

/** Whether the provider is asked for money: under its own name, `book` by its message. */
export const PAYS: readonly OperationName[] = OPERATIONS.filter((name) => name !== 'report');

/** An API answers requests; a worker delivers, pushes on and keeps order; a reconciler asks the provider. */
export type Role = 'api' | 'worker' | 'reconciler';

/** What becomes of a process: at its n-th probe point it kills itself, or says that it stands still and does. */
export interface Fate {
  readonly what: 'die' | 'freeze';
  readonly atPoint: number;
}

/** Options of a process, as JSON in its first argument. */
export interface BackgroundOptions {
  readonly role: Role;
  readonly name: string;
  readonly store: StoreAddress;
  readonly providerPort: number;
  readonly controlPort: number;
  readonly fate: Fate | null;
}

/** What a client sends. */
export interface BackgroundInput {
  readonly reference: string;
  readonly amount: number;
}

/** To an API. */
export interface AskMessage {
  readonly type: 'ask';
  readonly id: number;
  readonly operation: OperationName;
  readonly key: string;
  readonly input: BackgroundInput;
}

/** From a process. `frozen`: it stands still from now on. `event`: one of those that must leave a row in the audit. */
export type FromBackground =
  | { readonly type: 'ready' }
  | { readonly type: 'frozen' }
  | { readonly type: 'event'; readonly name: string; readonly key: string }
  | {
      readonly type: 'answer';
      readonly id: number;
      readonly kind: string;
      readonly state: string | null;
      readonly value: unknown;
    };

/** Short, and long against each other: a call is under way for less than `callTimeMaxMs`. */
export const TIMES = {
  claimTtlMs: 1_500,
  storeTimeMaxMs: 500,
  callTimeoutMs: 700,
  callTimeMaxMs: 2_500,
  leaseMs: 1_500,
  pollMs: 100,
} as const;
