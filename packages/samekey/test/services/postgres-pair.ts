/**
 * Two PostgreSQL servers, a primary and its standby by streaming replication, which can take over. The standby starts from a copy of the
 * primary's folder made before anything ran on it (a file system level backup, which needs no program but the server's own).
 *
 * Sources: https://www.postgresql.org/docs/current/warm-standby.html, /backup-file.html.
 */

import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { type PostgresServer, type PostgresSource, postgresOn } from './postgres.ts';
import { copyDataFolder, initDataFolder, type Medium } from './postgres-run.ts';

/** A primary and its standby. */
export interface PostgresPair {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** The standby hears nothing of the primary from now on. */
  detach(): Promise<void>;
  /** The standby becomes a primary; resolves when it takes writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** How they are joined. */
export interface PairOptions {
  /** Whether a commit waits for the standby to have it on disk. */
  readonly synchronous: boolean;
  readonly medium?: Medium;
}

const STANDBY = 'samekey_standby';

/** Starts both; resolves when the standby follows. */
export async function startPair(source: PostgresSource, options: PairOptions): Promise<PostgresPair> {
  const { synchronous, medium = 'memory' } = options;
  if (source.bin === null) throw new Error(`${source.name} is not run by the tests.`);
  const folder = initDataFolder(source.bin, medium);
  const copy = copyDataFolder(folder, medium);
  const primary = await postgresOn(folder, source.name, {
    synchronous_standby_names: synchronous ? STANDBY : '',
  });
  const { port } = new URL(primary.url());
  writeFileSync(join(copy.data, 'standby.signal'), '');
  appendFileSync(
    join(copy.data, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres application_name=${STANDBY}'\n`,
  );
  const standby = await postgresOn(copy, `${source.name}, standby`, { wal_retrieve_retry_interval: '200ms' });
  const wanted = synchronous ? 'sync' : 'async';
  await until(
    primary,
    'SELECT sync_state FROM pg_stat_replication',
    ([row]) => row?.['sync_state'] === wanted,
  );
  return {
    primary,
    standby,
    async detach() {
      await ask(standby, "ALTER SYSTEM SET primary_conninfo = ''");
      await ask(standby, 'SELECT pg_reload_conf()');
      await until(standby, 'SELECT pid FROM pg_stat_wal_receiver', (rows) => rows.length === 0);
    },
    async promote() {
      await ask(standby, 'SELECT pg_promote(true, 30)');
      await until(standby, 'SELECT pg_is_in_recovery() AS still', ([row]) => row?.['still'] === false);
    },
    async stop() {
      await standby.stop();
      await primary.stop();
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

async function ask(server: PostgresServer, sql: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: server.url() });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function until(
  server: PostgresServer,
  sql: string,
  isSo: (rows: readonly Row[]) => boolean,
): Promise<void> {
  for (const end = performance.now() + 20_000; ; ) {
    if (isSo(await ask(server, sql))) return;
    if (performance.now() > end) throw new Error(`${server.name} does not come so far: ${sql}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
