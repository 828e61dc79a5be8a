/** `fromMariadb` keeps the contract, with the library itself. */

import { createPool, type PoolConnection } from 'mariadb';
import { fromMariadb } from '../../src/tx/mariadb/index.ts';
import { contractOnMysql } from './mysql-harness.ts';

// A text that rolls back is refused before it is sent.
contractOnMysql<PoolConnection>(
  'mariadb',
  (url, begin, connectionLimit) => {
    const { hostname, port, username, pathname } = new URL(url);
    const pool = createPool({
      host: hostname,
      port: Number(port),
      user: username,
      database: pathname.slice(1),
      connectionLimit,
    });
    return {
      source: fromMariadb<PoolConnection>(pool, begin),
      query: (tx, text) => tx.query(text),
      close: () => pool.end(),
    };
  },
  { straysRunFirst: false },
);
