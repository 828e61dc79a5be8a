/**
 * What a session must be for our statements to mean what they say. The store's own sessions are set when they are
 * opened, every setting that changes the meaning of a statement or of COMMIT (F121). What may change later, or behind a
 * pooler that gives statements to other sessions, travels in the statement: COMMIT says that nothing follows it, and
 * whatever claims or finishes fails on a server that has become read-only.
 *
 * Sources: https://dev.mysql.com/doc/refman/8.4/en/server-system-variables.html,
 * https://dev.mysql.com/doc/refman/8.4/en/commit.html (`completion_type`),
 * https://mariadb.com/kb/en/server-system-variables/.
 */

import { StoreError } from '../../core/errors.ts';
import { decoded } from './literals.ts';
import type { Ask } from './client.ts';

/**
 * The server ends a session that says nothing for so long, in seconds: nobody waits longer for the locks of a frozen
 * process.
 */
const SILENCE_MAX_S = 30;

/** By name; both servers have all of them. */
const SETTINGS: readonly string[] = [
  "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
  'autocommit = 1',
  // CHAIN begins a transaction that nobody ends: what is acknowledged after it is never committed.
  'completion_type = 0',
  "time_zone = '+00:00'",
  // Off, InnoDB may let a second row of a unique index in.
  'unique_checks = 1',
  'foreign_key_checks = 1',
  // Both refuse statements or cut what they find.
  'sql_safe_updates = 0',
  'sql_select_limit = 18446744073709551615',
  'sql_big_selects = 1',
  'sql_auto_is_null = 0',
  'sql_quote_show_create = 1',
  'innodb_lock_wait_timeout = 1',
  `wait_timeout = ${SILENCE_MAX_S}`,
];

/**
 * `lockWaitMaxS`: for a table that somebody's LOCK TABLES, backup or ALTER TABLE holds; the servers wait for a day, or
 * a year.
 */
export function sessionStatements(lockWaitMaxS: number): readonly string[] {
  return [
    'SET NAMES utf8mb4',
    `SET SESSION lock_wait_timeout = ${lockWaitMaxS}, ${SETTINGS.join(', ')}`,
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE',
  ];
}

export const BEGIN = 'START TRANSACTION READ WRITE';
/** Whatever `completion_type` says. */
export const COMMIT = 'COMMIT AND NO CHAIN NO RELEASE';
export const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE';

/** Longer than a clock's hour that comes twice a year: SYSDATE is in the session's zone. */
const CLOCK_OFF_MAX_S = 7_200;

/**
 * What must hold where a write of ours stands, and what is said where it does not. Each has a power that no server can
 * hold: evaluated it is an error (1690) whose text shows it, whatever sql_mode is.
 */
const CONDITIONS = {
  writable: {
    holds: "CONCAT(@@global.read_only) IN ('0', 'OFF')",
    power: 'EXP(1710)',
    else: 'the server is read-only, probably a replica: connect to the primary',
  },
  logged: {
    holds: '@@session.sql_log_bin = 1 OR @@global.log_bin = 0',
    power: 'EXP(1711)',
    else: 'the session writes past the binary log (sql_log_bin = 0), so a replica that takes over knows nothing of it: connect with it on',
  },
  ticking: {
    holds: `ABS(@@session.timestamp - UNIX_TIMESTAMP(SYSDATE(6))) < ${CLOCK_OFF_MAX_S}`,
    power: 'EXP(1712)',
    else: 'the session has a clock of its own (SET timestamp), by which records end at once or never: connect without it',
  },
  committing: {
    holds: '@@session.autocommit = 1',
    power: 'EXP(1713)',
    else: 'the session has autocommit off, probably another one by a pooler: give the store connections of its own',
  },
} as const;

/** 0; an error where it does not hold. Stands where a number is added. */
function unless({ holds, power }: { readonly holds: string; readonly power: string }): string {
  return `IF(${holds}, 0, CAST(${power} AS SIGNED))`;
}

/**
 * Where a write of ours stands, so does this, in a user's session too: what its COMMIT hangs on. Who may administer a
 * server writes to it although it is read-only, as a replica is, or a primary that another one has replaced: what is
 * written there is lost (F125).
 */
export const WRITABLE: string = [CONDITIONS.writable, CONDITIONS.logged, CONDITIONS.ticking]
  .map(unless)
  .join(' + ');

/** For a statement that commits by itself. */
export const COMMITS_ITSELF: string = `${WRITABLE} + ${unless(CONDITIONS.committing)}`;

/** Why one of these stopped a statement; undefined for any other error. */
export function stoppedBecause(error: unknown): string | undefined {
  const { message } = (error ?? {}) as { message?: unknown };
  const text = typeof message === 'string' ? message.toUpperCase() : '';
  return Object.values(CONDITIONS).find(({ power }) => text.includes(power))?.else;
}

/**
 * Throws what the server says of a session in which none of our writes would be taken, before anything waits for it.
 */
export async function checkSession(ask: Ask): Promise<void> {
  await ask(`SELECT ${COMMITS_ITSELF}`);
  const [row = []] = await ask('SELECT @@global.innodb_read_only');
  if (!/^(?:0|off)$/i.test(String(decoded(row[0]))))
    throw new StoreError(`The MySQL server cannot be used: ${CONDITIONS.writable.else}.`, { applied: 'no' });
}
