/**
 * What engines that speak PostgreSQL's protocol have, and what they lack. Where a fact is false the store does without;
 * nothing is tried and given up at run time. Sources stand in docs/guides/distributed-postgresql.md, with what was run
 * against a server and what was not.
 *
 * On all of them the store uses one kind of statement only: one row, named by its whole key, with the condition of the
 * write in its WHERE. No advisory lock (no-ops on CockroachDB), no LISTEN and NOTIFY, no SKIP LOCKED, no `ctid`,
 * `xmin`, trigger, function, partial index or statement that writes two tables.
 */

import { OptionsError } from '../../../core/errors.ts';

/**
 * An engine that `distributedPostgresStore` knows; `other`: any server that speaks PostgreSQL, PostgreSQL itself too.
 */
export type DistributedEngine = 'citus' | 'cockroachdb' | 'yugabytedb' | 'other';

/** The facts. */
export interface EngineFacts {
  readonly engine: DistributedEngine;
  /** As messages name it. */
  readonly title: string;
  /** What `version()` says; null: anything that is none of the others. */
  readonly version: RegExp | null;
  /** How a text column is told to compare bytes. Empty: it does so by itself, or knows no such word. */
  readonly bytewise: string;
  /** Whether the table must be spread by the store, by scope. */
  readonly spread: boolean;
  /**
   * Whether one server answers a whole SELECT. False: workers do, each by its own clock, so the time is asked for by a
   * statement of its own.
   */
  readonly oneClock: boolean;
  /** Whether the storage is PostgreSQL's, so that `fsync` and `synchronous_commit` mean what they say there. */
  readonly storage: boolean;
  /**
   * SQLSTATEs that do not prove a rollback here. A statement that is cancelled may have been committed by the server
   * that holds the row while the one that answers gave up.
   */
  readonly doubted: ReadonlySet<string>;
  /** Largest record, in bytes. */
  readonly recordSizeMaxBytes: number;
}

const MIB = 1024 * 1024;
const CANCELLED: ReadonlySet<string> = new Set(['57014']);

const FACTS: Readonly<Record<DistributedEngine, EngineFacts>> = Object.freeze({
  citus: {
    engine: 'citus',
    title: 'Citus',
    version: null,
    bytewise: 'COLLATE "C"',
    spread: true,
    oneClock: false,
    storage: true,
    doubted: CANCELLED,
    recordSizeMaxBytes: 256 * MIB,
  },
  cockroachdb: {
    engine: 'cockroachdb',
    title: 'CockroachDB',
    version: /CockroachDB/i,
    bytewise: '',
    spread: false,
    oneClock: true,
    storage: false,
    doubted: CANCELLED,
    recordSizeMaxBytes: 16 * MIB,
  },
  yugabytedb: {
    engine: 'yugabytedb',
    title: 'YugabyteDB',
    version: /-YB-/i,
    bytewise: 'COLLATE "C"',
    spread: false,
    oneClock: true,
    storage: false,
    doubted: CANCELLED,
    recordSizeMaxBytes: 16 * MIB,
  },
  other: {
    engine: 'other',
    title: 'the server',
    version: null,
    bytewise: 'COLLATE "C"',
    spread: false,
    oneClock: true,
    storage: true,
    doubted: CANCELLED,
    recordSizeMaxBytes: 16 * MIB,
  },
});

/** The names, for messages. */
const ENGINES: readonly DistributedEngine[] = Object.keys(FACTS) as DistributedEngine[];

/** The facts of an engine; undefined for a name that is none. */
export function factsOf(engine: unknown): EngineFacts | undefined {
  return ENGINES.includes(engine as DistributedEngine) ? FACTS[engine as DistributedEngine] : undefined;
}

/** Which of them `version()` names; undefined for PostgreSQL and what says it is. */
export function engineOf(version: string): EngineFacts | undefined {
  return Object.values(FACTS).find((facts) => facts.version?.test(version) === true);
}

/** The error for a name that is none. */
export function unknownEngine(engine: unknown): OptionsError {
  const names = ENGINES.map((name) => `'${name}'`).join(', ');
  return new OptionsError(`engine must be one of ${names}; it is ${JSON.stringify(engine)}.`);
}
