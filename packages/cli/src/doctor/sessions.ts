/**
 * Sessions and settings that get in the way: transactions left open, time-outs that end our statements, upkeep of the
 * server that is off.
 */

import { shortDuration } from '../operate/duration.ts';
import { counted } from '../operate/print.ts';
import { type Check, type Finding, fine } from './finding.ts';
import { textAt } from './sql.ts';
import type { OpenDatabase, Row } from '../database/opened.ts';

/** Unless it is said otherwise; transactions of ours end within 30 s. */
const OPEN_MAX_MS = 10 * 60_000;
/**
 * Our own statements are given 1,500 ms, and a user's transaction 30 s: a time-out below a second ends them under load.
 */
const TIMEOUT_MIN_MS = 1_000;
/** Connections that are left: fewer, and a deploy that doubles processes finds none. */
const CONNECTIONS_SHARE_MAX = 0.9;
/** A pooled connection idles for so long between two requests at night. */
const IDLE_MIN_S = 60;

type Add = (level: Finding['level'], what: string, measured: Finding['measured'], remedy: string) => void;

/** The check. */
export const sessions: Check = async ({ database, windows }) => {
  if (database === null || database.address.kind === 'sqlite') return [];
  const findings: Finding[] = [];
  const openMaxMs = windows.transactionMs ?? OPEN_MAX_MS;
  const add: Add = (level, what, measured, remedy) =>
    void findings.push({ check: 'sessions', level, what, measured, remedy });
  await (database.address.kind === 'postgres'
    ? postgres(database, openMaxMs, add)
    : mysql(database, openMaxMs, add));
  if (findings.length > 0) return findings;
  return [
    fine('sessions', 'No transaction is left open, and no time-out of the server gets in the way.', {}),
  ];
};

type Query = OpenDatabase['query'];

async function postgres({ query }: OpenDatabase, openMaxMs: number, add: Add): Promise<void> {
  await postgresSettings(query, add);
  await postgresHolders(query, openMaxMs, add);
  const [used = {}] = await query(
    `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
      (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role,
      (SELECT count(*)::int FROM pg_stat_activity WHERE usename = current_user) AS own`,
  );
  tellConnections(Number(used['used']), Number(used['most']), add);
  if (Number(used['role']) >= 0) tellConnections(Number(used['own']), Number(used['role']), add);
}

