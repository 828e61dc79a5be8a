/**
 * The store's verbs inside a user's transaction: they commit or roll back with it.
 *
 * A handler may end the transaction itself, and what follows then commits by itself (F122). `limit` sets a savepoint,
 * which does not outlive its transaction; its name is its own, so nobody's nested transaction is released with it
 * (F124).
 * Source: https://sqlite.org/lang_savepoint.html.
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
import { checkIds } from '../sql/record-row.ts';
import type { Decide } from '../verbs/change.ts';
import type { Records } from './records.ts';
import { type Connection, resultCode, type SqliteDatabase, storeError } from './client.ts';

/** An open transaction of `transaction()`: proof for `within`, and the client to do the business writes on. */
export interface SqliteTransaction {
  readonly database: SqliteDatabase;
}

/** The store's verbs inside a user's transaction: they commit or roll back with it. */
export interface WithinSqlite {
  /** Ends an attempt together with the transaction's other writes. On `refused` the transaction must roll back. */
  finish(request: FinishRequest): FinishResult;
  /** Notes what the attempt has done so far. On `refused` the transaction must roll back. */
  checkpoint(request: CheckpointRequest): CheckpointResult;
  /** Gives the attempt to the worker of a message. On `refused` the transaction must roll back. */
  handOver(owner: FencedId): HandResult;
  /** Puts messages in: they are delivered if and when the transaction commits. */
  enqueue(messages: readonly NewMessage[]): void;
  /** Marks the transaction, so that its end inside is noticed. Its time is not bounded. */
  limit(timeMaxMs: number): Promise<void>;
  /** Whether the transaction is still the one that `limit` has met. */
  undoes(error: unknown): boolean;
}

/** What the verbs are made of. */
interface WithinOptions {
  readonly connection: Connection;
  readonly records: Pick<Records, 'apply'>;
  readonly isOpen: (tx: SqliteTransaction) => boolean;
  readonly enqueue: (messages: readonly NewMessage[]) => void;
}

let savepoints = 0;

/**
 * On these SQLite may have rolled back the transaction itself: https://sqlite.org/lang_transaction.html (FULL, IOERR,
 * NOMEM, BUSY, INTERRUPT).
 */
const ROLLS_BACK: ReadonlySet<number> = new Set([13, 10, 7, 5, 9]);

/** Makes `within`. */
export function createWithin(options: WithinOptions): (tx: SqliteTransaction) => WithinSqlite {
  const { connection, records, isOpen, enqueue } = options;
  return (tx) => {
    let mark: string | null = null;

    function checkOpen(): void {
      if (isOpen(tx)) return;
      throw new StoreError(
        'within() was given a transaction that has ended or belongs to another store: use it inside the function ' +
          'that transaction() of this store runs, and await everything there.',
        { applied: 'no', transient: false },
      );
    }

    /** Sets it anew: a write that was refused may be followed by another. */
    function checkMark(): void {
      if (mark === null) return;
      try {
        connection.exec(`RELEASE ${mark}`);
        connection.exec(`SAVEPOINT ${mark}`);
      } catch {
        throw ended();
      }
    }

    function one<Request extends RecordId, Result>(
      request: Request,
      decide: Decide<Request, Result>,
    ): Result {
      checkOpen();
      checkIds([request]);
      checkMark();
      return asStoreError(() => records.apply([request], decide)[0] as Result);
    }

    checkOpen();
    return {
      finish: (request) => one(request, decideFinish),
      checkpoint: (request) => one(request, decideCheckpoint),
      handOver: (owner) => one(owner, decideHandOver),
      enqueue(messages) {
        checkOpen();
        if (mark !== null && connection.inTransaction() === false) throw ended();
        asStoreError(() => enqueue(messages));
      },
      async limit() {
        checkOpen();
        savepoints += 1;
        const savepoint = `samekey_${savepoints}`;
        asStoreError(() => connection.exec(`SAVEPOINT ${savepoint}`));
        mark = savepoint;
      },
      undoes(error) {
        if (mark === null) return true;
        try {
          connection.exec(`ROLLBACK TO ${mark}`);
          return true;
        } catch {
          return ROLLS_BACK.has(resultCode(error) ?? 0);
        }
      },
    };
  };
}

function asStoreError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storeError(error);
  }
}

function ended(): StoreError {
  return new StoreError(
    'The transaction was ended inside the handler, by COMMIT or ROLLBACK: what was committed by then may stand. Leave both to Samekey.',
    { applied: 'no', transient: false },
  );
}
