/** A MySQL or MariaDB database, opened for an operator. */

import { createConnection } from 'mysql2/promise';
import { mysqlStore } from 'samekey/stores/mysql';
import { CliError, messageOf } from '../cli-error.ts';
import type { SqlAddress } from './address.ts';
import { ANY_SERVICE } from './database-schema.ts';
import { CONNECT_TIME_MAX_MS, type OpenDatabase, type Row, STATEMENT_TIME_MAX_MS } from './opened.ts';

/** Connects when it is first asked. */
export function openMysql(address: SqlAddress, uri: string): OpenDatabase {
  const connect = (): ReturnType<typeof createConnection> =>
    createConnection({ uri, connectTimeout: CONNECT_TIME_MAX_MS });
  const store = mysqlStore({ service: ANY_SERVICE, connect, statementTimeMaxMs: STATEMENT_TIME_MAX_MS });

  async function query(sql: string, values: readonly (string | number)[] = []): Promise<readonly Row[]> {
    const client = await connect().catch((error: unknown) => {
      throw new CliError(`The MySQL server ${address.shown} cannot be asked: ${messageOf(error)}.`);
    });
    try {
      // A limit of the server's own, made for requests, must not end the look that finds it.
      await client
        .query('SET SESSION max_statement_time = 30')
        .catch(() => client.query('SET SESSION max_execution_time = 30000'));
      await client.query('START TRANSACTION READ ONLY');
      const [rows] = await client.query(sql, [...values]);
      return rows as Row[];
    } finally {
      client.destroy();
    }
  }

  return {
    address,
    store,
    query,
    now: async () => Number((await query('SELECT FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000) AS now'))[0]?.['now']),
    close: () => store.close(),
  };
}
