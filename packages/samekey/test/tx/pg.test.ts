/** `fromPg` keeps the contract, with the library itself. */

import { Pool, type PoolClient } from 'pg';
import { fromPg } from '../../src/tx/pg/index.ts';
import { contractOnPostgres, watched } from './postgres-harness.ts';

contractOnPostgres<PoolClient>(
  {
    name: 'pg',
    refusesLateUse: true,
    opens: true,
    async open(connectionString, begin, max) {
      const pool = watched(new Pool({ connectionString, max }));
      return {
        source: fromPg<PoolClient>(pool, begin),
        query: (tx, text) => tx.query(text),
        insert: (tx, id, amount) => tx.query('INSERT INTO orders VALUES ($1, $2)', [id, amount]),
        close: () => pool.end(),
      };
    },
  },
  { all: true, kth: true },
);
