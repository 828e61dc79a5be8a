/**
 * The store for MySQL 8.0 and later and MariaDB 10.6 and later. Time is the server's, a flush of many rows shares one
 * commit, and nothing of ours waits for a row that somebody else holds. No statement is one that only one of the two
 * servers takes.
 *
 * It keeps three connections of its own: one for claims, one for the ends of attempts and their checkpoints, one for
 * upkeep (renewals, look-ups, sweeps, operators' writes); a fourth is opened for what may take long, and two more for
 * messages once they are used.
 */

import { belongsTo, type MigrateRequest, type StoreIdentity, unwrapping } from '../../store/identity.ts';
import type { StoreWithMessages } from '../../store/message.ts';
import { createServerTime } from '../../store/time/server-time.ts';
import type { Store } from '../../store/store.ts';
import type { TransactionFault } from '../../store/transaction.ts';
import { createAudit } from './audit.ts';
import { createCounters } from './counters.ts';
import { createHotPath } from './hot-path.ts';
import { createUpkeep } from './upkeep.ts';
import { checkOf, PLACE, readIdentity } from './identity.ts';
import { createLink, type Link, type LinkOptions } from './link.ts';
import { createMessages } from './messages.ts';
import type { MysqlTransaction } from './client.ts';
import { checkOptions, type MysqlStoreOptions } from './options.ts';
import { createOperator } from './operator.ts';
import { createReferences } from './references.ts';
import { checkDatabase, migrate, type MysqlSchemaStatus, schemaStatus } from './schema.ts';
import { moveTime, readTimes } from './shared-time-row.ts';
import { createTables } from './tables.ts';
import { createWithin, transactionFault, type WithinMysql } from './within.ts';

/** The MySQL store, with what only a store in the application's own database can do. */
export interface MysqlStore extends Store, StoreWithMessages {
  /** Creates or updates the tables, and writes down whose they are; safe from any number of processes at once. */
  migrate(request?: MigrateRequest): Promise<void>;
  /** Whose keys it holds, and in which database; throws `SchemaError` when it belongs to another service. */
  identity(): Promise<StoreIdentity>;
  /** How far the schema is, without changing it. */
  status(): Promise<MysqlSchemaStatus>;
  /** The verbs inside an open transaction of yours. They throw `StoreError` when it is not open any more. */
  within(tx: MysqlTransaction): WithinMysql;
  /**
   * Whether a transaction that ended with this error was rolled back, may be tried again, or may have been committed.
   */
  transactionFault(error: unknown): TransactionFault;
}

/** A statement holds a body as hexadecimal digits, and MariaDB takes statements of 16 MiB by default. */
const RECORD_SIZE_MAX_BYTES = 4 * 1024 * 1024;
/** An operator's read of a large table, or a migration that waits for another one. */
const LONG_TIME_MAX_MS = 90_000;
/** A reply later than a statement's own limit by this much is lost; a lock is waited for a second. */
const REPLY_MARGIN_MS = 400;

/** Makes a store; nothing is opened before it is first used. Throws `OptionsError` for unknown or wrong options. */
export function mysqlStore(options: MysqlStoreOptions): MysqlStore {
  const { service, open, database, statementTimeMaxMs, auditTransitions, clock, now, monotonicNow, random } =
    checkOptions(options);
  const time = createServerTime(
    {
      read: () => upkeep.timeless((ask) => readTimes(ask, tables)),
      move: (to) => upkeep.timeless((ask) => moveTime(ask, tables, to)),
    },
    monotonicNow,
    now,
  );
  const tables = createTables(database, clock, time);
  const ours = { check: checkOf(tables, service) };
  const link = (timeMaxMs: number, lockWaitMaxS?: number, given: Pick<LinkOptions, 'check'> = ours): Link =>
    createLink({
      open,
      random,
      time,
      ...given,
      replyTimeMaxMs: timeMaxMs + REPLY_MARGIN_MS,
      ...(lockWaitMaxS === undefined ? {} : { lockWaitMaxS }),
    });
  const work = link(statementTimeMaxMs);
  const ends = link(statementTimeMaxMs);
  const upkeep = link(statementTimeMaxMs);
  const reads = link(LONG_TIME_MAX_MS, LONG_TIME_MAX_MS / 1_000);
  const takes = link(statementTimeMaxMs);
  const writes = link(statementTimeMaxMs);
  const counters = createCounters(tables, { upkeep, reads }, random);

  return {
    name: 'mysql',
    capabilities: Object.freeze({
      transactions: true,
      transactionLock: false,
      serverClock: true,
      timePrecisionMs: 1,
      durable: true,
      shared: true,
      recordSizeMaxBytes: RECORD_SIZE_MAX_BYTES,
    }),
    ...createHotPath(tables, { work, ends, upkeep }),
    ...createUpkeep(tables, upkeep, counters, time),
    ...createAudit(tables, { upkeep, reads }),
    ...createOperator(tables, reads),
    counters,
    references: createReferences(tables, { upkeep, reads }),
    messages: createMessages(tables, { takes, writes, reads }),
    async migrate({ newIdentity = false } = {}) {
      // It waits for whoever uses the tables, and looks itself at whose they are.
      const making = link(LONG_TIME_MAX_MS, LONG_TIME_MAX_MS / 1_000, {});
      try {
        await making.timeless((ask) => migrate(ask, tables, { service, newIdentity, auditTransitions }));
      } finally {
        await making.close();
      }
    },
    status: () => reads.timeless((ask) => schemaStatus(ask, tables, auditTransitions)),
    within: createWithin(tables),
    transactionFault,
    identity: () =>
      unwrapping(() =>
        upkeep.timeless(async (ask) => belongsTo(service, await readIdentity(ask, tables), PLACE)),
      ),
    ready: () =>
      unwrapping(async () => {
        await upkeep.timeless((ask) => checkDatabase(ask, tables, service, auditTransitions));
        await time.look();
      }),
    onClockOff: (told) => time.onOff(told),
    async close() {
      await Promise.all([work, ends, upkeep, reads, takes, writes].map((each) => each.close()));
    },
  };
}
