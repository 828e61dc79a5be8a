/**
 * The caller's own transaction, as the core sees it: somebody who begins and ends it (`TransactionSource`, made by
 * `fromPg`, `fromKysely` …), and the store's verbs inside it (`Within`, made by the store). Types only; no driver, no
 * library.
 *
 * Invariant: what is written inside a user's transaction is conditional on the fence; a record is inserted there only
 * as its last statement, and only by the transaction that has reserved the key.
 */

import type { RecordId } from '../core/record.ts';
import type { NewMessage } from './message.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  ClaimRequest,
  FencedId,
  FinishRequest,
  FinishResult,
  HandResult,
} from './store.ts';

/** What is sent for one parameter of a statement of ours: text, bytes or nothing; the statement casts. */
export type SqlValue = string | Uint8Array | null;

/** An open transaction, as statements of ours use it. */
export interface SqlTransaction {
  /** Tells it from a driver's own client. */
  readonly isSqlTransaction: true;
  /**
   * Sends one statement with `$1 …` and gives its rows, values in the order of the columns. `name`: the session may
   * keep it prepared under this name; a library that cannot leaves it out.
   */
  query(text: string, values: readonly SqlValue[], name?: string): Promise<readonly (readonly unknown[])[]>;
  /** The session behind it. Absent where the library hides it: then nothing is kept prepared. */
  readonly session?: SqlSession;
  /** The row that the SQL of `Opening` gave; null: the session did not take it. Absent: nothing was given. */
  readonly opened?: readonly unknown[] | null | undefined;
}

/** A session of the database, as its driver knows it. */
export interface SqlSession {
  /** The driver's object, the same for every transaction of the session. Absent where the driver shows none. */
  readonly connection?: object;
  /** The server process that greeted the driver: behind a pooler another one answers. Undefined until it is known. */
  readonly pid: number | undefined;
}

/**
 * Called when a connection is had and before BEGIN: makes sure that a transaction may begin, and gives SQL without
 * parameters that goes out with BEGIN, in one message, and gives one row; null for none. Rejects when none may begin.
 */
type Opening = (connection: object) => Promise<string | null>;

/**
 * An open transaction that is nothing but a list of writes, sent all together at its end (`TransactWriteItems` of
 * DynamoDB), as stores use it.
 */
export interface ItemTransaction {
  /** Tells it from a client. */
  readonly isItemTransaction: true;
  /** Adds elements, each in the words of the database. */
  write(...elements: readonly object[]): void;
  /** Called once it is known whether they were written; not at all if nobody knows. */
  onEnd(ended: (isCommitted: boolean) => Promise<void>): void;
  /** From now on it is not sent later than this, in milliseconds. */
  limit(timeMaxMs: number): void;
}

/** Which stores a transaction fits. */
export type TransactionDialect = 'memory' | 'postgres' | 'sqlite' | 'mysql' | 'dynamodb';

/**
 * Runs a function inside one transaction of the application's own library. `Tx` is what the handler gets, `Handle` what
 * the store's `within` takes.
 */
export interface TransactionSource<Tx, Handle = SqlTransaction> {
  /** For messages: `pg`, `kysely` … */
  readonly name: string;
  readonly dialect: TransactionDialect;
  /**
   * Whether `run` resolves only if the database has answered COMMIT with COMMIT. False for libraries that do not look:
   * after `run` the engine reads the record, and only its presence counts.
   */
  readonly tellsCommit: boolean;
  /** Whether nobody can claim while the transaction is open (SQLite's one writer): then nothing is renewed inside. */
  readonly exclusive: boolean;
  /**
   * BEGIN, `body`, COMMIT; ROLLBACK when `body` rejects. Rejects with what `body` or the library threw. `body` is run
   * once: a library's own retries must be off. A source over a library that begins by itself leaves `opening` alone.
   */
  run<Result>(body: (tx: Tx, handle: Handle) => Promise<Result>, opening?: Opening): Promise<Result>;
}

