/**
 * The shop's own tables, in the SQLite file that also holds Samekey's records: an order and its payment. They know
 * nothing of keys being unique: a second payment for one intent would stand there, and be charged, and show.
 */

import { randomUUID } from 'node:crypto';
import type { SqliteDatabase, SqliteStore } from 'samekey/stores/sqlite';

/** What a customer asks for. */
export interface Order {
  readonly customerId: string;
  readonly amountCents: number;
  readonly currency: string;
}

/** A payment; `chargeId` is the provider's name for it, null until it is known. */
export interface Payment extends Order {
  readonly id: string;
  readonly orderId: string;
  readonly chargeId: string | null;
  readonly createdAt: string;
}

/** A payment of one intent: the key that a client chose for it, at one operation. */
export interface IntentPayment {
  readonly operation: string;
  readonly intent: string;
  readonly paymentId: string;
  readonly chargeId: string | null;
}

/** The shop's books. `open` and `book` are called inside of a transaction. */
export interface Ledger {
  /** Writes an order and its payment, which nobody has charged yet. */
  open(tenant: string, intent: Pick<IntentPayment, 'operation' | 'intent'>, order: Order): Payment;
  /** Notes what the provider calls it. */
  book(paymentId: string, chargeId: string): void;
  find(tenant: string, id: string): Payment | undefined;
  /** The latest first, at most `limit`. */
  list(tenant: string, limit: number): readonly Payment[];
  /** All payments of a tenant, the latest first. */
  intents(tenant: string): readonly IntentPayment[];
}

const TABLES = `
  CREATE TABLE IF NOT EXISTS shop_orders (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    customer_id TEXT NOT NULL,
    created_at TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS shop_payments (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    order_id TEXT NOT NULL REFERENCES shop_orders (id),
    operation TEXT NOT NULL,
    intent TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    currency TEXT NOT NULL,
    charge_id TEXT
  )`;
const FROM = 'FROM shop_payments p JOIN shop_orders o ON o.id = p.order_id WHERE o.tenant = ?';
const SELECT = `SELECT p.id, p.order_id AS orderId, o.customer_id AS customerId, p.amount_cents AS amountCents, p.currency,
  p.charge_id AS chargeId, o.created_at AS createdAt ${FROM}`;

/** Creates its tables, where they are not there yet. */
export async function createLedger(store: SqliteStore): Promise<void> {
  // By the store, which waits for its turn among the processes of the shop.
  await store.transaction((tx) => tx.database.exec(TABLES));
}

/** Opens it on a file that has its tables. */
export function openLedger(database: SqliteDatabase): Ledger {
  const insertOrder = database.prepare('INSERT INTO shop_orders VALUES (?, ?, ?, ?)');
  const insertPayment = database.prepare(
    'INSERT INTO shop_payments (id, order_id, operation, intent, amount_cents, currency) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const update = database.prepare('UPDATE shop_payments SET charge_id = ? WHERE id = ?');
  const one = database.prepare(`${SELECT} AND p.id = ?`);
  const latest = database.prepare(`${SELECT} ORDER BY p.sequence DESC LIMIT ?`);
  const intents = database.prepare(
    `SELECT p.operation, p.intent, p.id AS paymentId, p.charge_id AS chargeId ${FROM} ORDER BY p.sequence DESC`,
  );
  return {
    open(tenant, { operation, intent }, { customerId, amountCents, currency }) {
      const [orderId, id, createdAt] = [named('order'), named('pay'), new Date().toISOString()];
      insertOrder.run(orderId, tenant, customerId, createdAt);
      insertPayment.run(id, orderId, operation, intent, amountCents, currency);
      return { id, orderId, customerId, amountCents, currency, chargeId: null, createdAt };
    },
    book: (paymentId, chargeId) => void update.run(chargeId, paymentId),
    find: (tenant, id) => one.get(tenant, id) as Payment | undefined,
    list: (tenant, limit) => latest.all(tenant, limit) as Payment[],
    intents: (tenant) => intents.all(tenant) as IntentPayment[],
  };
}

function named(what: string): string {
  return `${what}_${randomUUID().replaceAll('-', '')}`;
}
