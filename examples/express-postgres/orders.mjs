// @ts-check
// The application's own table, in its own database.
import { Pool } from 'pg';

export const database = new Pool({ connectionString: process.env['DATABASE_URL'] });
// Without a listener the loss of an idle connection would end the process.
database.on('error', (error) => console.error(error.message));
await database.query('CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, account text, item text)');

export const orders = {
  /** @param {string | undefined} account @param {string} item */
  async add(account, item) {
    const { rows } = await database.query('INSERT INTO orders (account, item) VALUES ($1, $2) RETURNING id', [
      account,
      item,
    ]);
    return Number(rows[0].id);
  },
  /** @param {string | undefined} account */
  async list(account) {
    const { rows } = await database.query('SELECT id, item FROM orders WHERE account = $1 ORDER BY id', [
      account,
    ]);
    return rows;
  },
  async close() {
    await database.end();
  },
};
