/** Options of `distributedPostgresStore`, checked before anything is opened. */

import { anything, readOptions, required, type Table, text, wholeNumber } from '../../../core/options.ts';
import { checkOptions, POSTGRES_ROWS, type PostgresStoreOptions } from '../options.ts';
import type { Connection } from '../client.ts';
import { type DistributedEngine, type EngineFacts, factsOf, unknownEngine } from './engines.ts';
import { SERVER_CLOCK } from './layout.ts';

/** Options of `distributedPostgresStore`: the engine, `pool` or `connect`, and how. */
export interface DistributedPostgresStoreOptions
  extends Pick<
    PostgresStoreOptions,
    | 'service'
    | 'pool'
    | 'connect'
    | 'schema'
    | 'prepare'
    | 'statementTimeMaxMs'
    | 'now'
    | 'monotonicNow'
    | 'random'
  > {
  /** What the server is; `ready()` refuses one that says it is another. `other`: any server that speaks PostgreSQL. */
  readonly engine: DistributedEngine;
  /**
   * Connections for claims, and as many for the ends of attempts; default 4. Two more do upkeep, one more what takes
   * long.
   */
  readonly lanes?: number;
  /** Test-only: SQL of the clock; default `statement_timestamp()`. */
  readonly clock?: string;
}

/** The options with their defaults filled in. */
interface CheckedDistributedOptions {
  readonly service: string;
  readonly facts: EngineFacts;
  readonly open: () => Promise<Connection>;
  readonly schema: string;
  readonly prepare: boolean | undefined;
  readonly lanes: number;
  readonly statementTimeMaxMs: number;
  readonly clock: string;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}

const ROWS = {
  engine: required(anything<DistributedEngine>(), unknownEngine(undefined).message),
  service: POSTGRES_ROWS.service,
  pool: POSTGRES_ROWS.pool,
  connect: POSTGRES_ROWS.connect,
  schema: POSTGRES_ROWS.schema,
  prepare: POSTGRES_ROWS.prepare,
  statementTimeMaxMs: POSTGRES_ROWS.statementTimeMaxMs,
  now: POSTGRES_ROWS.now,
  monotonicNow: POSTGRES_ROWS.monotonicNow,
  random: POSTGRES_ROWS.random,
  lanes: wholeNumber(1, 64, 4),
  clock: text(SERVER_CLOCK),
} satisfies Table<DistributedPostgresStoreOptions>;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkDistributedOptions(options: DistributedPostgresStoreOptions): CheckedDistributedOptions {
  const { clock, lanes } = readOptions('distributedPostgresStore', ROWS, options);
  const { engine, lanes: _lanes, ...rest } = options;
  const facts = factsOf(engine);
  if (facts === undefined) throw unknownEngine(engine);
  return {
    ...checkOptions(rest),
    facts,
    lanes,
    clock,
  };
}
