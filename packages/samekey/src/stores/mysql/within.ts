/**
 * The store's verbs inside a user's transaction: they commit or roll back with it. Of records only ever an UPDATE: none
 * is inserted there, so no collision of keys can meet the transaction (F14).
 *
 * A transaction may be ended under the handler: by a procedure's COMMIT, a statement that changes a schema, a deadlock
 * that it catches. The server says nothing, and what follows commits by itself (F122). `limit` therefore does two
 * things:
 * - it sets a savepoint, which does not outlive its transaction. That is how the end is noticed, on both servers,
 *   before the record is written. Its name is its own and nobody else's is ever released, those of the library's nested
 *   transactions included (F124);
 * - it makes later transactions of the session read-only until the verb that ends the attempt, or `undoes`, takes that
 *   back: what the handler sends after the end is refused, all but the first statement after a deadlock, which MariaDB
 *   still takes for one of the old transaction. So that the server's rollback was the last that happened is not
 *   assumed, but asked (SHOW WARNINGS is about the last statement).
 *
 * Sources: https://dev.mysql.com/doc/refman/8.0/en/implicit-commit.html,
 * https://dev.mysql.com/doc/refman/8.0/en/savepoint.html, https://dev.mysql.com/doc/refman/8.0/en/set-transaction.html
 * (SESSION within a transaction holds for those after it).
 */

import { StoreError } from '../../core/errors.ts';
import { decideCheckpoint, decideFinish, decideHandOver } from '../../store/machine/index.ts';
import type { NewMessage } from '../../store/message.ts';
import type { RecordId } from '../../core/record.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  FencedId,
  FinishRequest,
  FinishResult,
  HandResult,
} from '../../store/store.ts';
import type { TransactionFault, Within } from '../../store/transaction.ts';
import { BUSY, type Decide } from '../verbs/change.ts';
import { enqueue } from './messages-in.ts';
import { type Ask, type MysqlTransaction, transactionAsker } from './client.ts';
import { appliedBy, errorNumberOf, isConflict, storeError } from './errors.ts';
import { apply, checkIds } from './records.ts';
import type { Tables } from './tables.ts';

/** The store's verbs inside a user's transaction. */
export interface WithinMysql extends Within {
  /**
   * Ends an attempt together with the transaction's other writes; its last statement. On `refused` it must roll back.
   */
  finish(request: FinishRequest): Promise<FinishResult>;
  /** Notes what the attempt has done so far. On `refused` the transaction must roll back. */
  checkpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /** Gives the attempt to the worker of a message. On `refused` the transaction must roll back. */
  handOver(owner: FencedId): Promise<HandResult>;
  /** Puts messages in. Those of a group wait for other transactions that put messages into it, until these end. */
  enqueue(messages: readonly NewMessage[]): Promise<void>;
  /**
   * Marks the transaction, so that its end is noticed, and makes those after it read-only until one of the verbs above
   * has ended the attempt, or `undoes` was asked. Its time is bounded by others: who sweeps ends the session that holds
   * a record beyond its claim (`holders.ts`).
   */
  limit(timeMaxMs: number): Promise<void>;
  /** To be asked after `limit` whenever the transaction is to be rolled back. */
  undoes(error: unknown): Promise<boolean>;
}

/** For all of this process: a session is of one process only. */
let savepoints = 0;

const LATER_READ_ONLY = 'SET SESSION TRANSACTION READ ONLY';
const LATER_READ_WRITE = 'SET SESSION TRANSACTION READ WRITE';

