/**
 * The store for engines that speak PostgreSQL and are not quite it: Citus, CockroachDB, YugabyteDB, and others. It uses
 * what all of them have (engines.ts). Each row is a statement of its own, and each write a compare-and-set over what
 * the state table was asked about; what the server rolls back to let others through is done again. Time is the
 * server's.
 *
 * It keeps no messages, so there is no outbox and no deferred way. It keeps connections of its own, never taken from
 * under handlers.
 */

import { belongsTo, type MigrateRequest, type StoreIdentity, unwrapping } from '../../../store/identity.ts';
import type { Store } from '../../../store/store.ts';
import type { TransactionFault } from '../../../store/transaction.ts';
import { checkOf, readIdentity } from '../identity.ts';
import { createLink, type Link, type LinkOptions } from '../link.ts';
import type { PostgresTransaction } from '../client.ts';
import { checkPooler } from '../server-check.ts';
import { createPostgresTime } from '../statement-times.ts';
import { transactionFault } from '../within/transaction-fault.ts';
import type { WithinPostgres } from '../within/within.ts';
import { createAudit } from './audit.ts';
import { createCounters } from './counters.ts';
import { createHotPath } from './hot-path.ts';
import { createUpkeep } from './upkeep.ts';
import { createLanes } from './lanes.ts';
import { createLayout } from './layout.ts';
import { LAYOUT_VERSION } from './migrations.ts';
import { checkDistributedOptions, type DistributedPostgresStoreOptions } from './options.ts';
import { createOperator } from './operator.ts';
import { createRecords } from './records.ts';
import { checkLayout, layoutVersion, makeLayout } from './schema.ts';
import { createWithin } from './within.ts';

/** How far the tables are. */
export interface DistributedSchemaStatus {
  /** The version found; 0 when there are no tables. */
  readonly version: number;
  /** The version this code needs. */
  readonly needed: number;
  /** What `migrate()` would do, by name. */
  readonly missing: readonly string[];
}

/** The distributed store, with what only a store in the application's own database can do. */
export interface DistributedPostgresStore extends Store {
  /** Creates the tables, and writes down whose they are; safe from any number of processes at once. */
  migrate(request?: MigrateRequest): Promise<void>;
  /** Whose keys it holds, and in which database; throws `SchemaError` when it belongs to another service. */
  identity(): Promise<StoreIdentity>;
  /** How far they are, without changing anything. */
  status(): Promise<DistributedSchemaStatus>;
  /** The verbs inside an open transaction of yours. Throws `StoreError` when `tx` is known not to be in one. */
  within(tx: PostgresTransaction): WithinPostgres;
  /**
   * Whether a transaction that ended with this error was rolled back, may be tried again, or may have been committed.
   */
  transactionFault(error: unknown): TransactionFault;
}

/** Reads of a large table, and migrations that move shards. */
const LONG_TIME_MAX_MS = 90_000;
/** A reply later than the server's own limit by this much is lost. */
const REPLY_MARGIN_MS = 400;
/**
 * The wait for a row's lock; only an insert of the same key, or a user's transaction that finishes it, can make a
 * statement wait.
 */
const LOCK_TIME_MAX_MS = 250;

/** Makes a store; nothing is opened before it is first used. Throws `OptionsError` for unknown or wrong options. */
export function distributedPostgresStore(options: DistributedPostgresStoreOptions): DistributedPostgresStore {
  const { service, facts, open, schema, prepare, lanes, statementTimeMaxMs, clock, random, ...clocks } =
    checkDistributedOptions(options);
  const layout = createLayout(facts, schema, clock);
  const time = createPostgresTime({
    meta: layout.meta,
    clockMs: layout.clock,
    ask: (statement, values) => upkeep.ask(statement, values),
    ...clocks,
  });
  const records = createRecords(layout, time);
  const refuseOthers = checkOf(layout, service);

  function link(timeMaxMs: number, lockTimeMaxMs: number, check: LinkOptions['check'] = refuseOthers): Link {
    return createLink({
      check,
      open,
      prepare,
      random,
      doubted: facts.doubted,
      time,
      replyTimeMaxMs: timeMaxMs + REPLY_MARGIN_MS,
      settings: {
        application_name: 'samekey',
        default_transaction_isolation: 'read committed',
        idle_in_transaction_session_timeout: '5000',
        statement_timeout: String(timeMaxMs),
        lock_timeout: String(lockTimeMaxMs),
        ...(facts.storage && { synchronous_commit: 'on' }),
      },
    });
  }
  const quick = (count: number): Link => createLanes(count, () => link(statementTimeMaxMs, LOCK_TIME_MAX_MS));
  /** Whose transactions need the time: they cannot look once they have begun. */
  const looking = (made: Link): Link => ({
    ...made,
    async together(body) {
      await time.fresh();
      return made.together(body);
    },
  });

  const work = quick(lanes);
  const ends = quick(lanes);
  const upkeep = looking(quick(2));
  const reads = link(LONG_TIME_MAX_MS, LOCK_TIME_MAX_MS);
  const counters = createCounters(layout, { upkeep, reads }, random);

  return {
    name: 'postgres',
    capabilities: Object.freeze({
      transactions: true,
      transactionLock: false,
      serverClock: true,
      timePrecisionMs: 1,
      durable: true,
      shared: true,
      recordSizeMaxBytes: facts.recordSizeMaxBytes,
    }),
    ...createHotPath(records, { work, ends, upkeep }),
    ...createUpkeep(records, upkeep, counters, time),
    ...createOperator(records, looking(reads)),
    ...createAudit(layout, { upkeep, reads }, (ask) => records.time(ask)),
    counters,
    async migrate({ newIdentity = false } = {}) {
      // Moving rows to their nodes takes table locks, and on Citus it goes through all of them.
      const making = link(LONG_TIME_MAX_MS, LONG_TIME_MAX_MS, () => Promise.resolve());
      try {
        await makeLayout(making.ask, layout, { service, newIdentity, random });
      } finally {
        await making.close();
      }
    },
    async status() {
      const version = await layoutVersion(reads.ask, layout);
      return { version, needed: LAYOUT_VERSION, missing: version < LAYOUT_VERSION ? ['tables'] : [] };
    },
    within: createWithin(records, prepare ?? false, time),
    // What a cancelled COMMIT became is not known on every engine.
    transactionFault: (error) => transactionFault(error, facts.doubted),
    identity: () =>
      unwrapping(async () => belongsTo(service, await readIdentity(reads.ask, layout.meta), layout.place)),
    ready: () =>
      unwrapping(async () => {
        await checkPooler(reads);
        await checkLayout(reads.ask, layout, service);
        await time.look();
      }),
    onClockOff: (told) => time.onOff(told),
    async close() {
      await Promise.all([work, ends, upkeep, reads].map((each) => each.close()));
    },
  };
}
