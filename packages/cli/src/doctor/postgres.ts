/**
 * What only PostgreSQL can say: settings, privileges, sizes, vacuum, the reaper's lag. Its answers are cheap: no table
 * is read whole.
 */

import { docsPage } from 'samekey/internals/core/errors';
import { shortDuration } from '../operate/duration.ts';
import type { Finding } from './finding.ts';
import type { OpenDatabase, Row } from '../database/opened.ts';

/** Reapers that run come by more often. */
const REAP_LAG_MAX_MS = 3_600_000;
/** Due rows are counted up to here. */
const DUE_COUNTED_MAX = 100_000;
/** More dead than living rows: vacuum does not keep up. */
const DEAD_SHARE_MAX = 1;
const DEAD_ROWS_MIN = 20_000;

/** Looks. */
export async function postgresFindings(database: OpenDatabase, now: number): Promise<readonly Finding[]> {
  return [
    ...(await durability(database)),
    ...(await privileges(database)),
    ...(await size(database)),
    ...(await reaperLag(database, now)),
  ];
}

async function durability({ query }: OpenDatabase): Promise<readonly Finding[]> {
  const [row = {}] =
    await query(`SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
    current_setting('synchronous_commit') AS commits, current_setting('synchronous_standby_names') AS standbys,
    current_setting('server_version') AS version,
    (SELECT count(*)::int FROM pg_stat_replication) AS replicas`);
  const { fsync, pages, commits, standbys, version, replicas } = texts(row);
  const measured = {
    version: version ?? '',
    fsync: fsync ?? '',
    fullPageWrites: pages ?? '',
    synchronousCommit: commits ?? '',
    synchronousStandbys: standbys ?? '',
    replicas: Number(replicas),
  };
  const findings: Finding[] = [];
  const add = (level: Finding['level'], what: string, remedy: string): void => {
    findings.push({ check: 'durability', level, what, measured, remedy });
  };
  if (fsync !== 'on')
    add(
      'failure',
      'fsync is off: a power cut loses acknowledged records, and keys run twice.',
      'ALTER SYSTEM SET fsync = on, then reload.',
    );
  if (pages !== 'on')
    add(
      'failure',
      'full_page_writes is off: a power cut can damage pages.',
      'ALTER SYSTEM SET full_page_writes = on, then reload.',
    );
  if (commits === 'off')
    add(
      'warning',
      "synchronous_commit is off: Samekey's own statements and the transactions they are in wait for the disk all the same; other transactions of yours may be lost.",
      'ALTER SYSTEM SET synchronous_commit = on, or per role, where losing them matters.',
    );
  if (Number(replicas) > 0 && standbys === '')
    add(
      'warning',
      `${replicas} standbys replicate asynchronously: a failover can lose the last records, and their keys run again.`,
      `Name a synchronous standby (synchronous_standby_names), or accept it: ${docsPage('concepts/guarantees')} says what that means.`,
    );
  if (findings.length > 0) return findings;
  return [
    {
      check: 'durability',
      level: 'ok',
      what: `PostgreSQL ${version} keeps what it acknowledges (fsync, full_page_writes, synchronous_commit ${commits}).`,
      measured,
      remedy: null,
    },
  ];
}

