// @ts-check
// The shop's own tables, and Samekey's records in the same database: so that both commit together.
import { Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { fromPg } from 'samekey/tx/pg';

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] });
// Without a listener the loss of an idle connection would end the process.
pool.on('error', (error) => console.error(error.message));
await pool.query(`CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, account text NOT NULL, item text NOT NULL);
  CREATE TABLE IF NOT EXISTS payments (
    order_id int PRIMARY KEY REFERENCES orders, amount_cents int NOT NULL, charge_id text UNIQUE)`);

export const store = postgresStore({ service: 'shop', pool });
export const transactions = /** @type {typeof fromPg<import('pg').PoolClient>} */ (fromPg)(pool);

export const shop = {
  /**
   * An order and its payment, which nobody has charged yet.
   * @param {import('pg').PoolClient} tx @param {string} account @param {string} item
   */
  async open(tx, account, item) {
    const { rows } = await tx.query('INSERT INTO orders (account, item) VALUES ($1, $2) RETURNING id', [
      account,
      item,
    ]);
    const id = Number(rows[0].id);
    const amountCents = 1200;
    await tx.query('INSERT INTO payments (order_id, amount_cents) VALUES ($1, $2)', [id, amountCents]);
    return { id, amountCents, reference: `order-${id}` };
  },
  /** @param {import('pg').PoolClient} tx @param {number} id @param {string} chargeId */
  async book(tx, id, chargeId) {
    await tx.query('UPDATE payments SET charge_id = $1 WHERE order_id = $2', [chargeId, id]);
  },
  /** @param {string} account */
  async list(account) {
    const { rows } = await pool.query(
      `SELECT id, item, charge_id AS charge FROM orders JOIN payments ON order_id = id WHERE account = $1 ORDER BY id`,
      [account],
    );
    return rows;
  },
  async close() {
    await pool.end();
  },
};
