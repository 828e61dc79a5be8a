/** The PostgreSQL store on a database of its own. */
import pg from 'pg';
import { postgresStore } from 'samekey/stores/postgres';

/** @type {import('../contract.d.ts').OpenStore} */
export async function open({ url }) {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const store = postgresStore({ pool });
  await store.migrate();
  return { store, close: () => pool.end() };
}
