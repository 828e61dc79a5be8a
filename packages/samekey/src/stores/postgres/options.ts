/** The PostgreSQL store's options, checked before anything is opened. */

import { OptionsError } from '../../core/errors.ts';
import { serviceRow } from '../../store/identity.ts';
import {
  aFunction,
  anything,
  readOptions,
  row,
  shown,
  type Table,
  text,
  trueOrFalse,
  wholeNumber,
} from '../../core/options.ts';
import { PARTITIONS_MAX } from './migrations/partitions.ts';
import {
  type Connection,
  isPostgresJs,
  openConnection,
  type PgClient,
  type PgPool,
  type PostgresJs,
} from './client.ts';

/** Options of `postgresStore`: the service, `pool` or `connect`, and how. */
export interface PostgresStoreOptions {
  /**
   * The service whose keys the store holds, such as `orders`: 1 to 48 letters, digits and . _ -. All its processes pass
   * the same name. The first `migrate()` writes it into the database, and a store made for another service is refused
   * there. `*`: whichever it is, for tools.
   */
  readonly service: string;
  /**
   * A `Pool` of pg. The store takes nothing out of it: it makes connections of its own, with the pool's settings and
   * class. Either this or `connect`.
   */
  readonly pool?: PgPool;
  /**
   * Makes one connection for the store, which closes it again: `() => postgres(url, { max: 1, fetch_types: false })`
   * with postgres.js, or `() => new Client(settings)` with pg (not connected yet). Called again after a loss.
   */
  readonly connect?: () => PgClient | PostgresJs | Promise<PgClient | PostgresJs>;
  /** The schema of the tables; default `public`. Created by `migrate()` if it is not there. */
  readonly schema?: string;
  /**
   * Whether statements are prepared by name. Default: on the store's own connections yes, unless a pooler like
   * PgBouncer is found in between; in transactions of `fromPg` and `fromPostgresJs` too, once the table has 128 KiB and
   * unless it is partitioned; in a `within(tx)` of yours no.
   */
  readonly prepare?: boolean;
  /** Longest time of one statement on the server, in milliseconds; default 1,500. Less than `storeTimeMaxMs`. */
  readonly statementTimeMaxMs?: number;
  /**
   * Whether processes tell each other by NOTIFY that a record changed which somebody waits for (`waitMaxMs`); default
   * false: who waits finds out by reading alone, 25 to 250 ms later. Costs one more connection for each process (two
   * with postgres.js).
   */
  readonly notify?: boolean;
  /**
   * Whether each change of a record's state leaves a row in the audit, by triggers: `true`, `migrate()` installs them
   * and `ready()` wants them; `false`, `migrate()` removes them; default: neither.
   */
  readonly auditTransitions?: boolean;
  /**
   * In how many hash partitions `migrate()` makes the table of records, when it makes it; default 0: one table without.
   * A table that is there stays as it is, and the store works on either. For hundreds of millions of keys.
   */
  readonly partitions?: number;
  /** Test-only: SQL of the clock; default `clock_timestamp()`. */
  readonly clock?: string;
  /** Test-only wall clock of this process, in milliseconds since 1970; default `Date.now`. No time is taken from it. */
  readonly now?: () => number;
  /** Test-only monotonic clock, in milliseconds; default `performance.now`. */
  readonly monotonicNow?: () => number;
  /** Test-only randomness for jitter, in [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

/** The options with their defaults filled in. */
interface CheckedOptions {
  readonly service: string;
  readonly open: () => Promise<Connection>;
  readonly schema: string;
  readonly prepare: boolean | undefined;
  readonly statementTimeMaxMs: number;
  readonly notify: boolean;
  readonly auditTransitions: boolean | undefined;
  readonly partitions: number;
  readonly clock: string;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}

const ROWS = {
  service: serviceRow({ anyService: true }),
  pool: anything<PgPool>(),
  connect: aFunction<Maker>(),
  schema: row((given, path) => {
    if (typeof given === 'string' && given !== '' && !/[^\p{L}\p{N}_$-]/u.test(given) && given.length <= 63)
      return given;
    throw new OptionsError(`${path} must be the name of a schema; it is ${shown(given)}.`);
  }, 'public'),
  prepare: trueOrFalse(),
  statementTimeMaxMs: wholeNumber(1, 600_000, 1_500),
  notify: trueOrFalse(false),
  auditTransitions: trueOrFalse(),
  partitions: wholeNumber(0, PARTITIONS_MAX, 0),
  clock: text('clock_timestamp()'),
  now: aFunction<() => number>(),
  monotonicNow: aFunction<() => number>(),
  random: aFunction<() => number>(),
} satisfies Table<PostgresStoreOptions>;

/** The rows of {@link PostgresStoreOptions}, for a store that takes some of them. */
export const POSTGRES_ROWS: Table<PostgresStoreOptions> = ROWS;

/** Fills in defaults. Throws `OptionsError` naming the option. */
export function checkOptions(options: PostgresStoreOptions): CheckedOptions {
  const { pool, connect, ...own } = readOptions('postgresStore', ROWS, options);
  if ((pool === undefined) === (connect === undefined)) {
    throw new OptionsError('postgresStore takes either pool (of pg) or connect; give exactly one of them.');
  }
  return {
    ...own,
    open: pool === undefined ? async () => openConnection(await made(connect)) : openerOf(pool),
    now: own.now ?? Date.now,
    monotonicNow: own.monotonicNow ?? (() => performance.now()),
    random: own.random ?? Math.random,
  };
}

type Maker = NonNullable<PostgresStoreOptions['connect']>;

async function made(connect: Maker | undefined): Promise<PgClient | PostgresJs> {
  const result = await connect?.();
  if (isPostgresJs(result)) {
    if (result.options?.fetch_types === false) return result;
    throw new OptionsError(
      'postgres.js was made without fetch_types: false: when a connection of it is closed while it still asks for the types of ' +
        'arrays, it fails where nobody can hear it, and the process ends. The store has no use for them: connect: () => ' +
        'postgres(url, { max: 1, fetch_types: false }).',
    );
  }
  if (typeof result?.connect === 'function' && typeof result.query === 'function') return result;
  throw new OptionsError('connect must return a Client of pg or an instance of postgres.js.');
}

/** `new pool.Client(pool.options)` is what a pool of pg does itself; beside it, handlers cannot use it up (F63). */
function openerOf(pool: PgPool): () => Promise<Connection> {
  if (isPostgresJs(pool)) {
    throw new OptionsError(
      'pool is an instance of postgres.js, whose connections your handlers share and may use up: pass ' +
        'connect: () => postgres(url, { max: 1, fetch_types: false }) instead, so that the store has connections of its own.',
    );
  }
  const { Client, options } = pool as PgPool & { readonly Client?: new (settings: object) => PgClient };
  if (typeof Client === 'function' && typeof options === 'object') {
    return () => openConnection(new Client(options));
  }
  throw new OptionsError(
    typeof (pool as { query?: unknown } | null)?.query === 'function'
      ? 'pool is a single connection: a BEGIN of yours on it would swallow claims that were acknowledged, and the ' +
          'transactional way needs several. Pass a Pool of pg, or connect: () => new Client(settings).'
      : `pool must be a Pool of pg; it is ${pool === null ? 'null' : typeof pool}.`,
  );
}
