/** The newest PostgreSQL of npm's, as `database.mjs` starts it. */
import { findPgbench, pgbench } from '../contenders/pgbench.mjs';
import { startDatabase } from '../database.mjs';

/** @type {import('../contract.d.ts').StartEngine} */
export async function start() {
  const database = await startDatabase();
  const program = findPgbench();
  const raw = program === undefined ? undefined : await pgbench(program, database);
  return {
    ...database,
    clients: ['pg'],
    async stop() {
      await raw?.stop();
      await database.stop();
    },
    ...(raw && { raw: { name: 'pgbench', run: async (load) => (await raw.measure(load)).perSecond } }),
  };
}
