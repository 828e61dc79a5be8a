/**
 * What was charged: the business table of the demo, in the SQLite file that also holds Samekey's records. It knows nothing of
 * keys being unique: it counts what it is told, so that a second charge for one intent shows.
 */

import { randomUUID } from 'node:crypto';
import type { SqliteDatabase, SqliteStore } from 'samekey/stores/sqlite';

/** What a customer asks for. */
export interface Order {
  readonly customerId: string;
  readonly amountCents: number;
  readonly currency: string;
}

/** A charge. */
export interface Payment extends Order {
  readonly id: string;
  readonly createdAt: string;
}

/** How often one intent (the key a client chose for it) was charged. */
export interface IntentCharges {
  readonly intent: string;
  readonly charges: number;
  readonly totalCents: number;
}

/** The charges of one tenant. */
export interface Ledger {
  charge(tenant: string, intent: string, order: Order): Promise<Payment>;
  find(tenant: string, id: string): Payment | undefined;
  /** The latest first, at most `limit`. */
  list(tenant: string, limit: number): readonly Payment[];
  /** One entry per intent, the one charged last first. */
  intents(tenant: string): readonly IntentCharges[];
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS demo_payments (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    intent TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    currency TEXT NOT NULL,
    created_at TEXT NOT NULL
  )`;
const COLUMNS =
  'id, customer_id AS customerId, amount_cents AS amountCents, currency, created_at AS createdAt';

/** Opens the ledger in the store's own file. */
export async function openLedger(store: SqliteStore): Promise<Ledger> {
  const database = await store.transaction((tx) => {
    tx.database.exec(TABLE);
    return tx.database;
  });
  return ledgerOn(store, database);
}

function ledgerOn(store: SqliteStore, database: SqliteDatabase): Ledger {
  const insert = database.prepare(
    `INSERT INTO demo_payments (id, tenant, intent, customer_id, amount_cents, currency, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const one = database.prepare(`SELECT ${COLUMNS} FROM demo_payments WHERE tenant = ? AND id = ?`);
  const latest = database.prepare(
    `SELECT ${COLUMNS} FROM demo_payments WHERE tenant = ? ORDER BY sequence DESC LIMIT ?`,
  );
  const counts = database.prepare(
    `SELECT intent, count(*) AS charges, sum(amount_cents) AS totalCents
     FROM demo_payments WHERE tenant = ? GROUP BY intent ORDER BY max(sequence) DESC`,
  );
  return {
    async charge(tenant, intent, order) {
      const { customerId, amountCents, currency } = order;
      const payment: Payment = {
        id: `pay_${randomUUID().replaceAll('-', '')}`,
        customerId,
        amountCents,
        currency,
        createdAt: new Date().toISOString(),
      };
      // Through the store, whose own writes take turns with it on this connection.
      await store.transaction(() => {
        insert.run(payment.id, tenant, intent, customerId, amountCents, currency, payment.createdAt);
      });
      return payment;
    },
    // Reads need no turn: every transaction here is over in the step it began in, so none is ever half done.
    find: (tenant, id) => one.get(tenant, id) as Payment | undefined,
    list: (tenant, limit) => latest.all(tenant, limit) as Payment[],
    intents: (tenant) => counts.all(tenant) as IntentCharges[],
  };
}
