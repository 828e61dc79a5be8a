/** An INSERT and an UPDATE, prepared, each with its own commit; synchronous, as the client is. The raw limit of one file. */
import Database from 'libsql';

/** @type {import('../contract.d.ts').OpenHandWritten} */
export async function open({ url }) {
  const database = new Database(`${url}-hand`);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec('CREATE TABLE IF NOT EXISTS hand_written (key TEXT PRIMARY KEY, status INT, body TEXT)');
  const insert = database.prepare('INSERT INTO hand_written (key) VALUES (?) ON CONFLICT DO NOTHING');
  const update = database.prepare('UPDATE hand_written SET status = 201, body = ? WHERE key = ?');
  const select = database.prepare('SELECT body FROM hand_written WHERE key = ?');
  return {
    begin: async (key) => insert.run(key).changes === 1,
    end: async (key, text) => void update.run(text, key),
    find: async (key) => /** @type {{ body: string } | undefined} */ (select.get(key))?.body ?? null,
    close: async () => void database.close(),
  };
}
