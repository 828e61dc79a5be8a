/** `fromTypeorm` keeps the contract on MySQL and MariaDB. */

import { DataSource, type EntityManager } from 'typeorm';
import { fromTypeorm } from '../../src/tx/typeorm/index.ts';
import { contractOnMysql } from './mysql-harness.ts';

contractOnMysql<EntityManager>('TypeORM', async (url, begin, poolSize) => {
  const dataSource = new DataSource({ type: 'mysql', url, poolSize, dateStrings: true });
  await dataSource.initialize();
  return {
    source: fromTypeorm<EntityManager>(dataSource, { ...begin, dialect: 'mysql' }),
    query: (tx, text) => tx.query(text),
    insert: (tx, id, amount) => tx.query('INSERT INTO orders VALUES (?, ?)', [id, amount]),
    nested: (tx, body) => tx.transaction(body),
    close: () => dataSource.destroy(),
  };
});
