/** Options of the MySQL store, checked. */

import { OptionsError } from '../../core/errors.ts';
import { trueOrFalse } from '../../core/settings.ts';
import {
  type Connection,
  type MysqlCallbackConnection,
  type MysqlConnection,
  openConnection,
} from './mysql-client.ts';
import { SERVER_CLOCK } from './tables.ts';

/** Options of {@link mysqlStore}. */
export interface MysqlStoreOptions {
  /**
   * Makes a connection for the store alone: `() => mysql.createConnection(settings)` of mysql2/promise or of mariadb. Called a few times: the
   * store has connections of its own, which handlers cannot use up.
   */
  readonly connect: () => PromiseOrNot<MysqlConnection | MysqlCallbackConnection>;
  /** Where the tables are; default: the database that `connect` chooses. A user's transaction may have another one chosen. */
  readonly database?: string;
  /** One statement at most, in milliseconds; default 1,500. */
  readonly statementTimeMaxMs?: number;
  /**
   * Whether each change of a record's state leaves a row in the audit, by triggers: `true`, `migrate()` installs them and `ready()` wants
   * them; `false`, `migrate()` removes them; default: neither.
   */
  readonly auditTransitions?: boolean;
  /** For tests: SQL of the time in milliseconds since 1970. */
  readonly clock?: string;
  /** For tests; default `Math.random`. */
  readonly random?: () => number;
}

type PromiseOrNot<T> = T | Promise<T>;

/** As the store uses them. */
export interface CheckedOptions {
  readonly open: () => Promise<Connection>;
  readonly database: string | undefined;
  readonly statementTimeMaxMs: number;
  readonly auditTransitions: boolean | undefined;
  readonly clock: string;
  readonly random: () => number;
}

const KNOWN: ReadonlySet<string> = new Set([
  'connect',
  'database',
  'statementTimeMaxMs',
  'auditTransitions',
  'clock',
  'random',
]);

/** Throws `OptionsError` for unknown or wrong options. */
export function checkOptions(options: MysqlStoreOptions): CheckedOptions {
  const unknown = Object.keys(options ?? {}).find((name) => !KNOWN.has(name));
  if (unknown !== undefined) {
    throw new OptionsError(
      `mysqlStore has no option ${unknown}: the options are ${[...KNOWN].slice(0, 4).join(', ')}.`,
    );
  }
  const { connect, database, statementTimeMaxMs = 1_500 } = options;
  if (typeof connect !== 'function') {
    throw new OptionsError(
      `connect must be a function that makes a connection, as () => mysql.createConnection(settings); it is ${typeof connect}.`,
    );
  }
  if (database !== undefined && (typeof database !== 'string' || database === '' || database.length > 64)) {
    throw new OptionsError('database must be the name of a database, or left out.');
  }
  if (!Number.isSafeInteger(statementTimeMaxMs) || statementTimeMaxMs < 1 || statementTimeMaxMs > 600_000) {
    throw new OptionsError(
      `statementTimeMaxMs must be a whole number from 1 to 600000; it is ${String(statementTimeMaxMs)}.`,
    );
  }
  const { auditTransitions } = options;
  if (auditTransitions !== undefined) trueOrFalse('auditTransitions', auditTransitions);
  return {
    open: async () => openConnection(await connect()),
    database,
    statementTimeMaxMs,
    auditTransitions,
    clock: options.clock ?? SERVER_CLOCK,
    random: options.random ?? Math.random,
  };
}
