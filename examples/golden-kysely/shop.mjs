// @ts-check
// The shop's own tables, and Samekey's records in the same database: so that both commit together.
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { fromKysely } from 'samekey/tx/kysely';

/** @typedef {{ id: import('kysely').Generated<number>, account: string, item: string }} Orders */
/** @typedef {{ order_id: number, amount_cents: number, charge_id: string | null }} Payments */
/** @typedef {{ orders: Orders, payments: Payments }} Tables */
/** @typedef {import('kysely').Transaction<Tables>} Tx */

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] });
// Without a listener the loss of an idle connection would end the process.
pool.on('error', (error) => console.error(error.message));
/** @type {Kysely<Tables>} */
const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
await sql`CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, account text NOT NULL, item text NOT NULL)`.execute(
  db,
);
await sql`CREATE TABLE IF NOT EXISTS payments (
  order_id int PRIMARY KEY REFERENCES orders, amount_cents int NOT NULL, charge_id text UNIQUE)`.execute(db);

export const store = postgresStore({ service: 'shop', pool });
export const transactions = /** @type {typeof fromKysely<Tx>} */ (fromKysely)(db, { pool });

export const shop = {
  /**
   * An order and its payment, which nobody has charged yet.
   * @param {Tx} tx @param {string} account @param {string} item
   */
  async open(tx, account, item) {
    const { id } = await tx
      .insertInto('orders')
      .values({ account, item })
      .returning('id')
      .executeTakeFirstOrThrow();
    const amountCents = 1200;
    await tx
      .insertInto('payments')
      .values({ order_id: id, amount_cents: amountCents, charge_id: null })
      .execute();
    return { id, amountCents, reference: `order-${id}` };
  },
  /** @param {Tx} tx @param {number} id @param {string} chargeId */
  async book(tx, id, chargeId) {
    await tx.updateTable('payments').set({ charge_id: chargeId }).where('order_id', '=', id).execute();
  },
  /** @param {string} account */
  list: (account) =>
    db
      .selectFrom('orders')
      .innerJoin('payments', 'payments.order_id', 'orders.id')
      .select(['orders.id', 'orders.item', 'payments.charge_id as charge'])
      .where('orders.account', '=', account)
      .orderBy('orders.id')
      .execute(),
  async close() {
    await db.destroy();
  },
};