/** What a transaction that wants to reserve its key finds (`reserve: 'in-transaction'`, contract §5.3). */
export type Reserved =
  /**
   * The key is this transaction's until it ends, and no record was seen: one that was committed in the same moment is
   * found by `record`.
   */
  | 'reserved'
  /** A record stands there: it is claimed as always. */
  | 'known'
  /** Another transaction has the key, or somebody has looked whether one has. */
  | 'taken';

/** A key, and the request that it may be reserved for. */
export type ReservedId = RecordId & Pick<ClaimRequest, 'fingerprint'>;

/** What stands in the way of a reservation, asked from outside of any. */
export type Reservation =
  /** Nobody has the key now. */
  | 'free'
  /** A record stands there. */
  | 'known'
  /** A transaction has it, of an equal request or of one that cannot be compared. */
  | 'same'
  /** A transaction of another request has it, or one that ended while this was asked. */
  | 'other';

/** The record of a key that its transaction has reserved. */
export interface NewRecord {
  readonly claim: ClaimRequest;
  /** How its only attempt, the first, has ended; null: a message's worker goes on with it. */
  readonly end: FinishRequest | null;
}

/** The store's verbs inside an open transaction. */
export interface Within {
  /** Ends the attempt; the transaction's last statement. On `refused` the transaction must roll back. */
  finish(request: FinishRequest): FinishResult | Promise<FinishResult>;
  /** Notes what the attempt has done so far; the transaction's last statement. On `refused` it must roll back. */
  checkpoint(request: CheckpointRequest): CheckpointResult | Promise<CheckpointResult>;
  /** Gives the attempt to the worker of a message: `in_progress` → `pending`. On `refused` it must roll back. */
  handOver(owner: FencedId): HandResult | Promise<HandResult>;
  /** Puts messages in: they are delivered if and when the transaction commits. */
  enqueue(messages: readonly NewMessage[]): void | Promise<void>;
  /**
   * Sets local bounds so that the transaction ends with its claim: it may neither run nor idle longer than this. Where
   * they went out with BEGIN they stand.
   */
  limit?(timeMaxMs: number): Promise<void>;
  /**
   * Does what `limit` does, and reserves the key until the transaction ends; waits for nobody. The first statement,
   * unless it went out with BEGIN. Anything but `reserved` must roll back. With `record`, where the store's capability
   * `transactionLock` says so.
   */
  reserve?(request: ClaimRequest, timeMaxMs: number): Reserved | Promise<Reserved>;
  /** Writes the whole record of a reserved key. On `refused` somebody was first, and the transaction must roll back. */
  record?(record: NewRecord): FinishResult | Promise<FinishResult>;
  /**
   * Asked once after `limit`, when the transaction is about to be rolled back because of this error: whether nothing of
   * it will stand. False where it was ended inside (a COMMIT of the handler's, a procedure that commits): what was
   * committed by then stands, and nobody knows what that is. Never rejects. Absent: the database does not let a
   * transaction be ended inside.
   */
  undoes?(error: unknown): boolean | Promise<boolean>;
}

/**
 * What an error of a transaction means. `again`: the database rolled it back to let others through (40001, 40P01 …),
 * and a new run may succeed. `rolled-back`: it certainly was not committed. `unclear`: only a conditional write can
 * tell.
 */
export type TransactionFault = 'again' | 'rolled-back' | 'unclear';

/** What a store in the application's database adds for the transactional way. */
export interface TransactionalStore {
  within(handle: unknown): Within;
  /**
   * What `Within.limit` does (or, for a claim, `Within.reserve`), as SQL that goes out with BEGIN on this connection;
   * null where the store does not know that the connection can. Absent: the store has none.
   */
  opening?(connection: object, timeMaxMs: number, reserve?: ClaimRequest): string | null;
  /**
   * Who has each of these keys, asked on a connection of the store's own; reserves nothing. The same key may be asked
   * for more than once. Rejects with `StoreError`.
   */
  reservations?(requests: readonly ReservedId[]): Promise<readonly Reservation[]>;
  /** Of an error that a transaction on this database ended with, in whatever a library wrapped it. */
  transactionFault(error: unknown): TransactionFault;
}
