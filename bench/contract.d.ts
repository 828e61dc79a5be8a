/** What contenders and stores of the benchmarks are: to add one, write one module. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type express from 'express';
import type { MiddlewareHandler } from 'hono';
import type { Store } from 'samekey';

export type Workload = 'new-keys' | 'replays' | 'golden';

/** What a server of a contender is started with. */
export interface ContenderOptions {
  readonly workload: Workload;
  /** The database. */
  readonly url: string;
  /** Name of a module of `stores/`. */
  readonly store: string;
  /** Where a store may have several. */
  readonly client?: string;
  /** Whether Samekey may replay from the process's memory. */
  readonly cache: boolean;
  /** What the handler does: counts, and gives the answer. */
  readonly order: (key: string, body: unknown) => object;
}

/** `open` of a module of `contenders/`: the route, as handlers of Express and of Hono, and as a listener of node:http. */
export type OpenContender = (options: ContenderOptions) => Promise<{
  readonly express: (from: typeof express) => express.RequestHandler[];
  readonly node: (req: IncomingMessage, res: ServerResponse) => Promise<void> | void;
  /** Absent: it is not measured there. */
  readonly hono?: MiddlewareHandler[];
  readonly close: () => Promise<void>;
}>;

/** `open` of a module of `stores/`. */
export type OpenStore = (database: {
  readonly url: string;
  /** Where a store may have several. */
  readonly client?: string;
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

/** What people write by hand around their handler. */
export interface HandWritten {
  /** Whether the key is new. */
  readonly begin: (key: string) => Promise<boolean>;
  readonly end: (key: string, text: string) => Promise<void>;
  readonly find: (key: string) => Promise<string | null>;
  readonly close: () => Promise<void>;
}

/** `open` of a module of `hand-written/`. */
export type OpenHandWritten = (database: {
  readonly url: string;
  readonly client?: string;
}) => Promise<HandWritten>;

/** Calls without HTTP: what `callers.mjs` is told. */
export interface Calls {
  /**
   * `hand-written`: begin and end. `store`: claim and finish of the seam, grouped by the dispatcher. `run`: the whole engine. `one-by-one`: as
   * `store`, one row a call.
   */
  readonly kind: 'hand-written' | 'store' | 'run' | 'one-by-one';
  readonly store: string;
  readonly url: string;
  readonly client?: string;
}

/** A running engine of `engines/`. */
export interface Engine {
  readonly url: string;
  readonly describe: string;
  /** CPU of its processes so far, in µs; 0 where it runs in the caller's. */
  readonly cpuUs: () => number;
  readonly stop: () => Promise<void>;
  /** Clients worth comparing; the first is the default. */
  readonly clients: readonly string[];
  /** The engine's own tool, if it is here: pairs a second by as many connections. */
  readonly raw?: { readonly name: string; readonly run: (load: Load) => Promise<number> };
}

/** `start` of a module of `engines/`. */
export type StartEngine = (settings: { readonly appendfsync: string }) => Promise<Engine>;
