/**
 * The PostgreSQL store. Time is the server's (`clock_timestamp()`), each write is one conditional statement that
 * commits by itself, a flush of many rows shares one commit, and nothing waits for a lock of somebody else's.
 *
 * It keeps three connections of its own, never taken from under handlers: one for claims, one for the ends of attempts
 * and their checkpoints, one for upkeep (renewals, look-ups, sweeps, operators' writes). A fourth is opened when an
 * operator lists or counts, a fifth when one erases, both of which may take long. With one for claims and ends, each
 * waits for the other's commit.
 *
 * See statements.ts for how locks and plans are held to it, upkeep.ts for how due records are found.
 */

import { belongsTo, type MigrateRequest, type StoreIdentity, unwrapping } from '../../store/identity.ts';
import { idText } from '../../core/record.ts';
import type { StoreWithMessages } from '../../store/message.ts';
import type { Store } from '../../store/store.ts';
import { createAudit } from './operator/audit.ts';
import { createOperator } from './operator/operator.ts';
import { createCounters } from './counters.ts';
import { createHotPath } from './hot-path.ts';
import { createUpkeep } from './upkeep.ts';
import { createLink, type Link } from './link.ts';
import { createMessages } from './messages/messages.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './migrations/index.ts';
import { checkOf, readIdentity } from './identity.ts';
import { createHints } from './notify.ts';
import { checkOptions, type PostgresStoreOptions } from './options.ts';
import type { TransactionFault } from '../../store/transaction.ts';
import type { PostgresTransaction } from './client.ts';
import { createRecords } from './records.ts';
import { createReferences } from './references/references.ts';
import { checkDatabase, checkTransitions, missingIndexes, schemaState, missingTriggers } from './schema.ts';
import { checkPooler } from './server-check.ts';
import { createPostgresTime } from './statement-times.ts';
import { createTables, milliseconds } from './tables.ts';
import { transactionFault } from './within/transaction-fault.ts';
import { createLentSessions } from './within/lent-sessions.ts';
import { createWithin, type WithinPostgres } from './within/within.ts';

/** How far the schema is. */
export interface PostgresSchemaStatus {
  /** The version found; 0 when there are no tables. */
  readonly version: number;
  /** The version this code needs. */
  readonly needed: number;
  /** What `migrate()` would do, by name. */
  readonly missing: readonly string[];
}

/** The PostgreSQL store, with what only a store in the application's own database can do. */
export interface PostgresStore extends Store, StoreWithMessages {
  /** Creates or updates the tables, and writes down whose they are; safe from any number of processes at once. */
  migrate(request?: MigrateRequest): Promise<void>;
  /** Whose keys it holds, and in which database; throws `SchemaError` when it belongs to another service. */
  identity(): Promise<StoreIdentity>;
  /** How far the schema is, without changing it. */
  status(): Promise<PostgresSchemaStatus>;
  /** The verbs inside an open transaction of yours. Throws `StoreError` when `tx` is known not to be in one. */
  within(tx: PostgresTransaction): WithinPostgres;
  /**
   * Whether a transaction that ended with this error was rolled back, may be tried again, or may have been committed.
   */
  transactionFault(error: unknown): TransactionFault;
}

/** PostgreSQL refuses values above 1 GB, and a message holds the body twice (as sent, as bound). */
const RECORD_SIZE_MAX_BYTES = 256 * 1024 * 1024;
/** An operator's read of a large table. */
const READ_TIME_MAX_MS = 60_000;
/** A reply later than the server's own limit by this much is lost. */
const REPLY_MARGIN_MS = 400;

