/**
 * The SQLite store: the state table of `store/machine/index.ts` inside one BEGIN IMMEDIATE … COMMIT per bulk call, so
 * that a group of rows shares one fsync. For one host: any number of processes may open the file, also while they are
 * killed.
 *
 * Invariants: a decision and its write happen under one write lock · each write repeats its fence and counts its row ·
 * time is the file's, carried on by this process's monotonic clock, and claims end by watching only (see `clock.ts`) ·
 * the client stays the user's. Sources: https://sqlite.org/wal.html, https://sqlite.org/lang_transaction.html.
 */

import { decideClaim, decideFinish, decideRenew } from '../../store/machine/index.ts';
import { isStoreError } from '../../core/errors.ts';
import { belongsTo, type MigrateRequest, type StoreIdentity, unwrapping } from '../../store/identity.ts';
import type { StoreWithMessages } from '../../store/message.ts';
import type { RecordId } from '../../core/record.ts';
import type { Store } from '../../store/store.ts';
import type { TransactionFault } from '../../store/transaction.ts';
import { checkIds } from '../sql/record-row.ts';
import type { Decide } from '../verbs/change.ts';
import { createAudit } from './audit.ts';
import { createCounters } from './counters.ts';
import { createClaimWatch, createStoreClock } from './clock.ts';
import { checkFileSystem } from './file-system.ts';
import { gated, PLACE, readIdentity } from './identity.ts';
import { checkOptions, type SqliteStoreOptions } from './options.ts';
import { createMessages } from './messages.ts';
import { createOperator } from './operator.ts';
import { createRecords } from './records.ts';
import { createReferences } from './references.ts';
import { checkDatabase, migrate, type SqliteSchemaStatus, schemaStatus } from './schema.ts';
import { type Connection, createConnection, isBusy, resultCode } from './client.ts';
import { turnsOf } from './turns.ts';
import { createUpkeep } from './upkeep.ts';
import { createWithin, type SqliteTransaction, type WithinSqlite } from './within.ts';
import { createWriter } from './writer.ts';

/** The SQLite store, with what only a store in the application's own database can do. */
export interface SqliteStore extends Store, StoreWithMessages {
  /**
   * Creates or updates tables, writes down whose the file is, and switches it to WAL; safe from any number of processes
   * at once.
   */
  migrate(request?: MigrateRequest): Promise<void>;
  /** Whose keys it holds, and in which database; throws `SchemaError` when it belongs to another service. */
  identity(): Promise<StoreIdentity>;
  /** How far the schema is, without changing it. */
  status(): Promise<SqliteSchemaStatus>;
  /**
   * Runs `body` inside BEGIN IMMEDIATE … COMMIT on the same client; a throw rolls back and is thrown on. Transactions
   * of one file take turns. Calling the store itself inside is a `StoreError`; `within(tx)` is the way.
   */
  transaction<T>(body: (tx: SqliteTransaction) => T | Promise<T>): Promise<T>;
  /** The verbs inside an open transaction. Throws `StoreError` when `tx` has ended or belongs to another store. */
  within(tx: SqliteTransaction): WithinSqlite;
  /**
   * Whether a transaction that ended with this error was rolled back, may be tried again, or may have been committed.
   */
  transactionFault(error: unknown): TransactionFault;
}

/**
 * SQLITE_MAX_LENGTH is 10⁹ bytes a row by default (https://sqlite.org/limits.html); headers and ids need some of it.
 */
const RECORD_SIZE_MAX_BYTES = 990_000_000;

