/**
 * One worker of a test with several processes: notes in a file what its handler begins, publishes and ends, and kills itself where
 * it is told to. The file is what a provider would remember: appending is one system call, which no kill takes back.
 */

import { appendFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createConnection } from 'mysql2/promise';
import { Pool } from 'pg';

import { type MysqlStore, mysqlStore } from 'samekey/stores/mysql';
import { type PostgresStore, postgresStore } from 'samekey/stores/postgres';
import { type SqliteDatabase, type SqliteStore, sqliteStore } from 'samekey/stores/sqlite';
import { createWorker, type Delivery, relay, type WorkerOptions } from 'samekey/worker';

interface Plan {
  readonly kind: 'postgres' | 'sqlite' | 'mysql';
  readonly at: string;
  readonly ledger: string;
  /** Dies at this point, of the first message that gets there. */
  readonly killAt: string | null;
  readonly worker: Pick<WorkerOptions, 'leaseMs' | 'concurrency' | 'deliveriesMax' | 'pollMs' | 'backoff'>;
}

const plan = JSON.parse(process.argv[2] ?? '{}') as Plan;
const store = storeOf(plan);

function storeOf({ kind, at }: Plan): MysqlStore | PostgresStore | SqliteStore {
  if (kind === 'postgres')
    return postgresStore({ service: 'test', pool: new Pool({ connectionString: at }) });
  if (kind === 'mysql') return mysqlStore({ service: 'test', connect: () => createConnection(at) });
  return sqliteStore({ service: 'test', database: sqliteDatabase(at) });
}

function sqliteDatabase(path: string): SqliteDatabase {
  const Database = createRequire(import.meta.url)('libsql') as new (path: string) => SqliteDatabase;
  return new Database(path);
}

function note(what: 'begin' | 'publish' | 'end', id: string, delivery: Delivery, payload: unknown): void {
  const { downstreamKey: key, number, mayHaveRunBefore: before } = delivery;
  const line = { what, id, key, number, before, pid: process.pid, payload };
  appendFileSync(plan.ledger, `${JSON.stringify(line)}\n`);
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

const worker = createWorker({
  store,
  ...plan.worker,
  handlers: {
    async work({ id, payload }, delivery) {
      note('begin', id, delivery, payload);
      if ((payload as { poison?: boolean }).poison === true) die();
      await new Promise((resolve) => void setTimeout(resolve, (payload as { ms?: number }).ms ?? 0));
      note('end', id, delivery, payload);
    },
    publish: relay(async ({ id, payload }, delivery) => {
      note('publish', id, delivery, payload);
      // The provider has it, and nobody here knows.
      if ((payload as { dies?: boolean }).dies === true && delivery.number === 1) die();
      return `provider-${id}`;
    }),
  },
  probe(point) {
    if (point === plan.killAt) die();
  },
});
worker.start();
await worker.ready();
process.send?.('ready');
process.on('message', () => void worker.stop().then(() => process.exit(0)));
