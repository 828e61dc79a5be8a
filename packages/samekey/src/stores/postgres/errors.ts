/**
 * What a driver's error means for the write it answered: applied or not, and whether asking again can help.
 *
 * Our statements run alone, each its own transaction (inside a user's transaction everything hangs on its COMMIT). So
 * an ERROR the server sent for it means: rolled back. Exceptions are the codes that may come once the commit record is
 * written or while the server goes down. Severity is not looked at: pg shows it in the server's language.
 * Sources: https://www.postgresql.org/docs/current/errcodes-appendix.html, /protocol-flow.html.
 */

import { SamekeyError, StoreError } from '../../core/errors.ts';

/** The SQLSTATE of an error, or the code its driver or the operating system gave; undefined if there is none. */
export function errorCodeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Whether a statement ended because it waited for a lock longer than it may; of a driver's error or a `StoreError`. */
export function isLockTimeout(error: unknown): boolean {
  return errorCodeOf((error as { cause?: unknown }).cause ?? error) === '55P03';
}

/**
 * Whether it was rolled back to let others through, so that the same may succeed now; of a driver's error or a
 * `StoreError`.
 */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(errorCodeOf((error as { cause?: unknown } | null)?.cause ?? error) ?? '');
}

const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01']);

/**
 * Classes whose errors prove that the statement was rolled back: the server said so and goes on living. 22 data, 23
 * constraint, 42 names and privileges, 54 too large or too complex, 0A not supported, 25 wrong transaction state
 * (25006: read-only, so a standby), 26 no such prepared statement (thrown before anything ran), 55 not in the right
 * state (55P03: lock_timeout), 3F no such schema, 28 and 3D refused at the door, P0 from functions.
 */
const ROLLED_BACK_CLASSES = new Set(['22', '23', '42', '54', '0A', '25', '26', '55', '3F', '28', '3D', 'P0']);

/**
 * Single codes that prove it too. 40001 and 40P01: chosen as victim, rolled back to let others through. 57014:
 * cancelled, by statement_timeout too; a cancel that comes while the commit waits for a standby is only a warning, and
 * the commit stands. 57P03 (starting up) and 53300 (too many connections) come before a session begins. 08001, 08004:
 * no session was made. Not among them: 40003 says itself that nobody knows; 57P01 and 57P02 end a session at any point;
 * 53, 58 and XX may be a PANIC of the very commit (WAL not written), after which only recovery decides.
 */
const ROLLED_BACK = new Set(['40001', '40P01', '57014', '57P03', '53300', '08001', '08004']);

/** No byte of a statement can have been sent: these come from looking up or opening. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'CONNECT_TIMEOUT']);

/** The request's own fault: the server cannot hold this value, now or later. */
const OF_THE_VALUE = new Set(['22', '54']);

/**
 * A connection that gave one of these is of no use any more: broken, on a standby, or with a pooler's foreign
 * statements.
 */
export function breaksConnection(error: unknown): boolean {
  const code = errorCodeOf(error);
  if (code === undefined || code.length !== 5 || !/^[0-9A-Z]{5}$/.test(code)) return true;
  return /^(?:08|28|3D|53|57P|58|XX)/.test(code) || code === '25006' || code === '26000' || code === '42P05';
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Whether the write behind an error may have been applied. `sent`: the statement had been given to the driver.
 * `doubted`: codes that prove nothing on this server, because it may answer with them after another one has committed.
 */
export function appliedBy(
  error: unknown,
  sent: boolean,
  doubted: ReadonlySet<string> = NONE,
): 'no' | 'unknown' {
  if (!sent) return 'no';
  const code = errorCodeOf(error);
  if (code === undefined || doubted.has(code)) return 'unknown';
  if (NOT_CONNECTED.has(code) || ROLLED_BACK.has(code)) return 'no';
  // EHOSTUNREACH, ETIMEDOUT and others come from open sockets as well: only while connecting do they prove anything.
  if ((error as { syscall?: unknown }).syscall === 'connect') return 'no';
  return code.length === 5 && ROLLED_BACK_CLASSES.has(code.slice(0, 2)) ? 'no' : 'unknown';
}

const REMEDIES: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [
    /^(?:42P01|42703|3F000)$/,
    'the tables are missing or old: run `await store.migrate()`, or `npx samekey migrate` of @samekey/cli',
  ],
  [
    /^42501$/,
    'a privilege is missing: grant SELECT, INSERT, UPDATE and DELETE on the samekey tables to this role',
  ],
  [/^25006$/, 'the server is read-only, probably a standby: connect to the primary'],
  [/^(?:26000|42P05)$/, 'a pooler mixes up prepared statements: pass prepare: false'],
  [/^57014$/, 'the statement took longer than statementTimeMaxMs'],
  [/^(?:28|3D)/, 'the server refused the login: check user, password and database'],
  [/^53300$/, 'the server has no connection left: raise max_connections or use smaller pools'],
  [/^53100$/, 'the disk of the server is full'],
  [/^22021$|^22P05$/, 'a text holds a character that the database cannot store'],
  [/^54/, 'a value is too large for the server'],
  [/^(?:ECONN|E[A-Z]+$|CONNECT|57P|08)/, 'check that it is up and can be reached'],
];

/** The `StoreError` for a driver's error; our own pass as they are. */
export function storeError(error: unknown, sent: boolean, doubted: ReadonlySet<string> = NONE): SamekeyError {
  if (error instanceof SamekeyError) return error;
  const code = errorCodeOf(error);
  const remedy = REMEDIES.find(([pattern]) => code !== undefined && pattern.test(code))?.[1];
  const shown = code === undefined ? 'no code' : `code ${code}`;
  return new StoreError(`PostgreSQL could not answer (${shown}): ${remedy ?? 'see the cause'}.`, {
    applied: appliedBy(error, sent, doubted),
    busy: code === '55P03',
    transient: code === undefined || code.length !== 5 || !OF_THE_VALUE.has(code.slice(0, 2)),
    cause: error,
  });
}
