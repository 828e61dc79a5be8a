/** `fromKysely` keeps the contract, with plugins that rename columns and read texts as JSON. */

import {
  CamelCasePlugin,
  Kysely,
  ParseJSONResultsPlugin,
  PostgresDialect,
  sql,
  type Transaction,
} from 'kysely';
import { Pool } from 'pg';
import { expect, it } from 'vitest';
import { fromKysely } from '../../src/tx/kysely/index.ts';
import { contractOnPostgres, watched } from './postgres-harness.ts';

interface Tables {
  orders: { id: string; amount: number };
}

contractOnPostgres<Transaction<Tables>>({
  name: 'Kysely',
  refusesLateUse: true,
  async open(connectionString, begin, max) {
    const pool = watched(new Pool({ connectionString, max }));
    const db = new Kysely<Tables>({
      dialect: new PostgresDialect({ pool }),
      plugins: [new CamelCasePlugin(), new ParseJSONResultsPlugin()],
    });
    return {
      source: fromKysely(db, { ...begin, pool }),
      query: (tx, text) => sql.raw(text).execute(tx),
      insert: (tx, id, amount) => tx.insertInto('orders').values({ id, amount }).execute(),
      close: () => db.destroy(),
    };
  },
});

it('without its pool it is refused: the loss of a connection would end the process', () => {
  expect(() => fromKysely({} as Kysely<Tables>, {} as never)).toThrow(/pool of pg that the dialect has/);
});
