/** `fromDrizzle` keeps the contract over mysql2, on MySQL and MariaDB. */

import { sql } from 'drizzle-orm';
import { int, mysqlTable, varchar } from 'drizzle-orm/mysql-core';
import { drizzle, type MySql2Database } from 'drizzle-orm/mysql2';
import { createConnection, createPool } from 'mysql2';
import { expect, it } from 'vitest';
import { fromDrizzle } from '../../src/tx/drizzle/index.ts';
import { contractOnMysql } from './mysql-harness.ts';

const orders = mysqlTable('orders', {
  id: varchar('id', { length: 64 }).primaryKey(),
  amount: int('amount'),
});

type Tx = Parameters<Parameters<MySql2Database['transaction']>[0]>[0];

contractOnMysql<Tx>('Drizzle over mysql2', (uri, begin, connectionLimit) => {
  const pool = createPool({ uri, connectionLimit });
  const db = drizzle({ client: pool });
  return {
    source: fromDrizzle(db, { ...begin, dialect: 'mysql' }),
    query: (tx, text) => tx.execute(sql.raw(text)),
    insert: (tx, id, amount) => tx.insert(orders).values({ id, amount }),
    nested: (tx, body) => tx.transaction(body),
    close: () => pool.promise().end(),
  };
});

it('on a single connection of mysql2 it is refused: its transactions would be one', () => {
  const connection = createConnection({ host: '127.0.0.1', port: 1 });
  connection.on('error', () => undefined);
  expect(() => fromDrizzle(drizzle({ client: connection }), { dialect: 'mysql' })).toThrow(
    /on Connection, where transactions would mix/,
  );
  connection.destroy();
});
