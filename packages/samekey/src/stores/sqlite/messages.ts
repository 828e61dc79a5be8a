/**
 * Messages on SQLite: the state table of `store/machine/messages.ts` inside one BEGIN IMMEDIATE … COMMIT per bulk call.
 *
 * Invariant: as with claims, wall clocks end no lease. A lease is over when this process has seen it stand still for
 * its length on its own monotonic clock; a process that has just started watches for one length first.
 */

import { checkByHand } from '../../store/audit.ts';
import { decideFinish, decideHandOverAgain } from '../../store/machine/index.ts';
import {
  type Lease,
  type LeaseResult,
  type MessageStore,
  type NewMessage,
  messageRow,
  ofAttempt,
  PARKED_MAX,
  type TakenMessage,
  type TakeRequest,
  type TakeResult,
} from '../../store/message.ts';
import {
  decideDead,
  decideEnqueue,
  decideRequeue,
  decideRetry,
  decideTake,
  holds,
  isExhausted,
  mayRequeue,
} from '../../store/machine/messages.ts';
import type { FencedId, FinishRequest } from '../../store/store.ts';
import type { SqliteAudit } from './audit.ts';
import { createClaimWatch, type StoreClock } from './clock.ts';
import { createMessageRows, lease, type MessageRow } from './message-rows.ts';
import type { Records } from './records.ts';
import type { SqliteReferences } from './references.ts';
import type { Connection } from './client.ts';
import type { Writer } from './writer.ts';

/** What messages are made of. */
interface SqliteMessagesOptions {
  readonly connection: Connection;
  readonly writer: Writer;
  readonly records: Records;
  readonly referring: Pick<SqliteReferences, 'put'>;
  readonly audit: SqliteAudit;
  readonly clock: StoreClock;
  readonly monotonicNow: () => number;
}

/** The messages of a store. */
interface SqliteMessages {
  readonly messages: MessageStore;
  /** Inside an open transaction. */
  enqueueWithin(messages: readonly NewMessage[]): void;
  /** Called when a transaction of the user's was committed. */
  committed(): void;
}

/** Leases looked at in one take and topic. */
const LEASES_MAX = 1_000;