/** Time-outs that end our statements, and upkeep of the server that is off. */
async function postgresSettings(query: Query, add: Add): Promise<void> {
  const settings = await settingsOf(query);
  for (const name of [
    'statement_timeout',
    'lock_timeout',
    'transaction_timeout',
    'idle_in_transaction_session_timeout',
  ]) {
    const ms = Number(settings.get(name) ?? 0);
    if (ms > 0 && ms < TIMEOUT_MIN_MS)
      add(
        'warning',
        `${name} is ${ms} ms for this role: your transactions, and behind a pooler our statements too, are ended by it under load.`,
        { setting: name, ms },
        `ALTER ROLE … SET ${name} = 0, or to 30 s or more (also look at ALTER DATABASE … and the configuration).`,
      );
  }
  if (settings.get('session_replication_role') !== 'origin')
    add(
      'warning',
      `session_replication_role is ${settings.get('session_replication_role')} for this role: triggers that audit transitions do not fire.`,
      { setting: 'session_replication_role' },
      'ALTER ROLE … RESET session_replication_role.',
    );
  for (const name of ['autovacuum', 'track_counts'])
    if (settings.get(name) === 'off')
      add(
        'warning',
        `${name} is off: nothing clears away what expired, and every statement gets slower.`,
        { setting: name },
        `ALTER SYSTEM SET ${name} = on, then reload.`,
      );
  const unvacuumed = await query(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
      AND c.relname LIKE 'samekey\\_%' AND 'autovacuum_enabled=false' = ANY (c.reloptions) ORDER BY 1`,
  );
  for (const row of unvacuumed)
    add(
      'warning',
      `Autovacuum is switched off for ${textAt(row, 'name')}: nothing clears away what expired.`,
      { table: textAt(row, 'name') },
      `ALTER TABLE ${textAt(row, 'name')} RESET (autovacuum_enabled).`,
    );
}

/**
 * What holds locks, or keeps what was deleted: transactions left open or prepared, and replication slots without a
 * reader.
 */
async function postgresHolders(query: Query, openMaxMs: number, add: Add): Promise<void> {
  const [open = {}] = await query(
    `SELECT count(*)::int AS n, max(extract(epoch FROM clock_timestamp() - xact_start))::float8 * 1000 AS ms,
      min(pid) AS pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
      AND xact_start < clock_timestamp() - interval '${openMaxMs} milliseconds'`,
  );
  const [seen = {}] = await query("SELECT pg_has_role('pg_read_all_stats', 'USAGE') AS whole");
  if (seen['whole'] !== true)
    add(
      'note',
      'Transactions of other roles were not looked at: this role may not see them.',
      {},
      'GRANT pg_read_all_stats TO the role that runs the doctor.',
    );
  tellOpen(open, openMaxMs, add, `SELECT pg_terminate_backend(${String(open['pid'])})`);
  const [prepared = {}] = await query(
    `SELECT count(*)::int AS n, max(extract(epoch FROM clock_timestamp() - prepared))::float8 * 1000 AS ms, min(gid) AS gid
     FROM pg_prepared_xacts WHERE database = current_database() AND prepared < clock_timestamp() - interval '${openMaxMs} milliseconds'`,
  );
  if (Number(prepared['n']) > 0)
    add(
      'warning',
      `${counted(Number(prepared['n']), 'prepared transaction waits', 'prepared transactions wait')} for a COMMIT PREPARED, one for ${shortDuration(Number(prepared['ms']))}: its locks stay, also over a restart.`,
      { prepared: Number(prepared['n']) },
      `Find out what it belongs to (pg_prepared_xacts), then COMMIT PREPARED or ROLLBACK PREPARED '${textAt(prepared, 'gid')}'.`,
    );
  const slots = await query(
    `SELECT slot_name AS name FROM pg_replication_slots WHERE NOT active AND (restart_lsn IS NOT NULL OR xmin IS NOT NULL OR catalog_xmin IS NOT NULL) ORDER BY 1`,
  );
  for (const row of slots)
    add(
      'warning',
      `The replication slot ${textAt(row, 'name')} has no reader: the log it holds fills the disk, and vacuum may wait for it.`,
      { slot: textAt(row, 'name') },
      `Start its reader again, or SELECT pg_drop_replication_slot('${textAt(row, 'name')}').`,
    );
}

/** As the role and the database have them: this session's own were set for looking. */
async function settingsOf(query: Query): Promise<ReadonlyMap<string, string>> {
  const rows = await query(
    `SELECT name, reset_val AS value FROM pg_settings WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout',
      'idle_in_transaction_session_timeout', 'session_replication_role', 'autovacuum', 'track_counts')`,
  );
  return new Map(rows.map((row) => [textAt(row, 'name'), textAt(row, 'value')]));
}

function tellOpen(row: Row, openMaxMs: number, add: Add, mend: string): void {
  const count = Number(row['n'] ?? 0);
  if (count === 0) return;
  add(
    'warning',
    `${counted(count, 'transaction has', 'transactions have')} been open for more than ${shortDuration(openMaxMs)}, one for ${shortDuration(Number(row['ms']))}: its locks stay, and nothing that was deleted since is cleared away.`,
    { open: count, openMs: Math.round(Number(row['ms'])) },
    `End it: ${mend}; then find out who leaves transactions open.`,
  );
}

function tellConnections(used: number, most: number, add: Add): void {
  if (!(most > 0) || used < most * CONNECTIONS_SHARE_MAX) return;
  add(
    'warning',
    `${used} of ${most} connections are taken: the next process may get none, and its requests are answered 503.`,
    { connections: used, connectionsMax: most },
    'Raise the limit, make pools smaller, or put a pooler in between.',
  );
}

async function mysql({ query }: OpenDatabase, openMaxMs: number, add: Add): Promise<void> {
  const rows = await query(
    `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_statement_time', 'max_execution_time', 'wait_timeout', 'completion_type',
      'innodb_rollback_on_timeout', 'max_connections', 'innodb_lock_wait_timeout', 'autocommit')`,
  );
  const at = new Map(rows.map((row) => [textAt(row, 'Variable_name').toLowerCase(), textAt(row, 'Value')]));
  // MariaDB counts in seconds, and ends writes too; MySQL in milliseconds, and ends reads.
  const limits = [
    ['max_statement_time', Number(at.get('max_statement_time') ?? 0) * 1_000],
    ['max_execution_time', Number(at.get('max_execution_time') ?? 0)],
  ] as const;
  for (const [name, ms] of limits)
    if (ms > 0 && ms < TIMEOUT_MIN_MS)
      add(
        'warning',
        `${name} is ${ms} ms: statements of your transactions are ended by it under load.`,
        { setting: name, ms },
        `SET GLOBAL ${name} = 0, and keep it in the configuration; limit single users where it is needed.`,
      );
  if (Number(at.get('wait_timeout') ?? 28_800) < IDLE_MIN_S)
    add(
      'warning',
      `wait_timeout is ${at.get('wait_timeout')} s: the server closes connections between two requests, and each first statement then has to open a new one.`,
      { setting: 'wait_timeout' },
      'SET GLOBAL wait_timeout = 28800, and keep it in the configuration.',
    );
  if (Number(at.get('innodb_lock_wait_timeout') ?? 50) > 600)
    add(
      'warning',
      `innodb_lock_wait_timeout is ${at.get('innodb_lock_wait_timeout')} s: transactions of yours that wait for each other hold their keys that long.`,
      { setting: 'innodb_lock_wait_timeout' },
      'SET GLOBAL innodb_lock_wait_timeout = 50, and keep it in the configuration.',
    );
  if (!/^(NO_CHAIN|0)$/.test(at.get('completion_type') ?? 'NO_CHAIN'))
    add(
      'warning',
      `completion_type is ${at.get('completion_type')}: each COMMIT of your transactions begins another one or closes the connection.`,
      { setting: 'completion_type' },
      'SET GLOBAL completion_type = NO_CHAIN, and keep it in the configuration.',
    );
  if (at.get('autocommit') === 'OFF')
    add(
      'warning',
      'autocommit is off: a statement of yours outside of a transaction begins one that stays open.',
      { setting: 'autocommit' },
      'SET GLOBAL autocommit = ON, and keep it in the configuration.',
    );
  const [used = {}] = await query("SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'");
  tellConnections(Number(used['Value']), Number(at.get('max_connections')), add);
  try {
    const [open = {}] = await query(
      `SELECT COUNT(*) AS n, MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())) * 1000 AS ms, MIN(trx_mysql_thread_id) AS pid
       FROM information_schema.INNODB_TRX WHERE trx_started < NOW() - INTERVAL ${Math.ceil(openMaxMs / 1_000)} SECOND`,
    );
    tellOpen(open, openMaxMs, add, `KILL ${String(open['pid'])}`);
  } catch {
    add(
      'note',
      'Transactions of others were not looked at: this user lacks the privilege PROCESS.',
      {},
      'GRANT PROCESS ON *.* to the user that runs the doctor.',
    );
  }
}
