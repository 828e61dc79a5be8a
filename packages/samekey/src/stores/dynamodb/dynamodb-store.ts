/**
 * The DynamoDB store: the state table of `store/machine/index.ts`, one conditional write for each transition. A fresh
 * key costs one write and no read.
 *
 * Invariants: a decision is written only onto the very version it was made on · time is the wall clock held back by a
 * shared one, claims end by watching only (`clock.ts`, `view.ts`) · every call is bounded in time and tries · the
 * client stays the user's.
 */

import { createClaimWatch } from '../../store/time/claim-watch.ts';
import { decideCheckpoint, decideClaim, decideFinish, decideRenew } from '../../store/machine/index.ts';
import type { FinishRequest, FinishResult, Store } from '../../store/store.ts';
import type { TransactionalStore } from '../../store/transaction.ts';
import { createHand } from '../verbs/by-hand.ts';
import { createAudit } from './audit.ts';
import { ITEM_SIZE_MAX_BYTES, tableBodies } from './bodies.ts';
import { createCalls } from './calls.ts';
import { createStoreClock } from './clock.ts';
import { completionItem, type CompletionItem } from './completion.ts';
import { transactionFault } from './errors.ts';
import { createIdentity, gated, tableIdOf } from './identity.ts';
import { createLook } from './index-walk.ts';
import { checkOptions, type DynamoDbStoreOptions } from './options.ts';
import { createOrphans, type ReapBodiesRequest, type ReapedBodies } from './orphans.ts';
import { createRecords, noneBusy } from './records.ts';
import { checkTable } from './table.ts';
import { createUpkeep } from './upkeep.ts';
import { createViews } from './view.ts';
import { createWithin, type WithinDynamoDb } from './within.ts';

/** The DynamoDB store, with what only a store in the application's own database can do. */
export interface DynamoDbStore extends Store, TransactionalStore {
  within(handle: unknown): WithinDynamoDb;
  /**
   * The end of an attempt as an element of a `TransactWriteItems` of yours: it is written if and only if your other
   * writes are. On TransactionCanceled with ConditionalCheckFailed for it, ask again; `refused` means the attempt has
   * lost its record.
   */
  completionItem(request: FinishRequest): Promise<CompletionItem>;
  /**
   * Goes through the bodies and deletes those that no record names: what dead processes left, and what TTL left behind.
   * From one process that lives long, a few times an hour. Throws `OptionsError` when bodies cannot be listed.
   */
  reapBodies(request?: ReapBodiesRequest): Promise<ReapedBodies>;
}

/** Makes a store on an open client. Throws `OptionsError` for unknown or wrong options. */
export function dynamodbStore(
  options: DynamoDbStoreOptions & { readonly transactions: false },
): Omit<DynamoDbStore, keyof TransactionalStore>;
export function dynamodbStore(options: DynamoDbStoreOptions): DynamoDbStore;
export function dynamodbStore(
  options: DynamoDbStoreOptions,
): DynamoDbStore | Omit<DynamoDbStore, keyof TransactionalStore> {
  const {
    service,
    client,
    tableName,
    bodies: given,
    callTimeMaxMs,
    callsAtOnceMax,
    timeToLive,
    transactions,
    ...rest
  } = checkOptions(options);
  const { auditTransitions, oneWriterRegion, now, monotonicNow, random } = rest;
  const line = createCalls({ client, table: tableName, callTimeMaxMs, random });
  const identity = createIdentity(line, service);
  const calls = gated(line, identity);
  const bodies = given && tableBodies(given, () => tableIdOf(identity));
  const clock = createStoreClock(calls, now, monotonicNow);
  const views = createViews(createClaimWatch(monotonicNow));
  const audit = createAudit(calls, clock, callsAtOnceMax, random);
  const records = createRecords({
    calls,
    clock,
    views,
    audit,
    bodies,
    atOnceMax: callsAtOnceMax,
    auditTransitions,
    timeToLive,
  });
  const look = createLook(calls, records, callsAtOnceMax);
  const leases = createClaimWatch(monotonicNow);
  const upkeep = createUpkeep({ clock, records, look, views, leases, atOnceMax: callsAtOnceMax });

  const parts = { records, clock, views, bodies, tableName, audit, auditTransitions, timeToLive };

  return {
    name: 'dynamodb',
    capabilities: Object.freeze({
      transactions,
      transactionLock: false,
      serverClock: false,
      timePrecisionMs: 1,
      durable: true,
      shared: true,
      recordSizeMaxBytes: bodies === undefined ? ITEM_SIZE_MAX_BYTES : null,
    }),

    claim: (requests) => records.apply(requests, decideClaim, { knownOf: () => null }),
    renew: (requests) => records.apply(requests, decideRenew),
    checkpoint: (requests) => records.apply(requests, decideCheckpoint),
    finish: (requests) => records.apply<FinishRequest, FinishResult>(requests, decideFinish),
    find: async (ids) => (await records.readMany(ids)).map((stored) => stored?.record ?? null),

    ...createHand({
      change: async (requests, decide, rowOf) => noneBusy(await records.apply(requests, decide, { rowOf })),
    }),
    ...upkeep,

    audit: (request) => audit.audit(request),
    note: (rows) => audit.note(rows),
    pruneAudit: (request) => audit.pruneAudit(request),
    list: (request) => look.list(request),
    count: () => look.count(),

    reapBodies: createOrphans(calls, bodies, callsAtOnceMax, monotonicNow),
    completionItem: (request) => completionItem(parts, request),
    ...(transactions && { within: createWithin(parts), transactionFault }),
    onClockOff: (told) => clock.onOff(told),
    identity,
    async ready() {
      await checkTable(line, { timeToLive, oneWriterRegion });
      await identity();
      // From here on this process measures.
      await clock.now();
    },
    close: async () => undefined,
  };
}
