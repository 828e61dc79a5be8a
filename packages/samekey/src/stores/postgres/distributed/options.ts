/** Options of `distributedPostgresStore`, checked before anything is opened. */

import { refuseUnknown, wholeNumber } from '../../../core/settings.ts';
import { checkOptions, type PostgresStoreOptions } from '../options.ts';
import type { Connection } from '../postgres-client.ts';
import { type DistributedEngine, type EngineFacts, factsOf, unknownEngine } from './engines.ts';
import { SERVER_CLOCK } from './layout.ts';

/** Options of `distributedPostgresStore`: the engine, `pool` or `connect`, and how. */
export interface DistributedPostgresStoreOptions
  extends Pick<
    PostgresStoreOptions,
    'pool' | 'connect' | 'schema' | 'prepare' | 'statementTimeMaxMs' | 'random'
  > {
  /** What the server is; `ready()` refuses one that says it is another. `other`: any server that speaks PostgreSQL. */
  readonly engine: DistributedEngine;
  /** Connections for claims, and as many for the ends of attempts; default 4. Two more do upkeep, one more what takes long. */
  readonly lanes?: number;
  /** Test-only: SQL of the clock; default `statement_timestamp()`. */
  readonly clock?: string;
}

/** The options with their defaults filled in. */
export interface CheckedDistributedOptions {
  readonly facts: EngineFacts;
  readonly open: () => Promise<Connection>;
  readonly schema: string;
  readonly prepare: boolean | undefined;
  readonly lanes: number;
  readonly statementTimeMaxMs: number;
  readonly clock: string;
  readonly random: () => number;
}

const NAMES = [
  'engine',
  'pool',
  'connect',
  'schema',
  'prepare',
  'lanes',
  'statementTimeMaxMs',
  'clock',
  'random',
];

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkDistributedOptions(options: DistributedPostgresStoreOptions): CheckedDistributedOptions {
  refuseUnknown('distributedPostgresStore', options ?? {}, NAMES);
  const { engine, lanes = 4, ...rest } = options ?? ({} as DistributedPostgresStoreOptions);
  const facts = factsOf(engine);
  if (facts === undefined) throw unknownEngine(engine);
  return {
    ...checkOptions(rest),
    facts,
    lanes: wholeNumber('lanes', lanes, 1, 64),
    clock: rest.clock ?? SERVER_CLOCK,
  };
}