async function privileges({ query }: OpenDatabase): Promise<readonly Finding[]> {
  const rows =
    await query(`SELECT c.relname AS name, has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
      AND (has_table_privilege(c.oid, 'UPDATE') OR c.relname = 'samekey_audit') AND has_table_privilege(c.oid, 'DELETE') AS full,
      c.relpersistence::text AS persistence, row_security_active(c.oid) AS hidden
    FROM pg_class c WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind IN ('r', 'p') AND c.relname LIKE 'samekey\\_%' ORDER BY 1`);
  const names = (wanted: (row: Row) => boolean): string =>
    rows
      .filter(wanted)
      .map((row) => String(row['name']))
      .join(', ');
  const [lacking, unlogged, hidden] = [
    names((row) => row['full'] !== true),
    names((row) => row['persistence'] !== 'p'),
    names((row) => row['hidden'] === true),
  ];
  const measured = { tables: rows.length, lacking, unlogged, hidden };
  const findings: Finding[] = [];
  if (lacking !== '')
    findings.push({
      check: 'privileges',
      level: 'failure',
      what: `This role may not use ${lacking} as the application must.`,
      measured,
      remedy: `GRANT SELECT, INSERT, UPDATE, DELETE ON ${lacking} TO the application's role; if this is not that role, look with the one it uses.`,
    });
  if (unlogged !== '')
    findings.push({
      check: 'privileges',
      level: 'failure',
      what: `${unlogged} is emptied when the server crashes.`,
      measured,
      remedy: `ALTER TABLE ${unlogged} SET LOGGED.`,
    });
  if (hidden !== '')
    findings.push({
      check: 'privileges',
      level: 'failure',
      what: `Row security hides rows of ${hidden} from this role, so that keys would run twice.`,
      measured,
      remedy: `ALTER TABLE ${hidden} DISABLE ROW LEVEL SECURITY.`,
    });
  if (findings.length > 0) return findings;
  return [
    {
      check: 'privileges',
      level: 'ok',
      what: `This role may use all ${rows.length} tables.`,
      measured,
      remedy: null,
    },
  ];
}

async function size({ query }: OpenDatabase): Promise<readonly Finding[]> {
  const rows = await query(`SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes,
      coalesce(s.n_live_tup, 0)::float8 AS live, coalesce(s.n_dead_tup, 0)::float8 AS dead,
      extract(epoch FROM clock_timestamp() - coalesce(s.last_autovacuum, s.last_vacuum))::float8 AS vacuumed
    FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
    WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r' AND c.relname LIKE 'samekey\\_%' ORDER BY 2 DESC`);
  return rows
    .filter((row) => row['name'] === 'samekey_records' || row['name'] === 'samekey_messages')
    .map((row): Finding => {
      const [bytes, live, dead] = [Number(row['bytes']), Number(row['live']), Number(row['dead'])];
      const name = String(row['name']);
      const seconds = row['vacuumed'] === null ? null : Number(row['vacuumed']);
      const measured = {
        table: name,
        bytes,
        rows: live,
        deadRows: dead,
        vacuumedSecondsAgo: seconds === null ? null : Math.round(seconds),
      };
      const facts = `${name}: ${megabytes(bytes)}, about ${live} rows and ${dead} dead ones`;
      const isBloated = dead > DEAD_ROWS_MIN && dead > live * DEAD_SHARE_MAX;
      return isBloated
        ? {
            check: 'growth',
            level: 'warning',
            what: `${facts}: vacuum does not keep up.`,
            measured,
            remedy: `Look for a long transaction or a forgotten replication slot (pg_stat_activity, pg_replication_slots), then VACUUM ${name}.`,
          }
        : { check: 'growth', level: 'ok', what: `${facts}.`, measured, remedy: null };
    });
}

async function reaperLag({ query }: OpenDatabase, now: number): Promise<readonly Finding[]> {
  const [row = {}] = await query(
    `SELECT extract(epoch FROM (SELECT min(reap_after) FROM samekey_records))::float8 * 1000 AS oldest,
      (SELECT count(*)::int FROM (SELECT 1 FROM samekey_records WHERE reap_after < clock_timestamp() - interval '1 hour'
        LIMIT ${DUE_COUNTED_MAX}) d) AS due`,
  );
  const oldest = row['oldest'] === null || row['oldest'] === undefined ? null : Number(row['oldest']);
  return [lagFinding(oldest === null ? 0 : Math.max(0, now - oldest), Number(row['due'] ?? 0))];
}

/** Whether expired records are deleted; the same for every kind of database. */
export function lagFinding(lagMs: number, due: number): Finding {
  const measured = { lagMs: Math.round(lagMs), due };
  if (lagMs <= REAP_LAG_MAX_MS)
    return { check: 'reaper', level: 'ok', what: 'What has expired is deleted.', measured, remedy: null };
  return {
    check: 'reaper',
    level: 'warning',
    what: `Expired records are not deleted: ${due >= DUE_COUNTED_MAX ? `${due} or more` : due} are due, the first for ${shortDuration(lagMs)}. The table grows.`,
    measured,
    remedy: 'Run npx samekey janitor beside the application (or createJanitor in it).',
  };
}

/** For people. */
export function megabytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

function texts(row: Row): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
}
