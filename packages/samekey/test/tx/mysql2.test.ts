/** `fromMysql2` keeps the contract, with the library itself. */

import { createPool, type PoolConnection } from 'mysql2/promise';
import { fromMysql2 } from '../../src/tx/mysql2/index.ts';
import { contractOnMysql } from './mysql-harness.ts';

// A text that rolls back is refused before it is sent.
contractOnMysql<PoolConnection>(
  'mysql2',
  (uri, begin, connectionLimit) => {
    const pool = createPool({ uri, connectionLimit });
    return {
      source: fromMysql2<PoolConnection>(pool, begin),
      query: (tx, text) => tx.query(text),
      close: () => pool.end(),
    };
  },
  { straysRunFirst: false },
);
