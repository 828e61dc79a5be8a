/**
 * Real stores for simulated histories. A lane runs one history after the other on tables of its own, which are emptied in
 * between; so nothing is created anew for a history, and lanes side by side know nothing of each other.
 *
 * The store's clock is virtual time. PostgreSQL and MySQL read it from the session, which is told before a
 * statement whenever time has moved; SQLite asks the process.
 */

import { createConnection } from 'mysql2/promise';
import { Redis } from 'ioredis';
import { Client, type ClientConfig } from 'pg';
import postgres from 'postgres';
import { type Store, systemWorld } from 'samekey';
import { mysqlStore } from 'samekey/stores/mysql';
import { type PostgresStoreOptions, postgresStore } from 'samekey/stores/postgres';
import { redisStore } from 'samekey/stores/redis';
import { redisCache, tieredStore } from 'samekey/stores/tiered';
import { dynamodbStore } from 'samekey/stores/dynamodb';
import { type SqliteDatabase, sqliteStore } from 'samekey/stores/sqlite';
import { type DynamoDbServer, dynamoClient } from './dynamodb.ts';
import type { SimulatedDatabase, SimulatedMachine } from '@samekey/testing';

/** Runs histories, one after the other. */
export interface Lane {
  /** Empty tables, on the machine's clock: what `simulate` takes as `database`. */
  readonly database: (machine: SimulatedMachine) => Promise<SimulatedDatabase>;
  close(): Promise<void>;
}

/** Handles of a lane: processes of a history take them in turn. A history seldom has more that live at once. */
export const HANDLES = 3;
/** No bound of the store may end a call here because the machine is busy: time that is not virtual would decide then. */
export const PATIENCE_MS = 60_000;

