/** The PostgreSQL store on a database of its own. */
import { Pool } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url }) {
  const pool = new Pool({ connectionString: url, max: 10 });
  const store = postgresStore({ service: 'test', pool });
  await store.migrate();
  return { store, close: () => pool.end() };
}
