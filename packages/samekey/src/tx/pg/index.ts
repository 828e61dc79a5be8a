/** Transactions of `pg` (node-postgres). Source: https://node-postgres.com/features/transactions. */

import type { SqlSession, TransactionSource } from '../../store/transaction.ts';
import { type BeginOptions, beginStatement, readBegin } from '../begin.ts';
import { guarded, handleOf } from '../tx-handle.ts';

/** What is used of a client that a `Pool` of pg lends. */
export interface PgClient {
  query(text: string): Promise<{ readonly command: string }>;
  query(query: { name?: string; text: string; values?: unknown[]; rowMode: 'array' }): Promise<{
    readonly rows: unknown[];
  }>;
  release(error?: unknown): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** What is used of a `Pool` of pg. */
export interface PgPool<Client extends PgClient> {
  connect(lent: (error: Error | undefined, client?: Client) => void): void;
}

/** Runs each handler in a transaction on a client of the pool. The handler's `tx` is that client. */
export function fromPg<Client extends PgClient>(
  pool: PgPool<Client>,
  options: BeginOptions = {},
): TransactionSource<Client> {
  const begin = beginStatement(readBegin('fromPg', options));
  return {
    name: 'pg',
    dialect: 'postgres',
    tellsCommit: true,
    exclusive: false,
    async run(body, opening) {
      let broken: unknown;
      const lost = (error: Error): void => {
        broken = error;
      };
      const client = await lend(pool, lost);
      const guard = guarded(client, ['release', 'end']);
      try {
        const opened = await open(client, begin, (await opening?.(client)) ?? null);
        const handle = handleOf(
          async (text, values, name) =>
            (await client.query({ ...(name && { name }), text, values, rowMode: 'array' })).rows,
          { session: sessionOf(client), opened },
        );
        const result = await body(guard.tx, handle);
        guard.close();
        const { command } = await client.query('COMMIT');
        if (command !== 'COMMIT') throw rolledBack();
        return result;
      } catch (error) {
        // If even that fails, the connection is not fit for anybody else.
        await client.query('ROLLBACK').catch((failure: unknown) => {
          broken ??= failure;
        });
        throw error;
      } finally {
        guard.close();
        client.off('error', lost);
        client.release(broken);
      }
    },
  };
}

/** BEGIN, and what goes with it: the row that it gave, or null when the session did not take it. */
async function open(
  client: PgClient,
  begin: string,
  also: string | null,
): Promise<readonly unknown[] | null | undefined> {
  if (also === null) {
    await client.query(begin);
    return undefined;
  }
  try {
    // Several statements in one text give several results.
    const results = await client.query({ text: `${begin}; ${also}`, rowMode: 'array' });
    const last = Array.isArray(results) ? (results.at(-1) as { readonly rows: unknown[][] }) : undefined;
    return last?.rows[0] ?? null;
  } catch (error) {
    // The session has forgotten what was prepared in it (DISCARD ALL): then BEGIN goes alone.
    if ((error as { code?: unknown } | null)?.code !== NOT_PREPARED) throw error;
    await client.query('ROLLBACK');
    await client.query(begin);
    return null;
  }
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html: invalid_sql_statement_name. */
const NOT_PREPARED = '26000';

/** `processID` is in no type of pg: the process that greeted. */
function sessionOf(client: PgClient): SqlSession {
  const { processID } = client as { readonly processID?: number | null };
  return { connection: client, pid: processID ?? undefined };
}

/**
 * A client of the pool. A lent one whose connection ends has no listener, and an `error` without one ends the process:
 * it is heard from the moment on at which the pool stops to listen, which is before a promise would tell of it.
 */
function lend<Client extends PgClient>(pool: PgPool<Client>, lost: (error: Error) => void): Promise<Client> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error ?? new Error('The pool lent no client.'));
      client.on('error', lost);
      return resolve(client);
    });
  });
}

/** As PostgreSQL's own code for a transaction that a failed statement has ended. */
function rolledBack(): Error {
  return Object.assign(
    new Error(
      'COMMIT was answered with ROLLBACK: a query of the transaction failed after the handler had ended; await all.',
    ),
    { code: '25P02' },
  );
}
