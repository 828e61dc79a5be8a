/** `fromDrizzle` keeps the contract over node-postgres and over postgres.js. */

import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOverPostgresJs } from 'drizzle-orm/postgres-js';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { Client, Pool } from 'pg';
import postgres from 'postgres';
import { expect, it } from 'vitest';
import { fromDrizzle } from '../../src/tx/drizzle/index.ts';
import { contractOnPostgres, watched } from './postgres-harness.ts';

const orders = pgTable('orders', { id: text('id').primaryKey(), amount: integer('amount') });

type Tx = Parameters<Parameters<ReturnType<typeof drizzle>['transaction']>[0]>[0];
type TxOverPostgresJs = Parameters<Parameters<ReturnType<typeof drizzleOverPostgresJs>['transaction']>[0]>[0];

contractOnPostgres<Tx>({
  name: 'Drizzle over node-postgres',
  refusesLateUse: true,
  async open(connectionString, begin, max) {
    const pool = watched(new Pool({ connectionString, max }));
    const db = drizzle({ client: pool });
    return {
      source: fromDrizzle(db, begin),
      query: (tx, query) => tx.execute(sql.raw(query)),
      insert: (tx, id, amount) => tx.insert(orders).values({ id, amount }),
      nested: (tx, body) => tx.transaction(body),
      close: () => pool.end(),
    };
  },
});

contractOnPostgres<TxOverPostgresJs>({
  name: 'Drizzle over postgres.js',
  refusesLateUse: true,
  endsWhenLost: true,
  async open(url, begin, max) {
    const client = postgres(url, { max, onnotice: () => undefined });
    const db = drizzleOverPostgresJs({ client });
    return {
      source: fromDrizzle(db, begin),
      query: (tx, query) => tx.execute(sql.raw(query)),
      insert: (tx, id, amount) => tx.insert(orders).values({ id, amount }),
      nested: (tx, body) => tx.transaction(body),
      close: () => client.end({ timeout: 1 }),
    };
  },
});

it('on a single client it is refused: its transactions would be one', () => {
  expect(() => fromDrizzle(drizzle({ client: new Client() }))).toThrow(
    /on Client, where transactions would mix/,
  );
});
