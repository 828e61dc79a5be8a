/**
 * The store's verbs inside a user's transaction: they commit or roll back with it. Of records only ever an UPDATE: none is inserted
 * there, so no collision of keys can meet the transaction (F14).
 *
 * A statement that changes a schema commits an open transaction without a word, and what follows commits by itself. A savepoint
 * does not outlive its transaction, and outside of one it is gone at once: that is how it is noticed, on both servers, before anything is
 * written. https://dev.mysql.com/doc/refman/8.0/en/implicit-commit.html, https://dev.mysql.com/doc/refman/8.0/en/savepoint.html.
 */

import { StoreError } from '../../core/errors.ts';
import { decideCheckpoint, decideFinish, decideHandOver } from '../../core/machine.ts';
import type { NewMessage } from '../../core/message.ts';
import type { RecordId } from '../../core/record.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  FencedId,
  FinishRequest,
  FinishResult,
  HandResult,
} from '../../core/store.ts';
import type { TransactionFault, Within } from '../../core/transaction.ts';
import { enqueue } from './messages-in.ts';
import { type Ask, type MysqlTransaction, transactionAsker } from './mysql-client.ts';
import { appliedBy, errorNumberOf, isConflict, storeError } from './mysql-errors.ts';
import { apply, BUSY, checkIds, type Decide } from './records.ts';
import type { Tables } from './tables.ts';

/** The store's verbs inside a user's transaction. */
export interface WithinMysql extends Within {
  /** Ends an attempt together with the transaction's other writes; its last statement. On `refused` it must roll back. */
  finish(request: FinishRequest): Promise<FinishResult>;
  /** Notes what the attempt has done so far. On `refused` the transaction must roll back. */
  checkpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /** Gives the attempt to the worker of a message. On `refused` the transaction must roll back. */
  handOver(owner: FencedId): Promise<HandResult>;
  /** Puts messages in. Those of a group wait for other transactions that put messages into it, until these end. */
  enqueue(messages: readonly NewMessage[]): Promise<void>;
  /** Marks the transaction, so that its end is noticed. Its time is not bounded: the server has no such setting for one transaction. */
  limit(timeMaxMs: number): Promise<void>;
}

const SAVEPOINT = 'samekey_open';

/** Makes `within`. */
export function createWithin(tables: Tables): (tx: MysqlTransaction) => WithinMysql {
  return (tx) => {
    const send = transactionAsker(tx);
    const ask: Ask = async (sql) => {
      try {
        return await send(sql);
      } catch (error) {
        throw storeError(error, 'statement');
      }
    };
    let marked = false;

    async function checkOpen(): Promise<void> {
      if (!marked) await ask(`SAVEPOINT ${SAVEPOINT}`);
      try {
        await ask(`RELEASE SAVEPOINT ${SAVEPOINT}`);
      } catch (error) {
        if (errorNumberOf((error as { cause?: unknown }).cause) !== NO_SAVEPOINT) throw error;
        throw ended(marked);
      }
      await ask(`SAVEPOINT ${SAVEPOINT}`);
      marked = true;
    }

    async function one<Request extends RecordId, Result>(
      request: Request,
      decide: Decide<Request, Result>,
    ): Promise<Result | typeof BUSY> {
      checkIds([request]);
      await checkOpen();
      return (await apply(ask, tables, [request], decide, { lock: 'FOR UPDATE' }))[0] ?? BUSY;
    }

    return {
      finish: (request) => one(request, decideFinish),
      checkpoint: (request) => one(request, decideCheckpoint),
      handOver: async (owner) => {
        const result = await one(owner, decideHandOver);
        return result.kind === 'busy' ? { kind: 'refused', record: null } : result;
      },
      async enqueue(messages) {
        if (messages.length === 0) return;
        await checkOpen();
        await enqueue(ask, tables, messages);
      },
      // From here on an implicit commit is noticed, also when another transaction has begun since.
      limit: () => checkOpen(),
    };
  };
}

/** ER_SP_DOES_NOT_EXIST. */
const NO_SAVEPOINT = 1305;

function ended(wasOpen: boolean): StoreError {
  return new StoreError(
    wasOpen
      ? 'The transaction was ended inside the handler, by COMMIT, ROLLBACK or a statement that changes a schema, which commits: ' +
          'make such changes elsewhere.'
      : 'within() needs a connection inside a transaction; this one is in none, or a statement that changes a schema has ended it.',
    { applied: 'no', transient: false },
  );
}

/** How deep libraries wrap; a circle ends here too. */
const DEPTH_MAX = 8;
const WRAPPERS: readonly string[] = ['cause', 'driverError', 'originalError', 'meta', 'driverAdapterError'];

/**
 * What an error means that a user's transaction ended with, in whatever a library wrapped it. Never "rolled back" by itself after a lock
 * wait: sources send ROLLBACK.
 */
export function transactionFault(error: unknown): TransactionFault {
  let level: readonly unknown[] = [error];
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0; depth += 1) {
    for (const one of level) {
      if ((one as { code?: unknown } | null)?.code === 'P2034' || isConflict(one)) return 'again';
      if (errorNumberOf(one) !== undefined)
        return appliedBy(one, 'statement') === 'no' ? 'rolled-back' : 'unclear';
    }
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null
        ? WRAPPERS.map((name) => (one as Record<string, unknown>)[name]).filter(
            (inner) => typeof inner === 'object' && inner !== null,
          )
        : [],
    );
  }
  return 'unclear';
}
