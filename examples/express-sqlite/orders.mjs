// @ts-check
// The application's own table, in its own database.
import Database from 'libsql';

/** @type {Database.Database} */
export const database = new Database(process.env['DATABASE'] ?? 'orders.db');
database.exec('CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, account TEXT, item TEXT)');

export const orders = {
  /** @param {string | undefined} account @param {string} item */
  async add(account, item) {
    const { lastInsertRowid } = database
      .prepare('INSERT INTO orders (account, item) VALUES (?, ?)')
      .run(account, item);
    return Number(lastInsertRowid);
  },
  /** @param {string | undefined} account */
  async list(account) {
    return database.prepare('SELECT id, item FROM orders WHERE account = ?').all(account);
  },
  async close() {
    database.close();
  },
};
