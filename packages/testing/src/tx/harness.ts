/**
 * What a transaction source gives to be tested: its library on a real database, and the faults that can be made there.
 *
 * Invariant: the harness runs SQL and nothing else; handlers, their requests and what must come of them are the contract's.
 */

import type { Store } from 'samekey/internals/store/store';
import type { TransactionalStore, TransactionSource } from 'samekey/internals/store/transaction';

/** Isolation levels, in the words of SQL. */
export type ContractIsolation = 'read committed' | 'repeatable read' | 'serializable';

/** A row, by the names of its columns. */
export type ContractRow = Readonly<Record<string, unknown>>;

/** How one database is opened. */
export interface TxOpenOptions {
  /** Default: the database's own. */
  readonly isolation?: ContractIsolation;
  /** Connections of the library at most; default 10. */
  readonly connectionsMax?: number;
}

/** A fresh database with the table `orders (id text PRIMARY KEY, amount int UNIQUE)`, and everything open on it. */
export interface TxBench<Tx = unknown> {
  readonly source: TransactionSource<Tx, unknown>;
  readonly store: Store & TransactionalStore;
  /** Another handle on the same records, as another process would have it. */
  another(): Promise<Store>;
  /** Runs SQL by the library's own means inside a handler's transaction. */
  query(tx: Tx, text: string): Promise<unknown>;
  /** Inserts an order by the library's own means. */
  insert(tx: Tx, id: string, amount: number): Promise<unknown>;
  /** Runs `body` in a nested transaction of the library's own, which a throw rolls back. Absent: it has none but by SQL. */
  nested?(tx: Tx, body: (inner: Tx) => Promise<void>): Promise<void>;
  /** Runs SQL beside, and gives its rows. */
  beside(text: string): Promise<readonly ContractRow[]>;
  /** Moves the store's clock, and with it the ends of claims. */
  advance(ms: number): Promise<void>;
  /**
   * From now on the next COMMIT of the library is done and its answer lost, with the connection or with both left open.
   * Resolves when that has happened.
   */
  loseCommitReply(then: 'close' | 'half-open'): { readonly happened: Promise<unknown>; disarm(): void };
  /** Kills the server and starts it again. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

/** A source under test. */
export interface TxHarness {
  readonly name: string;
  readonly dialect: 'memory' | 'postgres' | 'sqlite' | 'mysql';
  /** Whether a `tx` that the handler kept is refused after its transaction has ended, by the library or by the source. */
  readonly refusesLateUse: boolean;
  /**
   * Whether a query that nobody awaits reaches the server before COMMIT, as the order of the calls says. False also where a query
   * that rolls back is refused.
   */
  readonly straysRunFirst: boolean;
  /** Whether the store notices that its transaction was ended inside the handler; default true. */
  readonly noticesEnds?: boolean;
  /** Whether the loss of its connection ends a transaction while its handler still runs; default false. */
  readonly endsWhenLost?: boolean;
  /** Where transactional operations reserve their keys; default: before the transaction. */
  readonly reserve?: 'in-transaction';
  open(options: TxOpenOptions): Promise<TxBench>;
}
