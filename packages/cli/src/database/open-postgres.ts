/** A PostgreSQL database, opened for an operator. */

import { Client } from 'pg';
import { postgresStore } from 'samekey/stores/postgres';
import { CliError, messageOf } from '../cli-error.ts';
import type { SqlAddress } from './address.ts';
import { ANY_SERVICE } from './database-schema.ts';
import { CONNECT_TIME_MAX_MS, type OpenDatabase, type Row, STATEMENT_TIME_MAX_MS } from './opened.ts';

/** Connects when it is first asked. */
export function openPostgres(address: SqlAddress, url: string, schema: string | undefined): OpenDatabase {
  const connect = (): Client => {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIME_MAX_MS });
    // The server may go at any time: the next question says so.
    client.on('error', () => undefined);
    return client;
  };
  const store = postgresStore({
    service: ANY_SERVICE,
    connect,
    statementTimeMaxMs: STATEMENT_TIME_MAX_MS,
    ...(schema === undefined ? {} : { schema }),
  });
  let own: Promise<Client> | undefined;

  async function ownClient(): Promise<Client> {
    const client = connect();
    try {
      await client.connect();
    } catch (error) {
      throw new CliError(`The PostgreSQL server ${address.shown} cannot be asked: ${messageOf(error)}.`);
    }
    return client;
  }

  /**
   * Each in a transaction of its own: behind a pooler a setting of the session would reach the application's
   * transactions.
   */
  async function query(sql: string, values: readonly (string | number)[] = []): Promise<readonly Row[]> {
    own ??= ownClient();
    const client = await own;
    await client.query('BEGIN READ ONLY');
    try {
      await client.query(
        `SELECT set_config('search_path', $1, true), set_config('statement_timeout', $2, true)`,
        [`"${schema ?? 'public'}", pg_catalog`, String(STATEMENT_TIME_MAX_MS)],
      );
      return (await client.query<Row>(sql, [...values])).rows;
    } finally {
      await client.query('ROLLBACK');
    }
  }

  return {
    address,
    store,
    query,
    now: async () =>
      Number((await query('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) AS now'))[0]?.['now']),
    async close() {
      await store.close();
      const client = await own?.catch(() => undefined);
      await client?.end();
    },
  };
}
