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

import { type AuditAct, type ByHand, checkByHand, giveUpRow, handRow } from '../../store/audit.ts';
import { settlements } from '../../store/ends.ts';
import {
  type Decision,
  decideForget,
  decidePostpone,
  decideReopen,
  decideSettle,
  type View,
} from '../../store/machine/index.ts';
import { takeOff } from '../../store/counters.ts';
import { belongsTo, type MigrateRequest, type StoreIdentity, unwrapping } from '../../store/identity.ts';
import { idText, type RecordId, type SamekeyRecord, STATES, type State } from '../../core/record.ts';
import type { StoreWithMessages } from '../../store/message.ts';
import type { HandResult, Store } from '../../store/store.ts';
import { exact, number } from '../sql/record-row.ts';
import { createAudit } from './operator/audit.ts';
import { createErase } from './operator/erase.ts';
import { createCounters } from './counters.ts';
import { createHotPath } from './hot-path.ts';
import { createUpkeep } from './upkeep.ts';
import { countStatement, dueStatement, listStatement, takeUnknownStatement } from './upkeep-statements.ts';
import { createLink, type Link } from './link.ts';
import { createMessages } from './messages/messages.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './migrations/index.ts';
import { checkOf, readIdentity } from './identity.ts';
import { createHints } from './notify.ts';
import { checkOptions, type PostgresStoreOptions } from './options.ts';
import type { TransactionFault } from '../../store/transaction.ts';
import type { PostgresTransaction } from './postgres-client.ts';
import { textArray } from './parameters.ts';
import { createRecords } from './records.ts';
import { createReferences } from './references/references.ts';
import { checkDatabase, checkTransitions, missingIndexes, schemaState, missingTriggers } from './schema.ts';
import { checkPooler } from './server-check.ts';
import { createPostgresTime } from './statement-times.ts';
import { createTables, milliseconds } from './tables.ts';
import { transactionFault } from './transaction-fault.ts';
import { createLentSessions } from './lent-sessions.ts';
import { createWithin, type WithinPostgres } from './within.ts';
import { seenOf } from './seen.ts';

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
/** As `ListRequest` says. */
const LIST_LIMIT = 100;
const LIST_LIMIT_MAX = 1_000;
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
  const dues = dueStatement(tables);
  const takeUnknown = takeUnknownStatement(tables);
  const records = createRecords(tables, time);
  const hotPath = createHotPath(records, { work, ends, upkeep });
  const housekeeping = createUpkeep(records, upkeep, time);
  const outbox = createMessages({
    records,
    schema,
    open,
    reads,
    link: () => link(statementTimeMaxMs, PLANS),
  });
  async function byHand<Request extends RecordId & ByHand>(
    act: AuditAct,
    requests: readonly Request[],
    decide: (record: SamekeyRecord | null, request: Request, view: View) => Decision<HandResult>,
  ): Promise<readonly HandResult[]> {
    checkByHand(requests);
    const deleted = new Set<Request>();
    const results = await records.byHand(upkeep.ask, requests, decide, (before, after, request) => {
      if (after === null) deleted.add(request);
      return handRow(act, before, after, request);
    });
    const gone = requests.filter((request, i) => deleted.has(request) && results[i]?.kind === 'applied');
    await takeOff(
      counters,
      gone.map(({ scope }) => [scope, 1]),
    );
    return results;
  }
  const counters = createCounters(tables, { upkeep, reads }, random);
  const hints = notify ? createHints({ open, schema }) : undefined;

  return {
    name: 'postgres',
    capabilities: Object.freeze({
      transactions: true,
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

    ...housekeeping,
    async reap(limit) {
      const reaped = await housekeeping.reap(limit);
      await takeOff(counters, reaped.byScope);
      return reaped;
    },
    async due({ operations, limit, after, backoffMinMs = 0, backoffMaxMs = backoffMinMs }) {
      if (operations.length === 0 || limit < 1) return [];
      const names = textArray(operations.map(exact));
      const place = [after ? String(after.createdAt) : null, after?.scope ?? null, after?.key ?? null];
      const values = [names, String(limit), String(backoffMinMs), String(backoffMaxMs), ...place];
      return (await upkeep.ask(dues, values)).map((row) => seenOf(row).record);
    },

    async takeUnknown({ operations, leaseMs, limit }) {
      if (limit < 1 || operations?.length === 0) return [];
      const names = operations === null ? null : textArray(operations.map(exact));
      const rows = await upkeep.ask(takeUnknown, [names, String(leaseMs), String(limit)]);
      const taken = rows.map((row) => seenOf(row).record);
      return taken.toSorted((a, b) => (a.reconcileAfter ?? 0) - (b.reconcileAfter ?? 0));
    },
    postpone: (requests) => records.byHand(upkeep.ask, requests, decidePostpone, giveUpRow),

    settle: async (requests) => byHand('settle', settlements(requests), decideSettle),
    reopen: (requests) => byHand('reopen', requests, decideReopen),
    forget: (requests) => byHand('forget', requests, decideForget),
    erase: createErase(tables, erasing),
    ...createAudit(tables, { upkeep, reads }),
    counters,
    references: createReferences(tables, { upkeep, reads }),
    async list(request) {
      const limit = Math.min(LIST_LIMIT_MAX, Math.max(1, request.limit ?? LIST_LIMIT));
      const { statement, values } = listStatement(tables, request, limit);
      return (await reads.ask(statement, values)).map((row) => seenOf(row).record);
    },
    async count() {
      const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;
      for (const row of await reads.ask(countStatement(tables), [])) {
        counts[String(row[0]) as State] = number(row[1]);
      }
      return counts;
    },

    migrate: ({ newIdentity } = {}) =>
      migrate(open, tables, { service, newIdentity, auditTransitions, partitions }),
    async status() {
      const { version } = await schemaState(upkeep.ask, tables);
      const missing = MIGRATIONS.filter((migration) => migration.number > version).map(({ name }) => name);
      const indexes = version === 0 ? [] : await missingIndexes(upkeep.ask, tables);
      const triggers = await missingTriggers(upkeep.ask, tables, version, auditTransitions);
      return { version, needed: SCHEMA_VERSION, missing: [...missing, ...indexes, ...triggers] };
    },
    ...createWithin(records, createLentSessions(prepare), time, outbox.enqueueWithin),
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
