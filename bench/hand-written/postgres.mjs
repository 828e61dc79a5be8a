/** An INSERT and an UPDATE, prepared, each with its own commit, over a pool of 10. */
import { Pool } from 'pg';

const INSERT = { name: 'b', text: 'INSERT INTO hand_calls (key) VALUES ($1) ON CONFLICT DO NOTHING' };
const UPDATE = { name: 'e', text: 'UPDATE hand_calls SET status = 201, body = $2 WHERE key = $1' };
const SELECT = { name: 'f', text: 'SELECT body FROM hand_calls WHERE key = $1' };

/** @type {import('../contract.d.ts').OpenHandWritten} */
export async function open({ url }) {
  const pool = new Pool({ connectionString: url, max: 10 });
  await pool.query('CREATE TABLE IF NOT EXISTS hand_calls (key text PRIMARY KEY, status int, body text)');
  return {
    begin: async (key) => (await pool.query({ ...INSERT, values: [key] })).rowCount === 1,
    end: async (key, text) => void (await pool.query({ ...UPDATE, values: [key, text] })),
    find: async (key) => (await pool.query({ ...SELECT, values: [key] })).rows[0]?.body ?? null,
    close: () => pool.end(),
  };
}
