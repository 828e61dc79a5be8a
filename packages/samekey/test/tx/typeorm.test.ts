/** `fromTypeorm` keeps the contract, with the library itself. */

import { DataSource, type EntityManager } from 'typeorm';
import { fromTypeorm } from '../../src/tx/typeorm/index.ts';
import { contractOnPostgres } from './postgres-harness.ts';

contractOnPostgres<EntityManager>({
  name: 'TypeORM',
  refusesLateUse: true,
  async open(url, begin, max) {
    const dataSource = new DataSource({ type: 'postgres', url, poolSize: max });
    await dataSource.initialize();
    return {
      source: fromTypeorm(dataSource, begin),
      query: (tx, text) => tx.query(text),
      insert: (tx, id, amount) => tx.query('INSERT INTO orders VALUES ($1, $2)', [id, amount]),
      nested: (tx, body) => tx.transaction(body),
      close: () => dataSource.destroy(),
    };
  },
});
