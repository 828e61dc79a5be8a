/**
 * The seam between the proofs on real processes and the stores. A store joins with one module here and one line in the list: how a
 * process opens it from plain data, how the harness starts the server and gets empty places on it, and which faults it can suffer.
 * Rounds of races, kills and restarts know nothing else of it.
 */

import type { Store } from 'samekey';

/** Where a store is, as plain data: it goes to the processes as JSON. */
export type StoreAddress = { readonly backend: string } & Readonly<Record<string, string | number>>;

/** A store and what has to be closed with it. */
export interface OpenStore {
  readonly store: Store & { migrate(): Promise<void> };
  close(): Promise<void>;
}

/** An empty place for records. */
export interface Place {
  /** For the processes under proof: through whatever stands in between. */
  readonly address: StoreAddress;
  /** For the harness: around it. */
  readonly direct: StoreAddress;
  remove(): Promise<void>;
}

/**
 * What a server can suffer. `crash`: all of its processes are killed, then it is started again. `freeze`: none of its
 * processes runs for a while. `cut`: all connections are closed. `deaf`: all connections stay open and carry nothing.
 * `lose-reply`: one statement is applied, and its answer is lost.
 */
export const FAULTS = ['crash', 'freeze', 'cut', 'deaf', 'lose-reply'] as const;
export type FaultName = (typeof FAULTS)[number];

/** Makes it happen, by chance of the seeded generator; resolves when it is over and the server can answer again. */
export type Fault = (random: () => number) => Promise<void>;

/** A running server, or whatever stands for one. */
export interface Backend {
  readonly name: string;
  createPlace(): Promise<Place>;
  readonly faults: Readonly<Partial<Record<FaultName, Fault>>>;
  close(): Promise<void>;
}

/** How a backend is started. */
export interface BackendOptions {
  /** Whether faults are wanted: what makes them (a proxy) costs time on every statement; default false. */
  readonly faulty?: boolean;
  /** Where the data lies; default `memory`, where there is any. */
  readonly medium?: 'memory' | 'disk';
}

/** What a module of this folder is. */
export interface BackendKind {
  readonly name: string;
  /** Left to the long proofs (`tools/prove.mjs`): another store shows tests the same. */
  readonly proofsOnly?: boolean;
  /** Whether this machine has it; what is missing is said on the console, and fails where everything is required. */
  isAvailable(): boolean;
  /** Opens what an address of this backend stands for; without migrating it. */
  open(address: StoreAddress): OpenStore;
  start(options?: BackendOptions): Promise<Backend>;
}

/** A text of an address. */
export function textOf(address: StoreAddress, setting: string): string {
  const value = address[setting];
  if (typeof value !== 'string') throw new Error(`${address.backend}: ${setting} is missing in the address.`);
  return value;
}
