/** What contenders and stores of the benchmarks are: to add one, write one module. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type express from 'express';
import type { Store } from 'samekey';

export type Workload = 'new-keys' | 'replays';

/** What a server of a contender is started with. */
export interface ContenderOptions {
  readonly workload: Workload;
  /** The database. */
  readonly url: string;
  /** Name of a module of `stores/`. */
  readonly store: string;
  /** Whether Samekey may replay from the process's memory. */
  readonly cache: boolean;
  /** What the handler does: counts, and gives the answer. */
  readonly order: (key: string, body: unknown) => object;
}

/** `open` of a module of `contenders/`: the route, as handlers of Express and as a listener of node:http. */
export type OpenContender = (options: ContenderOptions) => Promise<{
  readonly express: (from: typeof express) => express.RequestHandler[];
  readonly node: (req: IncomingMessage, res: ServerResponse) => void;
  readonly close: () => Promise<void>;
}>;

/** `open` of a module of `stores/`. */
export type OpenStore = (database: {
  readonly url: string;
}) => Promise<{ readonly store: Store; readonly close: () => Promise<void> }>;

/** One measured run. */
export interface Load {
  readonly connections: number;
  readonly seconds: number;
}

/** What came of it. CPU in µs per request: of the HTTP server, of the database's processes, of the client. */
export interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverUs: number;
  readonly databaseUs: number;
  readonly clientUs: number;
  /** What must not happen: statuses other than 201, a key that ran twice or not at all. */
  readonly faults: readonly string[];
}

export interface Contender {
  readonly name: string;
  readonly measure: (load: Load) => Promise<Measured>;
  readonly stop: () => Promise<void>;
}
