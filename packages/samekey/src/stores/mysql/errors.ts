/**
 * What a driver's error means: applied or not, and whether asking again can help.
 *
 * A write of ours is a statement that commits by itself, or the statements between START TRANSACTION and COMMIT. What
 * the server said about one before COMMIT means: not applied. At COMMIT only a deadlock or a conflict (Galera certifies
 * there) is a rollback.
 * Sources: https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
 * https://mariadb.com/kb/en/mariadb-error-codes/.
 */

import { SamekeyError, StoreError } from '../../core/errors.ts';
import { stoppedBecause } from './session.ts';

/** Deadlock, lock wait timeout, and "record has changed since last read" of MariaDB's snapshot isolation. */
const AGAIN: ReadonlySet<number> = new Set([1213, 1205, 1020]);

/**
 * The server ends, the session was killed, the statement was: at any point of it. Behind 1180 the commit itself failed.
 */
const UNCLEAR: ReadonlySet<number> = new Set([
  1053, 1077, 1079, 1180, 1317, 1927, 3169, 4031, 1152, 1158, 1159, 1160, 1161,
]);

/** No byte of a statement can have been sent. */
const NOT_CONNECTED: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT']);

/** The value is what the server refuses, now and later: too long, out of range, malformed text, too large a packet. */
const OF_THE_VALUE: ReadonlySet<number> = new Set([1153, 1264, 1366, 1406, 1300]);

/** The number that the server gave; undefined when the error is of the driver or the network. */
export function errorNumberOf(error: unknown): number | undefined {
  const { errno: own, originalCode } = (error ?? {}) as { errno?: unknown; originalCode?: unknown };
  // Adapters of Prisma keep it as a text.
  const errno = own ?? (typeof originalCode === 'string' ? Number(originalCode) : undefined);
  if (typeof errno !== 'number') return undefined;
  // 2000–2999 are the client library's, 45000 and on the driver's of MariaDB; the network's are negative.
  return (errno >= 1000 && errno < 2000) || (errno >= 3000 && errno < 10_000) ? errno : undefined;
}

/** Whether a transaction, or a statement that commits by itself, was rolled back to let others through. */
export function isConflict(error: unknown): boolean {
  const number = errorNumberOf((error as { cause?: unknown } | null)?.cause ?? error);
  return number !== undefined && AGAIN.has(number);
}

/** Whether a lock was waited for in vain. */
export function isLockWait(error: unknown): boolean {
  return errorNumberOf((error as { cause?: unknown } | null)?.cause ?? error) === 1205;
}

/** A connection that gave one of these is of no use any more. */
export function breaksConnection(error: unknown): boolean {
  const number = errorNumberOf(error);
  if (number === undefined) return true;
  return (
    UNCLEAR.has(number) ||
    number === 1290 ||
    number === 1836 ||
    stoppedBecause(error) !== undefined ||
    (error as { fatal?: unknown }).fatal === true
  );
}

/** Whether the write behind an error may have been applied. */
export function appliedBy(error: unknown, at: 'connect' | 'statement' | 'commit'): 'no' | 'unknown' {
  if (at === 'connect') return 'no';
  const number = errorNumberOf(error);
  if (number === undefined) {
    const { code } = (error ?? {}) as { code?: unknown };
    return typeof code === 'string' && NOT_CONNECTED.has(code) ? 'no' : 'unknown';
  }
  if (AGAIN.has(number)) return 'no';
  return at === 'commit' || UNCLEAR.has(number) ? 'unknown' : 'no';
}

const REMEDIES: readonly (readonly [number: number, remedy: string])[] = [
  [1146, 'the tables are missing: run `await store.migrate()`, or `npx samekey migrate` of @samekey/cli'],
  [1054, 'the tables are old: run `await store.migrate()`, or `npx samekey migrate` of @samekey/cli'],
  [1046, 'no database is chosen: name it in the settings of connect, or in the option database'],
  [
    1142,
    'a privilege is missing: grant SELECT, INSERT, UPDATE and DELETE on the samekey tables to this user',
  ],
  [
    1419,
    'triggers need log_bin_trust_function_creators = 1, or a user with SUPER, where there is a binary log',
  ],
  [1044, 'this user may not use the database: grant it'],
  [1045, 'the server refused the login: check user and password'],
  [1049, 'the database does not exist: create it'],
  [1040, 'the server has no connection left: raise max_connections or use smaller pools'],
  [1290, 'the server is read-only, probably a replica: connect to the primary'],
  [1836, 'the server is read-only, probably a replica: connect to the primary'],
  [1153, 'a value is larger than max_allowed_packet'],
  [1665, 'binlog_format is STATEMENT: set it to ROW'],
  [1205, 'a row or the table was held by somebody else for too long'],
];

/** The `StoreError` for a driver's error; our own pass as they are. */
export function storeError(error: unknown, at: 'connect' | 'statement' | 'commit'): SamekeyError {
  if (error instanceof SamekeyError) return error;
  const number = errorNumberOf(error);
  const code = (error as { code?: unknown } | null)?.code;
  const remedy = stoppedBecause(error) ?? REMEDIES.find(([known]) => known === number)?.[1];
  const shown =
    number !== undefined ? `error ${number}` : typeof code === 'string' ? `code ${code}` : 'no code';
  return new StoreError(
    `MySQL could not answer (${shown}): ${remedy ?? (number === undefined ? 'check that it is up and can be reached' : 'see the cause')}.`,
    {
      applied: appliedBy(error, at),
      busy: number !== undefined && AGAIN.has(number),
      transient: number === undefined || !OF_THE_VALUE.has(number),
      cause: error,
    },
  );
}
