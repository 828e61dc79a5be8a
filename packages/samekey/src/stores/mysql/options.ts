/** Options of the MySQL store, checked. */

import { OptionsError } from '../../core/errors.ts';
import { serviceRow } from '../../store/identity.ts';
import {
  aFunction,
  readOptions,
  required,
  row,
  shown,
  type Table,
  text,
  trueOrFalse,
  wholeNumber,
} from '../../core/options.ts';
import {
  type Connection,
  type MysqlCallbackConnection,
  type MysqlConnection,
  openConnection,
} from './client.ts';
import { SERVER_CLOCK } from './tables.ts';

/** Options of {@link mysqlStore}. */
export interface MysqlStoreOptions {
  /**
   * The service whose keys the store holds, such as `orders`: 1 to 48 letters, digits and . _ -. All its processes pass
   * the same name. The first `migrate()` writes it into the database, and a store made for another service is refused
   * there. `*`: whichever it is, for tools.
   */
  readonly service: string;
  /**
   * Makes a connection for the store alone: `() => mysql.createConnection(settings)` of mysql2/promise or of mariadb.
   * Called a few times: the store has connections of its own, which handlers cannot use up.
   */
  readonly connect: () => PromiseOrNot<MysqlConnection | MysqlCallbackConnection>;
  /**
   * Where the tables are; default: the database that `connect` chooses. A user's transaction may have another one
   * chosen.
   */
  readonly database?: string;
  /** One statement at most, in milliseconds; default 1,500. */
  readonly statementTimeMaxMs?: number;
  /**
   * Whether each change of a record's state leaves a row in the audit, by triggers: `true`, `migrate()` installs them
   * and `ready()` wants them; `false`, `migrate()` removes them; default: neither.
   */
  readonly auditTransitions?: boolean;
  /** For tests: SQL of the time in milliseconds since 1970. */
  readonly clock?: string;
  /** For tests: this process's wall clock, in milliseconds since 1970; default `Date.now`. No time is taken from it. */
  readonly now?: () => number;
  /** For tests: a monotonic clock, in milliseconds; default `performance.now`. */
  readonly monotonicNow?: () => number;
  /** For tests; default `Math.random`. */
  readonly random?: () => number;
}

type PromiseOrNot<T> = T | Promise<T>;

/** As the store uses them. */
interface CheckedOptions {
  readonly service: string;
  readonly open: () => Promise<Connection>;
  readonly database: string | undefined;
  readonly statementTimeMaxMs: number;
  readonly auditTransitions: boolean | undefined;
  readonly clock: string;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}

const ROWS = {
  service: serviceRow({ anyService: true }),
  connect: required(
    aFunction<MysqlStoreOptions['connect']>(),
    'connect must be a function that makes a connection, as () => mysql.createConnection(settings).',
  ),
  database: row((given, path) => {
    if (typeof given === 'string' && given !== '' && given.length <= 64) return given;
    throw new OptionsError(`${path} must be the name of a database, or left out; it is ${shown(given)}.`);
  }),
  statementTimeMaxMs: wholeNumber(1, 600_000, 1_500),
  auditTransitions: trueOrFalse(),
  clock: text(SERVER_CLOCK),
  now: aFunction<() => number>(),
  monotonicNow: aFunction<() => number>(),
  random: aFunction<() => number>(),
} satisfies Table<MysqlStoreOptions>;

/** Throws `OptionsError` for unknown or wrong options. */
export function checkOptions(options: MysqlStoreOptions): CheckedOptions {
  const { connect, ...own } = readOptions('mysqlStore', ROWS, options);
  return {
    ...own,
    open: async () => openConnection(await connect()),
    now: own.now ?? Date.now,
    monotonicNow: own.monotonicNow ?? (() => performance.now()),
    random: own.random ?? Math.random,
  };
}
