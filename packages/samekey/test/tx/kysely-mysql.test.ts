/** `fromKysely` keeps the contract on MySQL and MariaDB too, with a plugin that renames columns. */

import { CamelCasePlugin, Kysely, MysqlDialect, sql, type Transaction } from 'kysely';
import { createPool } from 'mysql2';
import { fromKysely } from '../../src/tx/kysely/index.ts';
import { contractOnMysql } from './mysql-harness.ts';

contractOnMysql<Transaction<object>>('Kysely', (uri, begin, connectionLimit) => {
  const db = new Kysely<object>({
    dialect: new MysqlDialect({ pool: createPool({ uri, connectionLimit }) }),
    plugins: [new CamelCasePlugin()],
  });
  return {
    source: fromKysely<Transaction<object>>(db, { ...begin, pool: null, dialect: 'mysql' }),
    query: (tx, text) => sql.raw(text).execute(tx),
    close: () => db.destroy(),
  };
});
