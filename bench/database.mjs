/**
 * The PostgreSQL that is measured: the newest of npm's, on a folder of the disk (in memory an fsync costs nothing), with fsync
 * on. Checkpoints are put off beyond the run, because one falls on whichever contender is running.
 */
import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Client } from 'pg';
import { treeCpuUs } from './machine.mjs';

const SERVICES = new URL('../packages/samekey/test/processes/.out/services/postgres.js', import.meta.url);
const SETTINGS = {
  max_connections: '400',
  shared_buffers: '256MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
};
const SHOWN = [
  'fsync',
  'synchronous_commit',
  'wal_sync_method',
  'full_page_writes',
  'commit_delay',
  ...Object.keys(SETTINGS),
];
const TMPFS = 0x01021994;

/**
 * Starts it; `describe` says what it is. `commitMs`: so long a flush takes longer, as on a disk behind a network; the commits
 * that come meanwhile share it, as PostgreSQL always lets them.
 */
export async function startDatabase(commitMs = 0) {
  if (!existsSync(SERVICES)) throw new Error('Run npm run build first.');
  if (statfsSync(tmpdir()).type === TMPFS) {
    throw new Error(
      `${tmpdir()} is in memory, where an fsync costs nothing: set TMPDIR to a folder on a disk.`,
    );
  }
  /** @type {typeof import('../packages/samekey/test/services/postgres.ts')} */
  const { anyPostgres, startPostgres } = await import(SERVICES.href);
  const source = anyPostgres();
  if (source === undefined) throw new Error('There is no PostgreSQL here: run npm ci.');
  const slower = { commit_delay: String(commitMs * 1000), commit_siblings: '0' };
  const server = await startPostgres(source, { ...SETTINGS, ...slower }, 'disk');
  const url = await server.createDatabase();
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query(
    "SELECT name || '=' || current_setting(name) AS one FROM pg_settings WHERE name = ANY($1) ORDER BY name",
    [SHOWN],
  );
  await client.end();
  return {
    url,
    describe: `${source.name}: ${rows.map((row) => row.one).join(' ')}`,
    cpuUs: () => treeCpuUs(server.pid()),
    stop: () => server.stop(),
  };
}
