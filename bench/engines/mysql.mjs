/** MariaDB, or the MySQL of SAMEKEY_TEST_MYSQL_URL, with every commit flushed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { cpuUs, pidOf } from '../machine.mjs';
import { service } from './services.mjs';

const run = promisify(execFile);
const SETTINGS = {
  innodb_buffer_pool_size: '256M',
  innodb_log_file_size: '1G',
  innodb_flush_log_at_trx_commit: '1',
};

/** @type {import('../contract.d.ts').StartEngine} */
export async function start() {
  const { availableMysql, startMysql } = await service('mysql');
  const [source] = availableMysql();
  if (source === undefined) throw new Error('There is no MySQL or MariaDB here.');
  const server = await startMysql(source, SETTINGS, 'disk');
  const url = await server.createDatabase();
  const { port, pathname } = new URL(url);
  const pid = pidOf(`--port=${port}`);
  const client = await createConnection(url);
  const [[versions]] = /** @type {[{ version: string }[], unknown]} */ (
    await client.query('SELECT VERSION() AS version')
  );
  await client.query('CREATE TABLE slap (k varbinary(36) PRIMARY KEY, status int, body text)');
  await client.end();
  const text = '{"id":"ord_1","amountCents":45900,"items":8}';
  const query = `SET @k = UUID(); INSERT INTO slap (k) VALUES (@k); UPDATE slap SET status = 201, body = '${text}' WHERE k = @k`;
  let perRun = 1_000;
  return {
    url,
    describe: `${source.name} ${versions?.version}: ${Object.entries(SETTINGS)
      .map((pair) => pair.join('='))
      .join(' ')}`,
    cpuUs: () => cpuUs(pid),
    stop: () => server.stop(),
    clients: ['mysql2'],
    raw: {
      name: 'mysqlslap',
      async run({ connections, seconds }) {
        const iterations = Math.max(1, Math.round(perRun / connections));
        const flags = ['--no-defaults', '-h', '127.0.0.1', '-P', port, '-u', 'root', '--no-drop'];
        const sized = [`--concurrency=${connections}`, `--create-schema=${pathname.slice(1)}`];
        const work = ['--delimiter=;', `--query=${`${query};`.repeat(iterations)}`];
        const { stdout } = await run('mysqlslap', [...flags, ...sized, ...work]);
        const took = Number(/Average number of seconds[^:]*: ([\d.]+)/.exec(stdout)?.[1]);
        const perSecond = (iterations * connections) / took;
        perRun = Math.max(connections, Math.round(perSecond * seconds));
        return perSecond;
      },
    },
  };
}
