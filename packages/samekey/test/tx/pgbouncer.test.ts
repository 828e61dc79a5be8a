/** `fromPg` keeps the contract through PgBouncer in transaction mode, where each transaction may have another session. */

import assert from 'node:assert/strict';
import { Pool, type PoolClient } from 'pg';
import { describe } from 'vitest';
import { fromPg } from '../../src/tx/pg/index.ts';
import { pgBouncerProgram } from '../services/pgbouncer.ts';
import { contractOnPostgres, watched } from './postgres-harness.ts';

const pooler = pgBouncerProgram();

describe.runIf(pooler !== undefined)('through PgBouncer', () => {
  contractOnPostgres<PoolClient>(
    {
      name: 'pg through PgBouncer',
      refusesLateUse: true,
      async open(connectionString, begin, max) {
        const pool = watched(new Pool({ connectionString, max }));
        await checkPooled(pool);
        return {
          source: fromPg<PoolClient>(pool, begin),
          query: (tx, text) => tx.query(text),
          insert: (tx, id, amount) => tx.query('INSERT INTO orders VALUES ($1, $2)', [id, amount]),
          close: () => pool.end(),
        };
      },
    },
    pooler === undefined ? {} : { pooler },
  );
});

/** A pooler greets with a process of its own invention; without one these tests would say nothing. */
async function checkPooled(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    assert.notEqual(rows[0]?.pid, (client as PoolClient & { readonly processID?: number }).processID);
  } finally {
    client.release();
  }
}
