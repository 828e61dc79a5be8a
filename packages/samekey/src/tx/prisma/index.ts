/**
 * Interactive transactions of Prisma with a driver adapter for PostgreSQL, or for MySQL and MariaDB.
 * Source: https://www.prisma.io/docs/orm/prisma-client/queries/transactions#interactive-transactions.
 *
 * It does not look at what COMMIT was answered with, so the record is read afterwards. Its own time-out is out of the
 * way: the transaction is bounded by its claim, in the database.
 */

import type { TransactionSource } from '../../store/transaction.ts';
import { readOptions, type Table, wholeNumber } from '../../core/options.ts';
import { type Isolation, LIBRARY_ROWS, type LibraryOptions } from '../begin.ts';
import { handleOf } from '../tx-handle.ts';

/** What is used of a transaction of Prisma. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: never[]): PromiseLike<unknown>;
}

/** What is used of a generated client of Prisma. */
export interface PrismaClient<Tx> {
  $transaction<Result>(
    body: (tx: Tx) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number; isolationLevel?: never },
  ): Promise<Result>;
}

/** Options of {@link fromPrisma}. */
export interface PrismaOptions extends LibraryOptions {
  /** How long to wait for a connection, in milliseconds; default 10,000. */
  readonly connectTimeMaxMs?: number;
}

/** Longer than any claim should be (`attemptTimeMaxMs` is five minutes): an hour. */
const TIMEOUT_MS = 3_600_000;

const ROWS = {
  ...LIBRARY_ROWS,
  connectTimeMaxMs: wholeNumber(0, undefined, 10_000),
} satisfies Table<PrismaOptions>;

/** Runs each handler in an interactive transaction. The handler's `tx` is its client. */
export function fromPrisma<Tx extends PrismaTransaction>(
  prisma: PrismaClient<Tx>,
  options: PrismaOptions = {},
): TransactionSource<Tx> {
  const { isolation, dialect, connectTimeMaxMs: maxWait } = readOptions('fromPrisma', ROWS, options);
  const settings = { maxWait, timeout: TIMEOUT_MS, ...levelOf(isolation) };
  return {
    name: 'prisma',
    dialect,
    tellsCommit: false,
    exclusive: false,
    run: (body) =>
      prisma.$transaction(
        (tx) =>
          body(
            tx,
            handleOf(
              (text, values) => tx.$queryRawUnsafe(text, ...(values as never[])) as PromiseLike<unknown[]>,
            ),
          ),
        settings,
      ),
  };
}

/** `read committed` is `ReadCommitted` there. */
function levelOf(isolation: Isolation | undefined): { isolationLevel?: never } {
  if (isolation === undefined) return {};
  const level = isolation.replaceAll(/(?:^| )(\w)/g, (_, first: string) => first.toUpperCase());
  return { isolationLevel: level as never };
}