/** Makes them. */
export function createMessages(options: SqliteMessagesOptions): SqliteMessages {
  const { connection, writer, records, clock } = options;
  const rows = createMessageRows(connection);
  const watch = createClaimWatch(options.monotonicNow);
  const listeners = new Set<() => void>();
  let enqueued = false;

  function write<T>(body: (now: number) => T): Promise<T> {
    return writer.write(() => {
      const now = clock.now(connection);
      const result = body(now);
      clock.save(connection, now);
      return result;
    });
  }

  function ring(): void {
    for (const heard of listeners) heard();
  }

  function put(messages: readonly NewMessage[], now: number): void {
    for (const message of messages) {
      rows.insert({ ...decideEnqueue(message, 0, now), leaseMs: null, extended: 0 });
      refer(message.owner, message.reference);
    }
  }

  function refer(owner: FencedId | null, reference: string | undefined): void {
    if (owner !== null && reference !== undefined) options.referring.put(owner, { reference, effect: null });
  }

  function take(request: TakeRequest, now: number): TakeResult {
    const taken: TakenMessage[] = [];
    let looked = 0;
    /** By group, the first that was parked. */
    const met = new Map<string, number>();
    const decide = (row: MessageRow, over: boolean): void => {
      const isHead = row.group === null || rows.firstOf(row.group)?.place === row.place;
      const exhausted = isExhausted(row, request.deliveriesMax);
      const after = decideTake(row, request, { now, over, isHead });
      if (after === undefined) return;
      looked += 1;
      const written = { ...row, ...after, leaseMs: request.leaseMs, extended: 0 };
      rows.write(written);
      if (after.parked && after.group !== null)
        met.set(after.group, Math.min(after.place, met.get(after.group) ?? after.place));
      if (after.state !== 'leased') return;
      watch.restart(lease(written));
      taken.push({ ...after, leaseId: request.leaseId, exhausted });
    };
    for (const topic of request.topics) {
      for (const row of rows.leased(topic, LEASES_MAX)) {
        if (watch.see(lease(row)) === 0 && taken.length < Math.min(request.suspectsMax, request.limit)) {
          decide(row, true);
        }
      }
    }
    for (const topic of request.topics) {
      if (looked >= request.limit) break;
      for (const row of rows.ready(topic, now, request.limit - looked)) decide(row, false);
    }
    for (const [group, place] of met) rows.parkBehind(group, place, PARKED_MAX);
    const more = looked >= request.limit;
    return { taken, more, nextDueMs: more ? null : nextDue(request, now) };
  }

  function nextDue({ topics, suspectsMax }: TakeRequest, now: number): number | null {
    const times = topics.flatMap((topic) => {
      const ready = rows.nextReady(topic);
      // Seen whatever is wanted, so that each is watched from now on.
      const leases = rows.leased(topic, LEASES_MAX).map((row) => watch.see(lease(row)));
      return [...(ready === null ? [] : [Math.max(0, ready - now)]), ...(suspectsMax > 0 ? leases : [])];
    });
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Each lease that still holds, with what becomes of its message. */
  function each<Request extends Lease>(
    requests: readonly Request[],
    body: (row: MessageRow, request: Request, now: number) => LeaseResult,
  ): Promise<readonly LeaseResult[]> {
    if (requests.length === 0) return Promise.resolve([]);
    return write((now) =>
      requests.map((request) => {
        const row = rows.at(request.place);
        return holds(row, request) ? body(row, request, now) : 'lost';
      }),
    );
  }

  /** The end of the attempt that was handed over, in the same transaction. */
  function settle(record: FinishRequest | null): LeaseResult {
    if (record === null) return 'applied';
    const [result] = records.apply([record], decideFinish);
    return result?.kind === 'applied' || result?.kind === 'already' ? 'applied' : 'contradiction';
  }

  function leave({ group, place }: MessageRow): void {
    watch.drop({ scope: 'message', key: String(place) });
    const next = group === null ? null : rows.firstOf(group);
    if (next?.parked === true) rows.write({ ...next, parked: false });
  }

  const messages: MessageStore = {
    async enqueue(all) {
      if (all.length === 0) return;
      await write((now) => put(all, now));
      ring();
    },
    async take(request) {
      if (request.topics.length === 0 || request.limit < 1)
        return { taken: [], more: false, nextDueMs: null };
      // An idle worker looks often: only what is due costs a write.
      const idle = await writer.read(() => look(request));
      return idle ?? write((now) => take(request, now));
    },
    extend: (leases, leaseMs) =>
      each(leases, (row, _request, now) => {
        const written = { ...row, leaseMs, dueAt: now + leaseMs, extended: row.extended + 1 };
        rows.write(written);
        watch.restart(lease(written));
        return 'applied';
      }),
    done: (requests) =>
      each(requests, (row, { record }) => {
        rows.remove(row.place);
        leave(row);
        return settle(record);
      }),
    retry: (requests) =>
      each(requests, (row, request, now) => {
        const written = { ...row, ...decideRetry(row, request, now), leaseMs: request.delayMs };
        rows.write(written);
        if (written.state === 'leased') watch.restart(lease(written));
        else watch.drop({ scope: 'message', key: String(row.place) });
        return 'applied';
      }),
    dead: (requests) =>
      each(requests, (row, request, now) => {
        rows.write({ ...row, ...decideDead(row, request, now) });
        leave(row);
        return settle(request.record);
      }),
    note: (requests) =>
      each(requests, (row, { providerId, reference }) => {
        rows.write({ ...row, providerId });
        refer(row.owner, reference);
        return 'applied';
      }),
    async requeue(ids, by) {
      checkByHand([by]);
      const done = await write((now) =>
        ids.filter((id) => {
          const row = rows.dead(id);
          if (row === null) return false;
          const record = row.owner === null ? null : records.find(row.owner);
          if (!mayRequeue(row, record)) return false;
          if (row.owner !== null) records.apply([row.owner], decideHandOverAgain);
          options.audit.add([messageRow('requeue', row, record, by)], now);
          const after = { ...row, ...decideRequeue(row, row.place, now, record) };
          if (row.group === null) rows.write(after);
          else {
            rows.remove(row.place);
            rows.insert(after);
          }
          return true;
        }),
      );
      if (done.length > 0) ring();
      return done;
    },
    async drop(ids, by) {
      checkByHand([by]);
      return write((now) =>
        ids.filter((id) => {
          const row = rows.dead(id);
          if (row === null) return false;
          const record = row.owner === null ? null : ofAttempt(row, records.find(row.owner));
          rows.remove(row.place);
          options.audit.add([messageRow('drop', row, record, by)], now);
          return true;
        }),
      );
    },
    list: (request) => writer.read(() => rows.list(request)),
    count: () => writer.read(() => rows.count()),
    // What ends the first of a group unparks the next in the same transaction: nothing can be left.
    tidy: async () => 0,
    listen(heard) {
      listeners.add(heard);
      return () => void listeners.delete(heard);
    },
  };

  /** A take that would find nothing; undefined when there is something. */
  function look(request: TakeRequest): TakeResult | undefined {
    const now = clock.now(connection);
    const dueMs = nextDue(request, now);
    return dueMs === 0 ? undefined : { taken: [], more: false, nextDueMs: dueMs };
  }

  return {
    messages,
    enqueueWithin(all) {
      const now = clock.now(connection);
      put(all, now);
      clock.save(connection, now);
      enqueued ||= all.length > 0;
    },
    committed() {
      if (enqueued) ring();
      enqueued = false;
    },
  };
}
