/**
 * One database, opened for an operator: the store in it, and a way to look beside it. The store is the library's own,
 * so what the command does is what an application would do. Each kind is a module of its own, loaded with its driver
 * when it is needed.
 *
 * Invariants: opening changes nothing and makes no file · `query` only reads · a table that is not there is told with
 * the command that makes it.
 */

import { CliError } from '../cli-error.ts';
import type { SqlAddress } from './address.ts';
import type { OpenDatabase } from './opened.ts';

/** Opens it. Throws `CliError` where there is nothing to open. */
export async function openDatabase(address: SqlAddress, schema: string | undefined): Promise<OpenDatabase> {
  if (address.kind === 'postgres') {
    const { openPostgres } = await import('./open-postgres.ts');
    return openPostgres(address, address.url, schema);
  }
  if (schema !== undefined) throw new CliError('--schema goes with PostgreSQL; others have no schemas.');
  if (address.kind === 'mysql') {
    const { openMysql } = await import('./open-mysql.ts');
    return openMysql(address, address.url);
  }
  const { openSqlite } = await import('./open-sqlite.ts');
  return openSqlite(address, address.path);
}
