/** A lane for simulated histories on the distributed PostgreSQL store; see simulator-lanes.ts. */

import { Client } from 'pg';
import { type DistributedEngine, distributedPostgresStore } from 'samekey/stores/postgres/distributed';
import type { SimulatedMachine } from '@samekey/testing';
import { HANDLES, inTurn, type Lane, PATIENCE_MS, TimedClient } from './simulator-lanes.ts';

/** A lane on a schema of its own. One connection for each kind of work, so that a history is the same each time. */
export async function distributedLane(url: string, schema: string, engine: DistributedEngine): Promise<Lane> {
  const admin = new Client({ connectionString: url });
  admin.on('error', () => undefined);
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  let clock: Pick<SimulatedMachine, 'now'> = { now: Date.now };
  const now = (): number => clock.now();
  const handles = Array.from({ length: HANDLES }, () =>
    distributedPostgresStore({
      service: 'test',
      connect: () => new TimedClient({ connectionString: url }, now),
      engine,
      schema,
      lanes: 1,
      statementTimeMaxMs: PATIENCE_MS,
      clock: `(timestamptz 'epoch' + current_setting('samekey.now')::bigint * interval '1 millisecond')`,
      // Nothing but the server's clock passes here: where it leaps, so does the process.
      now,
      monotonicNow: now,
    }),
  );
  await handles[0]?.migrate();
  return {
    async database(machine) {
      clock = machine;
      await admin.query(
        `DELETE FROM ${schema}.samekey_plain_records; UPDATE ${schema}.samekey_plain_meta SET value = 0 WHERE name = 'last_now'`,
      );
      return { connect: inTurn(handles) };
    },
    async close() {
      await Promise.all(handles.map((each) => each.close()));
      await admin.query('SET client_min_messages = error');
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}
