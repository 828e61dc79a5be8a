/** An INSERT and an UPDATE, prepared, each with its own commit, over a pool of 10. */
import { createPool } from 'mysql2/promise';

/** @type {import('../contract.d.ts').OpenHandWritten} */
export async function open({ url }) {
  const pool = createPool({ uri: url, connectionLimit: 10 });
  await pool.query(
    'CREATE TABLE IF NOT EXISTS hand_written (`key` varbinary(255) PRIMARY KEY, status int, body text) CHARACTER SET utf8mb4',
  );
  return {
    async begin(key) {
      try {
        await pool.execute('INSERT INTO hand_written (`key`) VALUES (?)', [key]);
        return true;
      } catch {
        return false;
      }
    },
    async end(key, text) {
      await pool.execute('UPDATE hand_written SET status = 201, body = ? WHERE `key` = ?', [text, key]);
    },
    async find(key) {
      const [rows] = await pool.execute('SELECT body FROM hand_written WHERE `key` = ?', [key]);
      const [row] = /** @type {{ body: string | null }[]} */ (rows);
      return row?.body ?? null;
    },
    close: () => pool.end(),
  };
}
