/** `fromSqlite` keeps the contract with every client that this machine can load, and with what runs on top of them. */

import { drizzle } from 'drizzle-orm/sqlite-proxy';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { Kysely, sql, SqliteDialect, type SqliteDatabase as KyselySqlite } from 'kysely';
import { describe, it } from 'vitest';
import { type SqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts';
import { type TxBench, txContract, type TxHarness } from '../../../testing/src/tx-contract.ts';
import { kthTxContract } from '../../../testing/src/tx/kth.ts';
import { fromSqlite } from '../../src/tx/sqlite/index.ts';
import { availableClients, type OpenDatabase, temporaryFile } from '../stores/sqlite-clients.ts';

type Open = ReturnType<typeof availableClients>[number]['open'];

/** A library on the store's client. */
interface OnTop {
  readonly source: TxBench['source'];
  query(tx: unknown, text: string): unknown;
  insert(tx: unknown, id: string, amount: number): unknown;
}

interface Tables {
  orders: { id: string; amount: number };
}

const orders = sqliteTable('orders', { id: text('id').primaryKey(), amount: integer('amount') });

function bare(store: SqliteStore): OnTop {
  return {
    source: fromSqlite(store) as TxBench['source'],
    query: (tx, statement) => (tx as OpenDatabase).exec(statement),
    insert: (tx, id, amount) =>
      (tx as OpenDatabase).prepare('INSERT INTO orders VALUES (?, ?)').run(id, amount),
  };
}

function withKysely(store: SqliteStore, database: OpenDatabase): OnTop {
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: database as unknown as KyselySqlite }),
  });
  return {
    source: fromSqlite(store, db) as TxBench['source'],
    query: (tx, statement) => sql.raw(statement).execute(tx as typeof db),
    insert: (tx, id, amount) => (tx as typeof db).insertInto('orders').values({ id, amount }).execute(),
  };
}

function withDrizzle(store: SqliteStore, database: OpenDatabase): OnTop {
  const db = drizzle(async (statement, params, method) => {
    const prepared = database.prepare(statement);
    if (method === 'run') return { rows: [prepared.run(...(params as never[]))] };
    const rows = prepared.all(...(params as never[])).map((row) => Object.values(row as object));
    return { rows: method === 'get' ? (rows[0] ?? []) : rows };
  });
  return {
    source: fromSqlite(store, db) as TxBench['source'],
    query: (_tx, statement) => database.exec(statement),
    insert: (tx, id, amount) => (tx as typeof db).insert(orders).values({ id, amount }),
  };
}

function notHere(): never {
  throw new Error('This fault is made on PostgreSQL only.');
}

function harness(
  name: string,
  open: Open,
  onTop: (store: SqliteStore, database: OpenDatabase) => OnTop,
): TxHarness {
  return {
    name,
    dialect: 'sqlite',
    refusesLateUse: false,
    straysRunFirst: true,
    async open() {
      const file = temporaryFile();
      const databases: OpenDatabase[] = [];
      const store = async (): Promise<{ readonly store: SqliteStore; readonly database: OpenDatabase }> => {
        const database = open(file.path);
        databases.push(database);
        const made = sqliteStore({ service: 'test', database });
        await made.migrate();
        await made.ready();
        return { store: made, database };
      };
      const own = await store();
      own.database.exec('CREATE TABLE orders (id text PRIMARY KEY, amount int UNIQUE)');
      const { database: eye } = await store();
      const library = onTop(own.store, own.database);
      return {
        source: library.source,
        store: own.store,
        another: async () => (await store()).store,
        query: async (tx, statement) => library.query(tx, statement),
        insert: async (tx, id, amount) => library.insert(tx, id, amount),
        beside: async (statement) =>
          /^select/i.test(statement)
            ? (eye.prepare(statement).all() as Record<string, unknown>[])
            : (eye.exec(statement), []),
        advance: notHere,
        loseCommitReply: notHere,
        crash: notHere,
        async close() {
          for (const database of databases) database.close();
          file.remove();
        },
      };
    },
  };
}

for (const [index, { name, open }] of availableClients().entries()) {
  if (index === 0) kthTxContract({ describe, it }, harness(name, open, bare));
  txContract({ describe, it }, harness(name, open, bare));
  // Its statement tells whether it has rows, which node:sqlite does not say.
  if (name !== 'node:sqlite') txContract({ describe, it }, harness(`Kysely over ${name}`, open, withKysely));
  txContract({ describe, it }, harness(`Drizzle's proxy over ${name}`, open, withDrizzle));
}