/** A lane on a schema of its own. */
export async function postgresLane(url: string, schema: string): Promise<Lane> {
  const admin = new Client({ connectionString: url });
  admin.on('error', () => undefined);
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  let clock: Pick<SimulatedMachine, 'now'> = { now: Date.now };
  const now = (): number => clock.now();
  // Both drivers in one installation, as in the middle of a change from one to the other.
  const handle = (_: unknown, i: number): ReturnType<typeof postgresStore> =>
    postgresStore({
      service: 'test',
      connect: () =>
        i % 2 === 0 ? new TimedClient({ connectionString: url }, now) : timedPostgresJs(url, now),
      schema,
      statementTimeMaxMs: PATIENCE_MS,
      clock: `(timestamptz 'epoch' + current_setting('samekey.now')::bigint * interval '1 millisecond')`,
      // Nothing but the server's clock passes here: where it leaps, so does the process.
      now,
      monotonicNow: now,
    });
  const handles = Array.from({ length: HANDLES }, handle);
  await handles[0]?.migrate();
  return {
    async database(machine) {
      clock = machine;
      await admin.query(
        `DELETE FROM ${schema}.samekey_records; UPDATE ${schema}.samekey_meta SET value = 0 WHERE name IN ('swept_to', 'last_now')`,
      );
      return { connect: inTurn(handles) };
    },
    async close() {
      await Promise.all(handles.map((each) => each.close()));
      await admin.query(`SET client_min_messages = error; DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}

/** A client whose session is told the time before it is asked something, if time has moved. */
export class TimedClient extends Client {
  readonly #now: () => number;
  #told = Number.NaN;

  constructor(config: ClientConfig, now: () => number) {
    super(config);
    this.#now = now;
  }

  // The one form of query that the store uses.
  override query(query: unknown): never {
    const now = this.#now();
    const ask = (what: unknown): Promise<unknown> => super.query(what as string);
    if (now === this.#told) return ask(query) as never;
    this.#told = now;
    return ask(`SET samekey.now = '${now}'`).then(() => ask(query)) as never;
  }
}

/** The same with postgres.js, as far as the store uses it. */
function timedPostgresJs(url: string, now: () => number): PostgresJs {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
  let told = Number.NaN;
  const unsafe: PostgresJs['unsafe'] = (text, values, options) => ({
    async values() {
      const at = now();
      if (at !== told) await sql.unsafe(`SET samekey.now = '${at}'`);
      told = at;
      return sql.unsafe(text, values, options).values();
    },
  });
  return Object.assign(() => undefined, { options: sql.options, unsafe, end: () => sql.end({ timeout: 0 }) });
}

type PostgresJs = Extract<
  Awaited<ReturnType<NonNullable<PostgresStoreOptions['connect']>>>,
  { readonly unsafe: unknown }
>;

/** A lane on a database of its own, whose sessions are told the time as those of PostgreSQL are. */
export async function mysqlLane(url: string): Promise<Lane> {
  const admin = await createConnection(url);
  let clock: Pick<SimulatedMachine, 'now'> = { now: Date.now };
  const now = (): number => clock.now();
  const handles = Array.from({ length: HANDLES }, () =>
    mysqlStore({
      service: 'test',
      async connect() {
        const connection = await createConnection(url);
        let told = Number.NaN;
        return {
          async query(options: { sql: string }) {
            const at = now();
            if (at !== told) await connection.query(`SET @samekey_now = ${at}`);
            told = at;
            return connection.query(options);
          },
          end: () => connection.end(),
          destroy: () => connection.destroy(),
        };
      },
      statementTimeMaxMs: PATIENCE_MS,
      clock: '@samekey_now',
      now,
      monotonicNow: now,
    }),
  );
  await handles[0]?.migrate();
  return {
    async database(machine) {
      clock = machine;
      await admin.query('DELETE FROM samekey_records');
      await admin.query("UPDATE samekey_meta SET value = 0 WHERE name = 'last_now'");
      return { connect: inTurn(handles) };
    },
    async close() {
      await Promise.all(handles.map((each) => each.close()));
      await admin.end();
    },
  };
}

/** A lane on a prefix of its own; the store asks the process for the time, as it does not in use. */
export async function redisLane(url: string, prefix: string): Promise<Lane> {
  let clock: Pick<SimulatedMachine, 'now'> = { now: Date.now };
  const clients = Array.from({ length: HANDLES }, () => new Redis(url));
  const [admin] = clients as [Redis];
  const now = (): number => clock.now();
  const handles = clients.map((client) =>
    redisStore({ service: 'test', client, prefix, durability: 'always', shards: 2, now }),
  );
  return {
    async database(machine) {
      clock = machine;
      const keys = await admin.keys(`{${prefix}/test:*`);
      if (keys.length > 0) await admin.del(...keys);
      return { connect: inTurn(handles) };
    },
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}

/**
 * A lane of another store, with a tier in each process and a cache in Redis that they share. There is no virtual time in Redis: entries lie
 * in it for longer than a history may trust them.
 */
export function tieredLane(behind: Lane, url: string, prefix: string): Lane {
  const client = new Redis(url);
  const machineWall = 1_000_000;
  let histories = 0;
  return {
    async database(machine) {
      const database = await behind.database(machine);
      histories += 1;
      const cache = redisCache({ client, prefix: `${prefix}-${histories}` });
      return {
        connect: () =>
          tieredStore({
            store: database.connect(),
            cache,
            memoryBytesMax: 100_000,
            replayShareMin: 0,
            cacheTimeMaxMs: PATIENCE_MS,
            world: {
              ...systemWorld(),
              monotonicNow: () => machine.monotonicNow(),
              wallNow: () => machineWall + machine.monotonicNow(),
            },
          }),
      };
    },
    async close() {
      await behind.close();
      client.disconnect();
    },
  };
}

/** A lane on a file of its own; `open` is called once for each handle. */
export async function sqliteLane(open: () => SqliteDatabase & { close(): unknown }): Promise<Lane> {
  const clients = Array.from({ length: HANDLES }, open);
  const admin = clients[0] as SqliteDatabase;
  await sqliteStore({ service: 'test', database: admin }).migrate();
  return {
    async database(machine) {
      admin.exec(`DELETE FROM samekey_records; UPDATE samekey_meta SET value = 0 WHERE name = 'last_now'`);
      const client = inTurn(clients);
      return {
        timeLags: true,
        // A store of its own for each process: it watches claims with its own eyes.
        connect: () =>
          sqliteStore({
            service: 'test',
            database: client(),
            busyTimeMaxMs: PATIENCE_MS,
            now: () => machine.now(),
            monotonicNow: () => machine.monotonicNow(),
          }),
      };
    },
    async close() {
      for (const client of clients) client.close();
    },
  };
}

/** A lane on tables of its own, one for each history: nothing is cheaper to empty than a table that is new. */
export function dynamodbLane(server: DynamoDbServer): Lane {
  const client = dynamoClient(server.url);
  let last: string | undefined;
  return {
    async database(machine) {
      if (last !== undefined) await client.deleteTable({ TableName: last });
      const tableName = await server.createTable();
      last = tableName;
      return {
        timeLags: true,
        // A store of its own for each process: it watches claims with its own eyes.
        connect: () =>
          dynamodbStore({
            service: 'test',
            client,
            tableName,
            timeToLive: false,
            callTimeMaxMs: PATIENCE_MS,
            now: () => machine.now(),
            monotonicNow: () => machine.monotonicNow(),
          }),
      };
    },
    async close() {
      client.destroy();
    },
  };
}

export function inTurn<Item>(items: readonly Item[]): () => Item {
  let next = 0;
  return () => items[next++ % items.length] as Item;
}

/** A store whose finishes pass under whatever fence stands there: the bug that must be found on every real store. */
export function withoutFence(store: Store): Store {
  return {
    ...store,
    async finish(requests) {
      const records = await store.find(requests);
      return store.finish(
        requests.map((request, i) => ({
          ...request,
          claimId: records[i]?.claimId ?? request.claimId,
          attempt: records[i]?.attempt ?? request.attempt,
        })),
      );
    },
  };
}
