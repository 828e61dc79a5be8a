/**
 * A rolling deploy under load on PostgreSQL: two versions of the code, each a process of its own. Keys whose first try meets the old code
 * and whose retry the new, the other way round, and keys whose two tries reach both in the same instant.
 *
 * In the end, for each key: one execution, and the same answer from both.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import type { PostgresServer } from '../services/postgres.ts';
import { type DeployAnswer, type DeployAsk, DEPLOYS, type VersionName } from './deploy-versions.ts';
import { programOf } from './program.ts';

/** What a round came to. */
export interface DeployRound {
  readonly failures: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

interface Running {
  readonly version: VersionName;
  ask(key: string): Promise<DeployAnswer>;
  stop(): Promise<void>;
}

const TRIES_MAX = 200;
const AT_ONCE_MAX = 20;

/** Plays the deploy that the seed names, with so many keys of each kind, in a database of its own. */
export async function deployRound(server: PostgresServer, seed: number, keys = 200): Promise<DeployRound> {
  const deploy = DEPLOYS[seed % DEPLOYS.length] as (typeof DEPLOYS)[number];
  const databaseUrl = await server.createDatabase();
  const pool = new Pool({ connectionString: databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  await postgresStore({ service: 'test', pool }).migrate();
  await pool.query('CREATE TABLE ledger (key text NOT NULL, version text NOT NULL)');
  const failures: string[] = [];
  const counts: Record<string, number> = {};
  const [older, younger] = await Promise.all(deploy.map((version) => started(databaseUrl, version)));
  if (older === undefined || younger === undefined) throw new Error('A deploy has two versions.');
  const answered = async (by: Running, key: string): Promise<string> => {
    for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
      const { status, body } = await by.ask(key);
      const name = `${by.version} ${status}`;
      counts[name] = (counts[name] ?? 0) + 1;
      if (status === 201) return body;
      if (status !== 409 && status !== 503) return `${status} ${body}`;
      // It is at work on the other side: what it is told is to come again.
      await sleep(10);
    }
    return 'no answer';
  };
  const kinds: readonly (readonly [string, (key: string) => Promise<readonly string[]>])[] = [
    ['old-first', async (key) => [await answered(older, key), await answered(younger, key)]],
    ['new-first', async (key) => [await answered(younger, key), await answered(older, key)]],
    ['at-once', (key) => Promise.all([answered(older, key), answered(younger, key)])],
  ];
  try {
    for (const [kind, tried] of kinds) {
      const all = Array.from({ length: keys }, (_, i) => `${kind}-${seed}-${i}`);
      while (all.length > 0) {
        await Promise.all(
          all.splice(0, AT_ONCE_MAX).map(async (key) => {
            const [one, other] = await tried(key);
            if (one !== other || one?.startsWith('{') !== true)
              failures.push(`${key}: ${String(one)} and ${String(other)} (${deploy.join(', ')})`);
          }),
        );
      }
    }
    const { rows } = await pool.query<{ key: string; count: string }>(
      'SELECT key, count(*) AS count FROM ledger GROUP BY key',
    );
    for (const { key, count } of rows) if (count !== '1') failures.push(`${key}: it ran ${count} times`);
    if (rows.length !== 3 * keys) failures.push(`${rows.length} of ${3 * keys} keys ran`);
    counts['keys'] = rows.length;
  } finally {
    await Promise.all([older.stop(), younger.stop()]);
    await pool.end();
  }
  return { failures, counts };
}

async function started(databaseUrl: string, version: VersionName): Promise<Running> {
  const child: ChildProcess = fork(programOf('deploy-process'), [JSON.stringify({ databaseUrl, version })], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const waiting = new Map<number, (answer: DeployAnswer) => void>();
  let count = 0;
  await Promise.race([once(child, 'message'), ended]);
  child.on('message', (answer: DeployAnswer) => {
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  return {
    version,
    ask(key) {
      count += 1;
      const id = count;
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        child.send({ id, key } satisfies DeployAsk, () => undefined);
      });
    },
    async stop() {
      child.disconnect();
      await ended;
    },
  };
}
