/**
 * PostgreSQL behind PgBouncer in transaction mode: each statement may meet another session. It is the pooler that dies here.
 */

import { pgBouncerProgram, startPgBouncer } from '../../services/pgbouncer.ts';
import { anyPostgres, startPostgres } from '../../services/postgres.ts';
import type { BackendKind } from './backend.ts';
import { placeOn, postgresBackend } from './postgres.ts';

/** Address: as of PostgreSQL. */
export const pgbouncerBackend: BackendKind = {
  name: 'pgbouncer',
  isAvailable: () => anyPostgres() !== undefined && pgBouncerProgram() !== undefined,
  open: (address) => postgresBackend.open(address),
  async start({ medium = 'memory' } = {}) {
    const [source, program] = [anyPostgres(), pgBouncerProgram()];
    if (source === undefined || program === undefined) throw new Error('This machine has no PgBouncer.');
    const server = await startPostgres(source, {}, medium);
    const bouncer = await startPgBouncer(program, server.url());
    return {
      name: 'pgbouncer',
      createPlace: async () => placeOn(await server.createDatabase(), bouncer),
      faults: {
        async crash() {
          await bouncer.kill();
          await bouncer.restart();
        },
      },
      async close() {
        await bouncer.stop();
        await server.stop();
      },
    };
  },
};
