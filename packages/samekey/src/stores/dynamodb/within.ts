/**
 * The store's verbs inside a user's transaction, which is a list of writes: each verb reads, decides, and adds the
 * record's write, with its row of the audit, under the version it decided on. A renewal that the engine sends to find
 * out what became of the transaction moves the version, and with it shuts out a transaction that is still under way.
 */

import { transitionRow } from '../../store/audit.ts';
import { OptionsError, StoreError } from '../../core/errors.ts';
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
import type { ItemTransaction, Within } from '../../store/transaction.ts';
import type { Decide } from '../verbs/change.ts';
import type { DynamoAudit } from './audit.ts';
import { fitting, placesIn, type TableBodies } from './bodies.ts';
import type { StoreClock } from './clock.ts';
import { putOnto } from './element.ts';
import { digestOf, itemOf, samePlaces } from './item.ts';
import type { Records } from './records.ts';
import type { Views } from './view.ts';

/** The store's verbs inside a transaction of `fromDynamodb`. */
export interface WithinDynamoDb extends Within {
  /** Ends an attempt together with the transaction's other writes. On `refused` nothing must be written. */
  finish(request: FinishRequest): Promise<FinishResult>;
  /** Notes what the attempt has done so far. On `refused` nothing must be written. */
  checkpoint(request: CheckpointRequest): Promise<CheckpointResult>;
  /** Gives the attempt to somebody else's work. On `refused` nothing must be written. */
  handOver(owner: FencedId): Promise<HandResult>;
  /** Throws `StoreError`: this store keeps no messages. */
  enqueue(messages: readonly NewMessage[]): Promise<void>;
  /** The transaction is not sent later than this. */
  limit(timeMaxMs: number): Promise<void>;
}

/** What the verbs are made of. */
interface WithinOptions {
  readonly tableName: string;
  readonly records: Records;
  readonly clock: StoreClock;
  readonly views: Views;
  readonly audit: DynamoAudit;
  readonly bodies: TableBodies | undefined;
  readonly auditTransitions: boolean;
  readonly timeToLive: boolean;
}

/** Makes `within`. */
export function createWithin(options: WithinOptions): (handle: unknown) => WithinDynamoDb {
  return (handle) => {
    const tx = handle as Partial<ItemTransaction> | null | undefined;
    if (tx?.isItemTransaction !== true) {
      throw new OptionsError('within() takes the handle of a transaction of fromDynamodb; this is none.');
    }
    return withinOf(options, tx as ItemTransaction);
  };
}

function withinOf(options: WithinOptions, tx: ItemTransaction): WithinDynamoDb {
  const { tableName, records, clock, views, audit, bodies, auditTransitions, timeToLive } = options;
  let isWritten = false;

  async function one<Request extends RecordId, Result>(
    request: Request,
    decide: Decide<Request, Result>,
  ): Promise<Result> {
    const stored = await records.read(request);
    const times = await clock.times();
    const { now } = times;
    const before = stored?.record ?? null;
    const { write: after, result } = decide(before, request, views.of(before, times));
    if (!after || stored === null || before === null) return result;
    if (isWritten) throw new StoreError(TWICE, { applied: 'no', transient: false });
    isWritten = true;
    // They were left inside the item, which is replaced.
    if (stored.notes.length > 0) await audit.put(stored.notes);
    const version = crypto.randomUUID();
    const wanted = itemOf(after, { version, leaseMs: stored.leaseMs, notes: [], timeToLive }, stored.item);
    const name = `${digestOf(request)}/${version}`;
    const fit = await fitting(wanted, bodies, name, samePlaces(stored, after));
    tx.write(putOnto(tableName, fit.item, before, stored.version));
    const row = auditTransitions ? transitionRow(before, after) : undefined;
    if (row !== undefined)
      tx.write({ Put: { TableName: tableName, Item: audit.itemOf(audit.numbered(row, now)) } });
    tx.onEnd(async (isCommitted) => {
      if (isCommitted) views.stands(request, after, true);
      const kept = placesIn(fit.item);
      const left = isCommitted ? placesIn(stored.item).filter((place) => !kept.includes(place)) : fit.put;
      await bodies?.discard(left);
    });
    return result;
  }

  return {
    finish: (request) => one(request, decideFinish),
    checkpoint: (request) => one(request, decideCheckpoint),
    handOver: (owner) => one(owner, decideHandOver),
    async enqueue(messages) {
      if (messages.length === 0) return;
      throw new StoreError(
        'The DynamoDB store keeps no messages: write one of your own in the transaction, and deliver it from the stream of its table.',
        { applied: 'no', transient: false },
      );
    },
    async limit(timeMaxMs) {
      tx.limit(timeMaxMs);
    },
  };
}

const TWICE =
  'A transaction of DynamoDB writes an item once, and this one has written its record already: use one verb of within() in each.';
