/** The MySQL store on a database of its own. */
import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url }) {
  const store = mysqlStore({ service: 'test', connect: () => createConnection(url) });
  await store.migrate();
  return { store, close: async () => undefined };
}