/** Makes a store; nothing is opened before it is first used. Throws `OptionsError` for unknown or wrong options. */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const {
    service,
    open,
    schema,
    prepare,
    statementTimeMaxMs,
    notify,
    auditTransitions,
    partitions,
    clock,
    random,
    ...clocks
  } = checkOptions(options);
  const tables = createTables(schema, clock);
  const check = checkOf(tables, service);

  const time = createPostgresTime({
    meta: tables.meta,
    clockMs: milliseconds(clock),
    ask: (statement, values) => upkeep.ask(statement, values),
    ...clocks,
  });

  function link(timeMaxMs: number, settings: Readonly<Record<string, string>>): Link {
    return createLink({
      open,
      prepare,
      random,
      check,
      replyTimeMaxMs: timeMaxMs + REPLY_MARGIN_MS,
      time,
      settings: { ...SESSION, statement_timeout: String(timeMaxMs), ...settings },
    });
  }

  const work = link(statementTimeMaxMs, PLANS);
  const ends = link(statementTimeMaxMs, PLANS);
  const upkeep = link(statementTimeMaxMs, PLANS);
  const reads = link(READ_TIME_MAX_MS, {});
  const erasing = link(READ_TIME_MAX_MS, PLANS);
  const records = createRecords(tables, time);
  const hotPath = createHotPath(records, { work, ends, upkeep });
  const outbox = createMessages({
    records,
    schema,
    open,
    reads,
    link: () => link(statementTimeMaxMs, PLANS),
  });
  const counters = createCounters(tables, { upkeep, reads }, random);
  const hints = notify ? createHints({ open, schema }) : undefined;

  return {
    name: 'postgres',
    capabilities: Object.freeze({
      transactions: true,
      transactionLock: true,
      serverClock: true,
      timePrecisionMs: 1,
      durable: true,
      shared: true,
      recordSizeMaxBytes: RECORD_SIZE_MAX_BYTES,
    }),

    messages: outbox.messages,
    ...(hints && { hints }),
    ...hotPath,
    claim(requests) {
      hints?.start();
      return hotPath.claim(requests);
    },
    async find(ids) {
      const found = await records.find(upkeep.ask, ids);
      return ids.map((id) => found.get(idText(id))?.record ?? null);
    },

    ...createUpkeep(records, upkeep, counters, time),
    ...createOperator(tables, { reads, erasing }),
    ...createAudit(tables, { upkeep, reads }),
    counters,
    references: createReferences(tables, { upkeep, reads }),
    migrate: ({ newIdentity } = {}) =>
      migrate(open, tables, { service, newIdentity, auditTransitions, partitions }),
    async status() {
      const { version } = await schemaState(upkeep.ask, tables);
      const missing = MIGRATIONS.filter((migration) => migration.number > version).map(({ name }) => name);
      const indexes = version === 0 ? [] : await missingIndexes(upkeep.ask, tables);
      const triggers = await missingTriggers(upkeep.ask, tables, version, auditTransitions);
      return { version, needed: SCHEMA_VERSION, missing: [...missing, ...indexes, ...triggers] };
    },
    ...createWithin(records, createLentSessions(prepare), time, {
      enqueueWithin: outbox.enqueueWithin,
      askOwn: upkeep.ask,
    }),
    transactionFault: (error) => transactionFault(error),

    identity: () =>
      unwrapping(async () => belongsTo(service, await readIdentity(upkeep.ask, tables.meta), tables.place)),
    ready: () =>
      unwrapping(async () => {
        await checkPooler(upkeep);
        await checkDatabase(upkeep.ask, tables, service);
        if (auditTransitions === true) await checkTransitions(upkeep.ask, tables);
        await time.look();
        hints?.start();
      }),
    onClockOff: (told) => time.onOff(told),
    async close() {
      await Promise.all([
        work.close(),
        ends.close(),
        upkeep.close(),
        reads.close(),
        erasing.close(),
        outbox.close(),
        hints?.close(),
      ]);
    },
  };
}

const SESSION: Readonly<Record<string, string>> = {
  application_name: 'samekey',
  // Off, an element NULL of our arrays is the text "NULL".
  array_nulls: 'on',
  default_transaction_isolation: 'read committed',
  idle_in_transaction_session_timeout: '5000',
};

/**
 * The one right plan is by the unique index, whatever the statistics say: a plan made while the table was empty would
 * read all of it for ever after (or until the next ANALYZE). Where a table must be read, the cost of a disabled scan
 * would look like a reason to compile the query, which takes longer than the query.
 */
const PLANS: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};
