/** Databases, workers and waiting, for tests of the worker. */

import { createConnection, createPool } from 'mysql2/promise';
import type { PoolClient } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { StoreWithMessages } from '../../src/store/message.ts';
import type { Store } from '../../src/store/store.ts';
import type { TransactionSource } from '../../src/store/transaction.ts';
import { createOutbox, type Outbox } from '../../src/outbox/index.ts';
import { mysqlStore } from '../../src/stores/mysql/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createWorker, type Worker, type WorkerEvent, type WorkerOptions } from '../../src/worker/index.ts';
import { fromMysql2 } from '../../src/tx/mysql2/index.ts';
import { fromPg } from '../../src/tx/pg/index.ts';
import { fromSqlite } from '../../src/tx/sqlite/index.ts';
import { availableMysql, type MysqlServer, type MysqlSource, startMysql } from '../services/mysql.ts';
import { availablePostgres } from '../services/postgres.ts';
import { useServer } from '../stores/postgres-setup.ts';
import { availableClients, temporaryFile } from '../stores/sqlite-clients.ts';

/** A store with an empty database behind it, and its outbox. */
export interface Place {
  readonly store: Store & StoreWithMessages;
  readonly outbox: Outbox;
  readonly transactions: TransactionSource<unknown, unknown>;
  /** Where another process finds the database. */
  readonly address: { readonly kind: 'postgres' | 'sqlite' | 'mysql'; readonly at: string };
  /** A worker that is stopped at the end of the test, and what it told. */
  readonly worker: (options: Partial<WorkerOptions>) => Worker & { readonly events: WorkerEvent[] };
}

/** A database that this machine can run. */
export interface Kind {
  readonly name: string;
  /** Call it inside `describe`. */
  use(): () => Promise<Place>;
}

const toEnd: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of toEnd.splice(0).toReversed()) await end();
});

/** What else a test has to end. */
export function atEnd(end: () => Promise<unknown>): void {
  toEnd.push(end);
}

function placeOf(
  store: Store & StoreWithMessages,
  address: Place['address'],
  transactions: TransactionSource<unknown, unknown>,
): Place {
  return {
    store,
    address,
    transactions,
    outbox: createOutbox({ store }),
    worker(options) {
      const events: WorkerEvent[] = [];
      const { onEvent } = options;
      const worker = createWorker({
        ...(options.samekey === undefined && { store }),
        backoff: { minMs: 1, maxMs: 20 },
        pollMs: 50,
        ...options,
        onEvent(event) {
          events.push(event);
          onEvent?.(event);
        },
      });
      atEnd(() => worker.stop({ drainMs: 0 }));
      return Object.assign(worker, { events });
    },
  };
}

/** The newest PostgreSQL, SQLite with the first client there is, and each MySQL or MariaDB. */
export function kinds(): readonly Kind[] {
  const [source] = availablePostgres();
  const [client] = availableClients();
  return [
    ...(source === undefined
      ? []
      : [
          {
            name: source.name,
            use() {
              const { database } = useServer(source);
              return async () => {
                const db = await database();
                const begin = fromPg<PoolClient>(db.pool(10)) as TransactionSource<unknown, unknown>;
                return placeOf(await db.store(), { kind: 'postgres', at: db.url }, begin);
              };
            },
          },
        ]),
    ...(client === undefined
      ? []
      : [
          {
            name: `sqlite with ${client.name}`,
            use: () => async () => {
              const file = temporaryFile();
              const database = client.open(file.path);
              const store = sqliteStore({ service: 'test', database });
              await store.migrate();
              atEnd(async () => {
                database.close();
                file.remove();
              });
              return placeOf(
                store,
                { kind: 'sqlite', at: file.path },
                fromSqlite(store) as TransactionSource<unknown, unknown>,
              );
            },
          },
        ]),
    ...availableMysql().map(mysqlKind),
  ];
}

function mysqlKind(source: MysqlSource): Kind {
  return {
    name: source.name,
    use() {
      let server: MysqlServer;
      beforeAll(async () => {
        server = await startMysql(source);
      }, 60_000);
      afterAll(() => server.stop());
      return async () => {
        const url = await server.createDatabase();
        const pool = createPool({ uri: url, connectionLimit: 10 });
        const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
        atEnd(async () => {
          await store.close();
          await pool.end();
        });
        await store.migrate();
        const begin = fromMysql2(pool) as TransactionSource<unknown, unknown>;
        return placeOf(store, { kind: 'mysql', at: url }, begin);
      };
    },
  };
}

/** Something that happens once, to be awaited. */
export function signal<T = void>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: ((value: T) => void) | undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve: (value) => resolve?.(value) };
}

/** Resolves when `count` messages were delivered or given up. */
export function ended(count: number): {
  readonly promise: Promise<void>;
  readonly onEvent: (event: WorkerEvent) => void;
} {
  const { promise, resolve } = signal();
  let left = count;
  return {
    promise,
    onEvent({ type }) {
      if (type !== 'delivered' && type !== 'dead-letter') return;
      left -= 1;
      if (left === 0) resolve();
    },
  };
}
