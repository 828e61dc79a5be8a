/** Transactions of `pg` (node-postgres). Source: https://node-postgres.com/features/transactions. */

import type { TransactionSource } from '../../store/transaction.ts';
import { type BeginOptions, beginStatement, readBegin } from '../begin.ts';
import { guarded, handleOf } from '../tx-handle.ts';

/** What is used of a client that a `Pool` of pg lends. */
export interface PgClient {
  query(text: string): Promise<{ readonly command: string }>;
  query(query: { text: string; values: unknown[]; rowMode: 'array' }): Promise<{ readonly rows: unknown[] }>;
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
    async run(body) {
      let broken: unknown;
      const lost = (error: Error): void => {
        broken = error;
      };
      const client = await lend(pool, lost);
      const guard = guarded(client, ['release', 'end']);
      try {
        await client.query(begin);
        const handle = handleOf(
          async (text, values) => (await client.query({ text, values, rowMode: 'array' })).rows,
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
