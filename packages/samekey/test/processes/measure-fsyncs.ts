/**
 * Counts how often PostgreSQL, MariaDB or MySQL brings its log to disk: for claims and finishes one by one, for groups, and for replays. A kill of the server
 * proves nothing here, because the page cache survives it. Needs strace (`apt-get install strace`) and the right to use it:
 *
 *   node packages/samekey/test/processes/.out/processes/measure-fsyncs.js [postgres | mysql | mysql-logged]
 */

import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import type { Store } from 'samekey';
import { mysqlStore } from 'samekey/stores/mysql';
import { postgresStore } from 'samekey/stores/postgres';
import { startMysql } from '../services/mysql.ts';
import { anyPostgres, startPostgres } from '../services/postgres.ts';
import { countFsyncs } from './fsyncs.ts';
import { claimOf, finishOf } from './requests.ts';
import { anyMysql } from './backends/mysql.ts';

const KEYS = 50;

/** A server under strace, and the store on one of its databases. */
interface Measured {
  readonly server: {
    createDatabase(): Promise<string>;
    pid(): number;
    stop(): Promise<void>;
  };
  open(url: string): Store & { migrate(): Promise<void> };
}

const [, , kind = 'postgres'] = process.argv;
const measured = await (kind === 'postgres' ? onPostgres() : onMysql(kind === 'mysql-logged'));
const { server } = measured;
const store = measured.open(await server.createDatabase());
await store.migrate();
// Opens the connections, and makes what a new database makes once.
await store.claim([claimOf('warm')]);
await store.find([{ scope: 'fsync', key: 'warm' }]);

const names = (what: string): string[] => Array.from({ length: KEYS }, (_, i) => `${what}-${i}`);

await countFsyncs(server.pid(), `${KEYS} claims, one after the other`, async () => {
  for (const key of names('single')) await store.claim([claimOf(key)]);
});
await countFsyncs(server.pid(), `${KEYS} finishes, one after the other`, async () => {
  for (const key of names('single')) await store.finish([finishOf(key)]);
});
await countFsyncs(server.pid(), `${KEYS} claims in one group`, () =>
  store.claim(names('group').map((key) => claimOf(key))),
);
await countFsyncs(server.pid(), `${KEYS} finishes in one group`, () =>
  store.finish(names('group').map((key) => finishOf(key))),
);
await countFsyncs(server.pid(), `${2 * KEYS} replays`, async () => {
  for (const key of [...names('single'), ...names('group')]) {
    const [found] = await store.claim([{ ...claimOf(key), claimId: `again-${key}` }]);
    if (found?.kind !== 'found') throw new Error(`${key} was ${found?.kind}`);
  }
});
await store.close();
await server.stop();

/** Nothing but commits: no checkpoint, no vacuum, no log written ahead of time. */
async function onPostgres(): Promise<Measured> {
  const source = anyPostgres();
  if (source === undefined) throw new Error('This machine has no PostgreSQL.');
  const settings = {
    autovacuum: 'off',
    checkpoint_timeout: '1h',
    max_wal_size: '4GB',
    wal_writer_delay: '10s',
  };
  return {
    server: await startPostgres(source, settings, 'disk'),
    open: (url) => postgresStore({ service: 'test', connect: () => new Client({ connectionString: url }) }),
  };
}

/** No pages are written meanwhile; with a binary log or without. */
async function onMysql(isLogged: boolean): Promise<Measured> {
  const source = anyMysql();
  if (source === undefined) throw new Error('This machine has no MySQL or MariaDB.');
  const settings = {
    innodb_max_dirty_pages_pct: '99',
    innodb_log_file_size: '256M',
    innodb_io_capacity: '100',
  };
  const log = isLogged ? { log_bin: 'bin', sync_binlog: '1', server_id: '1' } : { skip_log_bin: '' };
  return {
    server: await startMysql(source, { ...settings, ...log }, 'disk'),
    open: (url) => mysqlStore({ service: 'test', connect: () => createConnection(url) }),
  };
}