/** Makes a store on an open client. Throws `OptionsError` for unknown or wrong options. */
export function sqliteStore(options: SqliteStoreOptions): SqliteStore {
  const { service, database, busyTimeMaxMs, auditTransitions, now, monotonicNow, random, statfs } =
    checkOptions(options);
  const connection = createConnection(database);
  const path = filePath(connection);
  const inMemory = path === '';
  const door = createWriter({ connection, turns: turnsOf(database, path), busyTimeMaxMs, random });
  const writer = gated(door, connection, service);
  const watch = createClaimWatch(monotonicNow);
  const clock = createStoreClock(now, monotonicNow);
  const audit = createAudit(connection, writer, clock);
  const counters = createCounters(connection, writer);
  const leases = createClaimWatch(monotonicNow);
  const referring = createReferences(connection, writer);
  const records = createRecords(connection, clock, watch, audit, auditTransitions, leases, referring);
  const outbox = createMessages({ connection, writer, records, referring, audit, clock, monotonicNow });
  const open = new WeakSet<SqliteTransaction>();

  async function apply<Request extends RecordId, Result>(
    requests: readonly Request[],
    decide: Decide<Request, Result>,
  ): Promise<readonly Result[]> {
    checkIds(requests);
    return requests.length === 0 ? [] : writer.write(() => records.apply(requests, decide));
  }

  const within = createWithin({
    connection,
    records,
    isOpen: (tx) => open.has(tx),
    enqueue: (messages) => outbox.enqueueWithin(messages),
  });

  return {
    name: 'sqlite',
    capabilities: Object.freeze({
      transactions: true,
      transactionLock: false,
      serverClock: false,
      timePrecisionMs: 1,
      durable: !inMemory,
      shared: !inMemory,
      recordSizeMaxBytes: RECORD_SIZE_MAX_BYTES,
    }),

    refuseCaller: () => writer.refuseCaller(),
    messages: outbox.messages,
    claim: (requests) => apply(requests, decideClaim),
    renew: (requests) => apply(requests, decideRenew),
    async checkpoint(requests) {
      checkIds(requests);
      return requests.length === 0 ? [] : writer.write(() => records.checkpoint(requests));
    },
    finish: (requests) => apply(requests, decideFinish),
    async find(ids) {
      checkIds(ids);
      return ids.length === 0 ? [] : writer.read(() => ids.map((id) => records.find(id)));
    },

    ...createUpkeep({ connection, writer, clock, watch, records, counters }),
    ...createOperator(connection, writer, records),
    audit: (request) => audit.audit(request),
    note: (rows) => audit.note(rows),
    pruneAudit: (request) => audit.pruneAudit(request),
    counters,
    references: referring.references,

    async migrate({ newIdentity = false } = {}) {
      await migrate(connection, door, { inMemory, service, newIdentity });
      // The file's time begins now: who opens it later has then something to go by.
      await writer.write(() => clock.save(connection, clock.now(connection)));
    },
    onClockOff: (told) => clock.onOff(told),
    status: () => door.read(() => schemaStatus(connection, inMemory)),
    async transaction(body) {
      const tx: SqliteTransaction = Object.freeze({ database });
      open.add(tx);
      const result = await writer.transaction(
        () => body(tx),
        () => void open.delete(tx),
      );
      outbox.committed();
      return result;
    },
    within,
    transactionFault(error) {
      if (isStoreError(error)) return error.applied === 'no' ? 'rolled-back' : 'unclear';
      if (isBusy(error)) return 'again';
      return resultCode(error) === undefined ? 'unclear' : 'rolled-back';
    },

    identity: () => unwrapping(() => writer.read(() => belongsTo(service, readIdentity(connection), PLACE))),
    async ready() {
      if (!inMemory) await checkFileSystem(path, statfs);
      await door.prepare();
      await door.read(() => {
        checkDatabase(connection, inMemory, service);
        // From here on this process measures.
        clock.now(connection);
      });
    },
    async close() {
      connection.clear();
    },
  };
}

/** The main database's file as SQLite resolved it; empty for a database in memory or in a temporary file. */
function filePath(connection: Connection): string {
  const main = connection.all('PRAGMA database_list').find((row) => row['name'] === 'main');
  return typeof main?.['file'] === 'string' ? main['file'] : '';
}
