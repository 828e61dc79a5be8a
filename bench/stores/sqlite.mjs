/** The SQLite store on a file; its URL is the file's path. */
import Database from 'libsql';
import { sqliteStore } from 'samekey/stores/sqlite';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url }) {
  const database = new Database(url);
  const store = sqliteStore({ service: 'test', database });
  await store.migrate();
  return { store, close: async () => void database.close() };
}
