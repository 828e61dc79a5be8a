/** Databases with records as real requests leave them, for the operator's commands. */

import Database from 'libsql';
import { Client } from 'pg';
import { type Comparable, createSamekey, reply, type Samekey } from 'samekey';
import { postgresStore } from 'samekey/stores/postgres';
import { sqliteStore } from 'samekey/stores/sqlite';
import { anyPostgres, type PostgresServer, startPostgres } from '../../samekey/test/services/postgres.ts';
import { freshFolder } from './running-demo.ts';

/** A kind of database. */
export interface Kind {
  readonly name: string;
  start(): Promise<void>;
  /** The name of a new one, as `--database` takes it, with the tables in it. */
  fresh(): Promise<string>;
  stop(): Promise<void>;
}

/** An application's end of it. */
export interface Opened {
  readonly samekey: Samekey;
  /** Runs SQL as a tool of the user's own would. */
  execute(sql: string): Promise<void>;
  close(): Promise<void>;
}

/** The kinds that this machine can run. */
export function kinds(): readonly Kind[] {
  const folder = freshFolder();
  let files = 0;
  const sqlite: Kind = {
    name: 'SQLite',
    start: async () => undefined,
    async fresh() {
      files += 1;
      return withTables(`${folder.dir}/keys-${files}.db`);
    },
    stop: async () => folder.remove(),
  };
  const source = anyPostgres();
  if (source === undefined) return [sqlite];
  let server: PostgresServer;
  return [
    sqlite,
    {
      name: source.name,
      async start() {
        server = await startPostgres(source);
      },
      fresh: async () => withTables(await server.createDatabase()),
      stop: () => server.stop(),
    },
  ];
}

async function withTables(address: string): Promise<string> {
  const app = await open(address);
  await (app.samekey.store as unknown as { migrate(): Promise<void> }).migrate();
  await app.close();
  return address;
}

/** Opens it as an application does. */
export async function open(address: string): Promise<Opened> {
  if (address.startsWith('postgres')) {
    const store = postgresStore({
      service: 'shop',
      connect: () => new Client({ connectionString: address }),
    });
    const samekey = createSamekey({ store, policy: 'payments', reconcileAfterMs: 0 });
    return {
      samekey,
      async execute(sql) {
        const client = new Client({ connectionString: address });
        await client.connect();
        try {
          await client.query(sql);
        } finally {
          await client.end();
        }
      },
      close: async () => void (await samekey.close()),
    };
  }
  const database = new Database(address);
  const samekey = createSamekey({
    store: sqliteStore({ service: 'shop', database }),
    policy: 'payments',
    reconcileAfterMs: 0,
  });
  return {
    samekey,
    execute: async (sql) => void database.exec(sql),
    async close() {
      await samekey.close();
      database.close();
    },
  };
}

/** One request, answered or thrown as told: 201, 409, 500 (`unknown` under the policy `payments`) … */
export async function request(
  { samekey }: Opened,
  key: string,
  status: number,
  change: {
    readonly scope?: readonly string[];
    readonly operation?: string;
    readonly body?: Comparable;
  } = {},
) {
  const { scope = ['acme', 'alice'], operation = 'POST /payments', body = { amount: 12 } } = change;
  return samekey.run({ scope, key, operation, fingerprint: body }, () =>
    reply(status, { said: `answer-of-${key}` }),
  );
}
