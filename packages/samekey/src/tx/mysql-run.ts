/**
 * A transaction on a connection that a pool of `mysql2/promise` or `mariadb` lent.
 *
 * Invariants: statements that end a transaction are refused before they are sent, those included that commit without
 * saying so (https://dev.mysql.com/doc/refman/8.0/en/implicit-commit.html) · what a session's `completion_type` makes
 * of COMMIT is overruled · every error is followed by an explicit ROLLBACK, because a lock wait that timed out undoes
 * its statement only · after a deadlock, which has rolled back everything, nothing is sent any more that would commit
 * by itself · a connection that cannot even roll back is given to nobody else.
 */

import { OptionsError } from '../core/errors.ts';
import type { SqlTransaction } from '../store/transaction.ts';
import { beginStatement, type Isolation } from './begin.ts';
import { guarded, handleOf } from './tx-handle.ts';

/** What is used of a connection that a pool lends. */
export interface LentConnection {
  query(options: never): Promise<unknown>;
  release(): unknown;
  destroy(): unknown;
}

/** BEGIN, `body`, COMMIT; ROLLBACK when it rejects. `rowsOf` finds the rows in a driver's answer. */
export async function runOnMysql<Connection extends LentConnection, Result>(
  pool: { getConnection(): Promise<Connection> },
  isolation: Isolation | undefined,
  settingsOf: (connection: Connection) => object,
  rowsOf: (answer: unknown) => unknown,
  body: (tx: Connection, handle: SqlTransaction) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.getConnection();
  const settings = settingsOf(connection);
  const ask = (sql: string): Promise<unknown> => connection.query({ ...settings, sql } as never);
  const watched = withoutEnds(connection);
  const guard = guarded(watched.connection, NEVER);
  let isBroken = false;
  try {
    if (isolation !== undefined) await ask(isolationStatement(isolation));
    await ask('START TRANSACTION');
    const handle = handleOf(async (sql) => {
      const cause = watched.cause();
      // The transaction went with the deadlock, whatever the handler made of it; only the session can still be put
      // right.
      if (cause !== undefined && !sql.startsWith('SET SESSION')) throw cause;
      const rows = rowsOf(await ask(sql));
      return Array.isArray(rows) ? (rows as unknown[]) : [];
    });
    const result = await body(guard.tx, handle);
    guard.close();
    await ask('COMMIT AND NO CHAIN NO RELEASE');
    return result;
  } catch (error) {
    await ask('ROLLBACK AND NO CHAIN NO RELEASE').catch(() => {
      isBroken = true;
    });
    throw error;
  } finally {
    guard.close();
    if (isBroken) connection.destroy();
    else await connection.release();
  }
}

/** For the next transaction only. */
function isolationStatement(isolation: Isolation): string {
  return beginStatement(isolation).replace('BEGIN', 'SET TRANSACTION');
}

const NEVER: readonly string[] = [
  'release',
  'end',
  'destroy',
  'beginTransaction',
  'commit',
  'rollback',
  'changeUser',
];

const TEXTS: ReadonlySet<string> = new Set(['query', 'execute', 'batch', 'prepare', 'queryStream']);

/** Behind white space and comments; a savepoint may be rolled back to, a temporary table may be made. */
const ENDS =
  /^(?:\s|--[^\n]*\n|#[^\n]*\n|\/\*(?!!).*?\*\/)*(?:alter|analyze|begin|cache\s+index|check\s+table|commit|create(?!\s+(?:or\s+replace\s+)?temporary)|drop(?!\s+temporary)|flush|grant|install|lock\s+tables?|optimize|rename|repair|reset|revoke|rollback(?!\s+(?:work\s+)?to)|set\s+(?:session\s+|@@)?autocommit|start\s+transaction|truncate|uninstall)\b/is;

/** Deadlock, and a change since the snapshot: the server has rolled back the whole transaction. */
const ROLLED_BACK: ReadonlySet<unknown> = new Set([1213, 1020]);

/**
 * The connection as the handler gets it; `cause`: the error with which the server has rolled back everything, if it
 * has.
 */
function withoutEnds<Connection extends object>(
  connection: Connection,
): { readonly connection: Connection; readonly cause: () => Error | undefined } {
  let rolledBack: Error | undefined;
  const notice = (error: unknown): void => {
    if (error instanceof Error && ROLLED_BACK.has((error as { errno?: unknown }).errno)) rolledBack = error;
  };
  const proxy = new Proxy(connection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function' || !TEXTS.has(String(name))) return value;
      return (...args: unknown[]): unknown => {
        const [first] = args;
        const sql = typeof first === 'string' ? first : (first as { sql?: unknown } | null)?.sql;
        if (typeof sql === 'string' && ENDS.test(sql)) {
          throw new OptionsError(
            'A statement of the handler would end the transaction, as changes of a schema do in MySQL: run it elsewhere.',
          );
        }
        // Whoever caught it: the attempt ends with it, and runs again.
        if (rolledBack !== undefined) return Promise.reject(rolledBack);
        const answer: unknown = Reflect.apply(value as () => unknown, target, args);
        if (answer instanceof Promise) answer.catch(notice);
        return answer;
      };
    },
  });
  return { connection: proxy, cause: () => rolledBack };
}
