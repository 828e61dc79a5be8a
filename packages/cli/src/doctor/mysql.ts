/**
 * What only MySQL and MariaDB can say: settings, replicas, sizes, the reaper's lag. Its answers are cheap: no table is
 * read whole.
 */

import { docsPage } from 'samekey/internals/core/errors';
import type { Finding } from './finding.ts';
import { lagFinding, megabytes } from './postgres.ts';
import type { OpenDatabase } from '../database/opened.ts';

/** Looks. */
export async function mysqlFindings(database: OpenDatabase, now: number): Promise<readonly Finding[]> {
  return [
    ...(await durability(database)),
    ...(await replication(database)),
    ...(await size(database)),
    ...(await reaperLag(database, now)),
  ];
}

const SETTINGS = [
  'version',
  'innodb_flush_log_at_trx_commit',
  'innodb_doublewrite',
  'log_bin',
  'sync_binlog',
  // Named so by MySQL and by MariaDB since 11.1, and so by MariaDB before.
  'transaction_isolation',
  'tx_isolation',
  'wsrep_on',
];

async function durability(database: OpenDatabase): Promise<readonly Finding[]> {
  const at = await named(database, 'VARIABLES', SETTINGS);
  const measured = {
    version: at('version'),
    flushLogAtCommit: at('innodb_flush_log_at_trx_commit'),
    doublewrite: at('innodb_doublewrite'),
    binaryLog: at('log_bin'),
    syncBinlog: at('sync_binlog'),
    isolation: at('transaction_isolation') || at('tx_isolation'),
    galera: at('wsrep_on'),
  };
  const findings: Finding[] = [];
  const add = (level: Finding['level'], what: string, remedy: string): void => {
    findings.push({ check: 'durability', level, what, measured, remedy });
  };
  if (measured.flushLogAtCommit !== '1')
    add(
      'failure',
      `innodb_flush_log_at_trx_commit is ${measured.flushLogAtCommit}: a power cut loses acknowledged records, and keys run twice.`,
      'SET GLOBAL innodb_flush_log_at_trx_commit = 1, and keep it in the configuration.',
    );
  if (measured.binaryLog === 'ON' && measured.syncBinlog !== '1')
    add(
      'failure',
      `sync_binlog is ${measured.syncBinlog}: a power cut loses acknowledged records of the binary log, and a server that recovers from it or a replica lacks them.`,
      'SET GLOBAL sync_binlog = 1, and keep it in the configuration.',
    );
  if (measured.doublewrite === 'OFF')
    add(
      'failure',
      'innodb_doublewrite is off: a power cut can damage pages.',
      'Set innodb_doublewrite = ON in the configuration, and restart.',
    );
  if (measured.isolation === 'READ-UNCOMMITTED')
    add(
      'warning',
      "The server's isolation level is READ-UNCOMMITTED: the store's own sessions read committed rows all the same; transactions of yours see what may be rolled back.",
      "Set transaction_isolation to READ-COMMITTED or REPEATABLE-READ, or name it in your transactions' source (isolation).",
    );
  if (measured.galera === 'ON')
    add(
      'warning',
      'The server belongs to a Galera cluster, which was not tried: two servers that are written to at once may both grant a claim until one is rolled back.',
      'Let all processes write to one server of the cluster.',
    );
  if (findings.length > 0) return findings;
  return [
    {
      check: 'durability',
      level: 'ok',
      what: `${measured.version} keeps what it acknowledges (log and binary log flushed at each commit); its transactions are ${measured.isolation} unless they say otherwise.`,
      measured,
      remedy: null,
    },
  ];
}

const SEMI_SYNC_STATUS = ['Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status'];
const SEMI_SYNC_POINT = ['rpl_semi_sync_master_wait_point', 'rpl_semi_sync_source_wait_point'];

/** Replicas that may lack the last records when they take over. */
async function replication(database: OpenDatabase): Promise<readonly Finding[]> {
  const rows = await database.query('SHOW PROCESSLIST');
  const replicas = rows.filter((row) => /^Binlog Dump/i.test(String(row['Command']))).length;
  if (replicas === 0) return [];
  const [status, point] = [
    await named(database, 'STATUS', SEMI_SYNC_STATUS),
    await named(database, 'VARIABLES', SEMI_SYNC_POINT),
  ];
  const isSemiSync = SEMI_SYNC_STATUS.some((name) => status(name) === 'ON');
  const waitPoint = SEMI_SYNC_POINT.map(point).find((value) => value !== '') ?? '';
  const measured = { replicas, semiSync: isSemiSync, waitPoint };
  if (isSemiSync && waitPoint !== 'AFTER_COMMIT')
    return [
      {
        check: 'replication',
        level: 'ok',
        what: `${replicas} replicas; a commit waits until one has it (semi-synchronous, ${waitPoint}).`,
        measured,
        remedy: null,
      },
    ];
  return [
    {
      check: 'replication',
      level: 'warning',
      what: isSemiSync
        ? `${replicas} replicas, semi-synchronous with ${waitPoint}: others see a record before any replica has it, and a failover can lose it.`
        : `${replicas} replicas replicate asynchronously: a failover can lose the last records, and their keys run again.`,
      measured,
      remedy: `Turn on semi-synchronous replication with AFTER_SYNC and a long time-out, or accept it: ${docsPage('concepts/guarantees')} says what that means.`,
    },
  ];
}

async function size({ query }: OpenDatabase): Promise<readonly Finding[]> {
  const rows = await query(
    'SELECT TABLE_NAME AS name, DATA_LENGTH + INDEX_LENGTH AS bytes, DATA_FREE AS free, TABLE_ROWS AS n FROM information_schema.TABLES ' +
      "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('samekey_records', 'samekey_messages') ORDER BY 2 DESC",
  );
  return rows.map((row): Finding => {
    const [table, bytes, freeBytes] = [String(row['name']), Number(row['bytes']), Number(row['free'])];
    return {
      check: 'growth',
      level: 'ok',
      what: `${table}: ${megabytes(bytes)}, about ${Number(row['n'])} rows; ${megabytes(freeBytes)} free to be used again.`,
      measured: { table, bytes, freeBytes, rows: Number(row['n']) },
      remedy: null,
    };
  });
}

async function reaperLag({ query }: OpenDatabase, now: number): Promise<readonly Finding[]> {
  let oldest = now;
  let due = 0;
  // By the index on (state, due_at), state by state.
  for (const state of ['completed', 'failed', 'retryable']) {
    const [row] = await query(
      `SELECT MIN(due_at) AS oldest, COUNT(*) AS due FROM samekey_records
       WHERE state = ? AND due_at < ? AND (state <> 'retryable' OR intent_at IS NULL)`,
      [state, now],
    );
    if (row?.['oldest'] !== null && row?.['oldest'] !== undefined)
      oldest = Math.min(oldest, Number(row['oldest']));
    due += Number(row?.['due'] ?? 0);
  }
  return [lagFinding(now - oldest, due)];
}

/** Reads settings or counts by their names; the text of one that this server does not have is empty. */
async function named(
  { query }: OpenDatabase,
  what: 'VARIABLES' | 'STATUS',
  names: readonly string[],
): Promise<(name: string) => string> {
  const rows = await query(
    `SHOW GLOBAL ${what} WHERE Variable_name IN (${names.map(() => '?').join(', ')})`,
    names,
  );
  const values = new Map(
    rows.map((row) => [String(row['Variable_name']).toLowerCase(), String(row['Value'])]),
  );
  return (name) => values.get(name.toLowerCase()) ?? '';
}