/** Makes `within`. */
export function createWithin(tables: Tables): (tx: MysqlTransaction) => WithinMysql {
  return (tx) => {
    const send = transactionAsker(tx);
    const ask: Ask = async (sql) => {
      try {
        return await send(sql);
      } catch (error) {
        throw numberOfCause(error) === IN_READ_ONLY && isLimited
          ? ended(true)
          : storeError(error, 'statement');
      }
    };
    /** The savepoint that stands for the transaction; null before `limit`, and once the last write has found it. */
    let mark: string | null = null;
    /** From `limit` on, until later transactions of the session may write again. */
    let isLimited = false;

    async function release(savepoint: string, wasOpen: boolean): Promise<void> {
      try {
        await ask(`RELEASE SAVEPOINT ${savepoint}`);
      } catch (error) {
        throw numberOfCause(error) === NO_SAVEPOINT ? ended(wasOpen) : error;
      }
    }

    /** Outside of a transaction a savepoint is gone at once. */
    async function checkOpen(): Promise<void> {
      const savepoint = newSavepoint();
      await ask(`SAVEPOINT ${savepoint}`);
      await release(savepoint, false);
    }

    /** The last write of a transaction: it must be the one that `limit` has met. */
    async function last<Request extends RecordId, Result extends { readonly kind: string }>(
      request: Request,
      decide: Decide<Request, Result>,
    ): Promise<Result | typeof BUSY> {
      checkIds([request]);
      if (!isLimited) await checkOpen();
      else if (mark !== null) await release(mark, true);
      // From here on only statements of ours are sent, and none of them ends it.
      mark = null;
      const [result = BUSY] = await apply(ask, tables, [request], decide, { lock: 'FOR UPDATE' });
      if (isLimited && (result.kind === 'applied' || result.kind === 'already')) {
        await ask(LATER_READ_WRITE);
        isLimited = false;
      }
      return result;
    }

    return {
      finish: (request) => last(request, decideFinish),
      checkpoint: (request) => last(request, decideCheckpoint),
      handOver: async (owner) => {
        const result = await last(owner, decideHandOver);
        return result.kind === 'busy' ? { kind: 'refused', record: null } : result;
      },
      async enqueue(messages) {
        if (messages.length === 0) return;
        // After `limit` nothing that is sent outside of its transaction is written.
        if (!isLimited) await checkOpen();
        await enqueue(ask, tables, messages);
      },
      async limit() {
        const savepoint = newSavepoint();
        await ask(`SAVEPOINT ${savepoint}`);
        await ask(LATER_READ_ONLY);
        mark = savepoint;
        isLimited = true;
      },
      async undoes(cause) {
        if (!isLimited) return true;
        const savepoint = mark;
        mark = null;
        isLimited = false;
        // Before anything else is sent.
        const isVictim = transactionFault(cause) === 'again' && (await wasLastStatementVictim(send));
        // A session that is lost took its transaction with it.
        await send(LATER_READ_WRITE).catch(() => undefined);
        if (savepoint === null) return true;
        try {
          await send(`ROLLBACK TO SAVEPOINT ${savepoint}`);
          return true;
        } catch (failure) {
          if (numberOfCause(failure) !== NO_SAVEPOINT) return true;
          // The server has rolled back all of it, and nothing came after; anything else that ends one may have
          // committed it.
          return isVictim;
        }
      },
    };
  };
}

function newSavepoint(): string {
  savepoints = (savepoints % Number.MAX_SAFE_INTEGER) + 1;
  return `samekey_${savepoints}`;
}

/** Whether the last statement of the session was chosen to be rolled back. */
async function wasLastStatementVictim(send: Ask): Promise<boolean> {
  try {
    return (await send('SHOW WARNINGS')).some(([, number]) => isConflict({ errno: Number(number) }));
  } catch (error) {
    // A source that has seen it itself sends nothing more, and says so.
    return transactionFault(error) === 'again';
  }
}

/** ER_SP_DOES_NOT_EXIST. */
const NO_SAVEPOINT = 1305;
/** ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION. */
const IN_READ_ONLY = 1792;

/** In whatever a library wrapped it. */
function numberOfCause(error: unknown): number | undefined {
  return found(error, (one) => errorNumberOf(one));
}

function ended(wasOpen: boolean): StoreError {
  return new StoreError(
    wasOpen
      ? 'The transaction was ended inside the handler, by COMMIT, ROLLBACK, a procedure that commits, a deadlock that the handler caught, or a ' +
          'statement that changes a schema, which commits: what was committed by then may stand. Make such changes elsewhere.'
      : 'within() needs a connection inside a transaction; this one is in none, or a statement that changes a schema has ended it.',
    { applied: 'no', transient: false },
  );
}

/** How deep libraries wrap; a circle ends here too. */
const DEPTH_MAX = 8;
const WRAPPERS: readonly string[] = ['cause', 'driverError', 'originalError', 'meta', 'driverAdapterError'];

/**
 * What an error means that a user's transaction ended with, in whatever a library wrapped it. Never "rolled back" by
 * itself after a lock wait: sources send ROLLBACK.
 */
export function transactionFault(error: unknown): TransactionFault {
  return (
    found(error, (one): TransactionFault | undefined => {
      if ((one as { code?: unknown } | null)?.code === 'P2034' || isConflict(one)) return 'again';
      if (errorNumberOf(one) === undefined) return undefined;
      return appliedBy(one, 'statement') === 'no' ? 'rolled-back' : 'unclear';
    }) ?? 'unclear'
  );
}

/** The first thing that `find` finds in an error and in what it wraps, the outermost first. */
function found<Thing>(error: unknown, find: (one: unknown) => Thing | undefined): Thing | undefined {
  let level: readonly unknown[] = [error];
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0; depth += 1) {
    for (const one of level) {
      const thing = find(one);
      if (thing !== undefined) return thing;
    }
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null
        ? WRAPPERS.map((name) => (one as Record<string, unknown>)[name]).filter(
            (inner) => typeof inner === 'object' && inner !== null,
          )
        : [],
    );
  }
  return undefined;
}
