/**
 * pgbench with the two statements of `hand-written`, one commit each, prepared, without HTTP and without Node: what the
 * database alone makes of one statement per commit. A "request" is both statements.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { childrenCpuUs } from '../machine.mjs';
import { percentile } from '../table.mjs';

const run = promisify(execFile);
const SCRIPT = `\\set key random(1, 9000000000000000000)
INSERT INTO pgbench_alone (key) VALUES (:key) ON CONFLICT DO NOTHING;
UPDATE pgbench_alone SET status = :status, body = :body WHERE key = :key;
`;

/** Where it is, if it is here: on PATH, or where Debian puts it. */
export function findPgbench() {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/lib/postgresql/15/bin'];
  return folders.map((folder) => join(folder, 'pgbench')).find((path) => existsSync(path));
}

/**
 * @param {string} program
 * @param {{ url: string, cpuUs: () => number }} database
 * @returns {Promise<import('../contract.d.ts').Contender>}
 */
export async function pgbench(program, database) {
  const client = new Client(database.url);
  await client.connect();
  await client.query('CREATE TABLE pgbench_alone (key text PRIMARY KEY, status int, body text)');
  const folder = mkdtempSync(join(tmpdir(), 'samekey-pgbench-'));
  writeFileSync(join(folder, 'script.sql'), SCRIPT);
  const body = JSON.stringify({ id: 'ord_1', amountCents: 45_900, items: 8 });

  /** @param {number} connections @param {number} seconds */
  async function bench(connections, seconds) {
    const flags = ['-n', '-M', 'prepared', '-f', 'script.sql', '-l', '--log-prefix', 'log'];
    const sized = ['-c', String(connections), '-j', String(Math.min(2, connections)), '-T', String(seconds)];
    const variables = ['-D', 'status=201', '-D', `body=${body}`];
    await run(program, [...flags, ...sized, ...variables, database.url], { cwd: folder });
    /** @type {number[]} */
    const latencies = [];
    for (const name of readdirSync(folder).filter((one) => one.startsWith('log'))) {
      // client, transaction, µs, script, second, µs of the second
      const lines = readFileSync(join(folder, name), 'latin1').trimEnd().split('\n');
      for (const line of lines) latencies.push(Number(line.split(' ')[2]) / 1000);
      rmSync(join(folder, name));
    }
    return latencies.toSorted((a, b) => a - b);
  }

  return {
    name: 'pgbench',
    async measure({ connections, seconds }) {
      // It counts whole seconds; its start is within them, so the rate comes from how many were done in them.
      const whole = Math.max(1, Math.round(seconds));
      const [ofServer, ofClient] = [database.cpuUs(), childrenCpuUs()];
      const sorted = await bench(connections, whole);
      const count = sorted.length;
      return {
        perSecond: count / whole,
        p50Ms: percentile(sorted, 0.5),
        p99Ms: percentile(sorted, 0.99),
        serverUs: 0,
        databaseUs: (database.cpuUs() - ofServer) / count,
        clientUs: (childrenCpuUs() - ofClient) / count,
        faults: [],
      };
    },
    async stop() {
      await client.end();
      rmSync(folder, { recursive: true });
    },
  };
}
