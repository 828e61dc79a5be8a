/**
 * What an error means that a user's transaction ended with, in whatever a library wrapped it: the SQLSTATE is looked
 * for where pg, postgres.js, Kysely, Drizzle, Knex, TypeORM and Prisma put it.
 *
 * Invariant: what is not known to be rolled back is `unclear`; then only a conditional write tells.
 * Sources: https://www.postgresql.org/docs/current/errcodes-appendix.html,
 * https://www.prisma.io/docs/orm/reference/error-reference (P2034: write conflict or deadlock).
 */

import type { TransactionFault } from '../../../store/transaction.ts';
import { appliedBy } from '../errors.ts';

/** Rolled back to let others through: a new run may succeed. */
const AGAIN = new Set(['40001', '40P01', 'P2034']);

/** How deep libraries wrap; a circle ends here too. */
const DEPTH_MAX = 8;

/**
 * Judges an error of a transaction in which nothing of ours can have hidden a COMMIT. `doubted`: codes that prove no
 * rollback on this server.
 */
export function transactionFault(error: unknown, doubted?: ReadonlySet<string>): TransactionFault {
  const codes = codesOf(error);
  if (codes.some((code) => AGAIN.has(code)) || forgetsOurs(error)) return 'again';
  const state = codes.find((code) => /^[0-9A-Z]{5}$/.test(code) && !OF_PRISMA.test(code));
  return state !== undefined && appliedBy({ code: state }, true, doubted) === 'no'
    ? 'rolled-back'
    : 'unclear';
}

/** Whether a session has forgotten a statement of ours: nothing of it was done. Of others it says nothing. */
export function forgetsOurs(error: unknown): boolean {
  return codesOf(error).includes('26000') && textsOf(error).some((text) => text.includes('"samekey_'));
}

/** Its codes look like SQLSTATEs; the class P0 is PostgreSQL's (P0001: raised by a function, also at COMMIT). */
const OF_PRISMA = /^P[1-9]\d{3}$/;

/** Every `code` in an error and in what it wraps, the outermost first. */
export function codesOf(error: unknown): string[] {
  return wrapped(error).flatMap(({ code, originalCode }) =>
    [code, originalCode].filter((found) => typeof found === 'string'),
  );
}

/** Every message in an error and in what it wraps. */
export function textsOf(error: unknown): string[] {
  return wrapped(error).flatMap(({ message, originalMessage }) =>
    [message, originalMessage].filter((found) => typeof found === 'string'),
  );
}

/** Whether an error, or what it wraps, says that the connection is gone. */
export function losesConnection(error: unknown): boolean {
  return codesOf(error).some((code) => LOST.test(code));
}

/** Of the server (08, 57P, 25P03: it idled for too long), of the network, and of postgres.js. */
const LOST =
  /^(?:08\w{3}|57P\w{2}|25P03|ECONNRESET|ECONNABORTED|ENOTCONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|CONNECTION_[A-Z]+)$/;

/** An error and what it wraps, the outermost first. */
function wrapped(error: unknown): readonly Readonly<Record<string, unknown>>[] {
  const all: Record<string, unknown>[] = [];
  let level: readonly unknown[] = [error];
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0; depth += 1) {
    const inner: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      all.push(one as Record<string, unknown>);
      inner.push(...WRAPPERS.map((name) => (one as Record<string, unknown>)[name]));
    }
    level = inner;
  }
  return all;
}

const WRAPPERS: readonly string[] = ['cause', 'driverError', 'originalError', 'meta', 'driverAdapterError'];
