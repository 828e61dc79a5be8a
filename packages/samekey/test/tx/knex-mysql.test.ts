/** `fromKnex` keeps the contract on MySQL and MariaDB, with names and rows reshaped. */

import knexModule, { type Knex } from 'knex';
import { fromKnex } from '../../src/tx/knex/index.ts';
import { contractOnMysql } from './mysql-harness.ts';

const { knex } = knexModule;

contractOnMysql<Knex.Transaction>('Knex', (uri, begin, max) => {
  const db = knex({
    client: 'mysql2',
    connection: { uri, typeCast: () => 'reshaped' },
    pool: { min: 0, max },
    postProcessResponse: () => 'reshaped',
    wrapIdentifier: (name, wrap) => wrap(name.toLowerCase()),
  });
  return {
    source: fromKnex<Knex.Transaction>(db, { ...begin, dialect: 'mysql' }),
    query: (tx, text) => tx.raw(text),
    insert: (tx, id, amount) => tx('Orders').insert({ Id: id, Amount: amount }),
    nested: (tx, body) => tx.transaction(body),
    close: () => db.destroy(),
  };
});
