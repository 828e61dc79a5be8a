/** `fromKnex` keeps the contract, with names and rows reshaped. */

import knexModule, { type Knex } from 'knex';
import { fromKnex } from '../../src/tx/knex/index.ts';
import { contractOnPostgres } from './postgres-harness.ts';

const { knex } = knexModule;

contractOnPostgres<Knex.Transaction>({
  name: 'Knex',
  refusesLateUse: true,
  async open(connection, begin, max) {
    const db = knex({
      client: 'pg',
      connection,
      pool: { min: 0, max },
      postProcessResponse: () => 'reshaped',
      wrapIdentifier: (name, wrap) => wrap(name.toLowerCase()),
    });
    return {
      source: fromKnex<Knex.Transaction>(db, begin),
      query: (tx, text) => tx.raw(text),
      insert: (tx, id, amount) => tx('Orders').insert({ Id: id, Amount: amount }),
      nested: (tx, body) => tx.transaction(body),
      close: () => db.destroy(),
    };
  },
});
