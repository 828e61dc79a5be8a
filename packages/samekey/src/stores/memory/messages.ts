/**
 * Messages in memory: a line, and the state table of `store/machine/messages.ts`.
 *
 * Invariant: every verb checks all it was given before it changes anything, and runs to its end within one turn of the
 * event loop.
 */

import { checkByHand, type NewAuditRow } from '../../store/audit.ts';
import { checkEnds } from '../../store/ends.ts';
import { StoreError } from '../../core/errors.ts';
import { type Decision, decideFinish, decideHandOverAgain, type View } from '../../store/machine/index.ts';
import {
  type Lease,
  type LeaseResult,
  MESSAGE_STATES,
  type MessageCount,
  type MessageStore,
  messageRow,
  ofAttempt,
  PARKED_MAX,
  type StoredMessage,
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
import type { RecordId, SamekeyRecord } from '../../core/record.ts';
import type { CallUnderWay } from '../../store/references.ts';
import type { FencedId, FinishRequest } from '../../store/store.ts';
import { listLimit } from '../verbs/reads.ts';

/** What messages are made of. */
interface MemoryMessagesOptions {
  readonly messagesMax: number;
  readonly now: () => number;
  readonly find: (id: RecordId) => SamekeyRecord | null;
  /** Applies one request to its record. */
  readonly apply: <Request extends RecordId, Result>(
    request: Request,
    decide: (record: SamekeyRecord | null, request: Request, view: View) => Decision<Result>,
  ) => Result;
  readonly audit: (row: NewAuditRow) => void;
  /** Writes the reference that a message or a note brings, if it has an owner. */
  readonly refer: (owner: FencedId | null, brought: { readonly reference?: string | undefined }) => void;
}

/** The messages of a store. */
interface MemoryMessages {
  readonly messages: MessageStore;
  /** Throws when there is no room for so many. */
  checkRoom(count: number): void;
  /** Puts them in at the end, and tells whoever listens. */
  put(messages: readonly StoredMessage[]): void;
  /** The deliveries that have noted no id of the provider. */
  underWay(operations: readonly string[], limit: number): readonly CallUnderWay[];
  /** Deletes the dead letters of a record. */
  dropDeadOf(owner: RecordId): void;
}

/** Makes them. */
export function createMessages(options: MemoryMessagesOptions): MemoryMessages {
  const { now, messagesMax } = options;
  /** By their places, which only grow: so in their order. */
  const line = new Map<number, StoredMessage>();
  /** By group, the places of those that are not dead, in their order. */
  const groups = new Map<string, Set<number>>();
  const listeners = new Set<() => void>();
  let lastPlace = 0;

  function write(message: StoredMessage): void {
    line.set(message.place, Object.freeze(message));
  }

  /** At the end of the line. */
  function append(message: StoredMessage): void {
    lastPlace += 1;
    write({ ...message, place: lastPlace });
    if (message.group === null) return;
    const places = groups.get(message.group) ?? new Set();
    groups.set(message.group, places.add(lastPlace));
  }

  function put(messages: readonly StoredMessage[]): void {
    for (const message of messages) append(message);
    if (messages.length > 0) ring();
  }

  function checkRoom(count: number): void {
    if (line.size + count <= messagesMax) return;
    throw new StoreError(
      `The memory store holds ${line.size} messages and takes no more than ${messagesMax}: start workers, or raise messagesMax.`,
      { applied: 'no' },
    );
  }

  function ring(): void {
    for (const heard of listeners) heard();
  }

  function firstOf(group: string): StoredMessage | undefined {
    const [place] = groups.get(group) ?? [];
    return place === undefined ? undefined : line.get(place);
  }

  /** It does not stand before others of its group any more. */
  function leave({ group, place }: StoredMessage): void {
    if (group === null) return;
    const places = groups.get(group);
    places?.delete(place);
    if (places?.size === 0) groups.delete(group);
    const next = firstOf(group);
    if (next?.parked === true) write({ ...next, parked: false });
  }

  function parkBehind(group: string, place: number): void {
    let left = PARKED_MAX;
    for (const next of groups.get(group) ?? []) {
      const message = line.get(next);
      if (next <= place || message?.state !== 'ready' || message.parked) continue;
      if (left === 0) return;
      left -= 1;
      write({ ...message, parked: true });
    }
  }

  function ofTopic(topic: string, state: StoredMessage['state']): StoredMessage[] {
    return [...line.values()].filter((message) => message.topic === topic && message.state === state);
  }

  function take(request: TakeRequest): TakeResult {
    const time = now();
    const taken: TakenMessage[] = [];
    let looked = 0;
    /** By group, the first that was parked. */
    const met = new Map<string, number>();
    const decide = (message: StoredMessage, over: boolean): void => {
      const { group } = message;
      const isHead = group === null || firstOf(group)?.place === message.place;
      const after = decideTake(message, request, { now: time, over, isHead });
      if (after === undefined) return;
      looked += 1;
      write(after);
      if (after.parked && group !== null)
        met.set(group, Math.min(after.place, met.get(group) ?? after.place));
      if (after.state !== 'leased') return;
      const exhausted = isExhausted(message, request.deliveriesMax);
      taken.push({ ...after, leaseId: request.leaseId, exhausted });
    };
    for (const topic of request.topics) {
      for (const message of ofTopic(topic, 'leased')) {
        if (taken.length >= Math.min(request.suspectsMax, request.limit)) break;
        if (message.dueAt <= time) decide(message, true);
      }
    }
    for (const topic of request.topics) {
      const due = ofTopic(topic, 'ready')
        .filter(({ parked, dueAt }) => !parked && dueAt <= time)
        .toSorted((a, b) => a.dueAt - b.dueAt || a.place - b.place);
      for (const message of due) {
        if (looked >= request.limit) break;
        decide(message, false);
      }
    }
    for (const [group, place] of met) parkBehind(group, place);
    const more = looked >= request.limit;
    return { taken, more, nextDueMs: more ? null : nextDue(request, time) };
  }

  function nextDue({ topics, suspectsMax }: TakeRequest, time: number): number | null {
    const times = topics.flatMap((topic) => [
      ...ofTopic(topic, 'ready').filter(({ parked }) => !parked),
      ...(suspectsMax > 0 ? ofTopic(topic, 'leased') : []),
    ]);
    return times.length === 0
      ? null
      : times.reduce((least, { dueAt }) => Math.min(least, Math.max(0, dueAt - time)), Infinity);
  }

  /** Each lease that still holds, with what becomes of its message. */
  function each<Request extends Lease>(
    requests: readonly Request[],
    body: (message: StoredMessage, request: Request) => LeaseResult,
  ): LeaseResult[] {
    return requests.map((request) => {
      const message = line.get(request.place) ?? null;
      return holds(message, request) ? body(message, request) : 'lost';
    });
  }

  /** The end of the attempt that was handed over, in the same step. */
  function settle(record: FinishRequest | null): LeaseResult {
    if (record === null) return 'applied';
    const { kind } = options.apply(record, decideFinish);
    return kind === 'applied' || kind === 'already' ? 'applied' : 'contradiction';
  }

  /** The dead letters with these ids. */
  function deadOf(ids: readonly string[]): readonly StoredMessage[] {
    const wanted = new Set(ids);
    return [...line.values()].filter(({ id, state }) => state === 'dead' && wanted.has(id));
  }

  const messages: MessageStore = {
    async enqueue(all) {
      checkRoom(all.length);
      put(all.map((message) => decideEnqueue(message, 0, now())));
      for (const message of all) options.refer(message.owner, message);
    },
    take: async (request) =>
      request.topics.length === 0 || request.limit < 1
        ? { taken: [], more: false, nextDueMs: null }
        : take(request),
    extend: async (leases, leaseMs) =>
      each(leases, (message) => {
        write({ ...message, dueAt: now() + leaseMs });
        return 'applied';
      }),
    async done(requests) {
      checkEnds(recordsOf(requests));
      return each(requests, (message, { record }) => {
        line.delete(message.place);
        leave(message);
        return settle(record);
      });
    },
    retry: async (requests) =>
      each(requests, (message, request) => {
        write(decideRetry(message, request, now()));
        return 'applied';
      }),
    async dead(requests) {
      checkEnds(recordsOf(requests));
      return each(requests, (message, request) => {
        write(decideDead(message, request, now()));
        leave(message);
        return settle(request.record);
      });
    },
    note: async (requests) =>
      each(requests, (message, request) => {
        write({ ...message, providerId: request.providerId });
        options.refer(message.owner, request);
        return 'applied';
      }),
    async requeue(ids, by) {
      checkByHand([by]);
      const done = deadOf(ids).filter((message) => {
        const { owner } = message;
        const record = owner === null ? null : options.find(owner);
        if (!mayRequeue(message, record)) return false;
        if (owner !== null) options.apply(owner, decideHandOverAgain);
        options.audit(messageRow('requeue', message, record, by));
        const after = decideRequeue(message, message.place, now(), record);
        if (message.group === null) write(after);
        else {
          line.delete(message.place);
          append(after);
        }
        return true;
      });
      if (done.length > 0) ring();
      return done.map(({ id }) => id);
    },
    async drop(ids, by) {
      checkByHand([by]);
      const done = deadOf(ids);
      for (const message of done) {
        const { owner } = message;
        line.delete(message.place);
        const record = owner === null ? null : ofAttempt(message, options.find(owner));
        options.audit(messageRow('drop', message, record, by));
      }
      return done.map(({ id }) => id);
    },
    list: async ({ states = MESSAGE_STATES, topic, owner, after = 0, ...rest }) =>
      [...line.values()]
        .filter(
          (message) =>
            message.place > after &&
            states.includes(message.state) &&
            (topic === undefined || message.topic === topic) &&
            (owner === undefined || isOf(message, owner)),
        )
        .slice(0, listLimit(rest)),
    async count() {
      const counts = new Map<string, MessageCount>();
      for (const { topic, state } of line.values()) {
        const name = `${state} ${topic}`;
        counts.set(name, { topic, state, count: (counts.get(name)?.count ?? 0) + 1 });
      }
      return [...counts.values()];
    },
    // What ends the first of a group unparks the next in the same step: nothing can be left.
    tidy: async () => 0,
    listen(heard) {
      listeners.add(heard);
      return () => void listeners.delete(heard);
    },
  };

  return {
    messages,
    checkRoom,
    put,
    underWay(operations, limit) {
      const calls: CallUnderWay[] = [];
      for (const { state, owner, providerId, leaseId } of line.values()) {
        if (state !== 'leased' || owner === null || providerId !== null) continue;
        const record = options.find(owner);
        if (record?.state !== 'pending' || !operations.includes(record.operation)) continue;
        const { scope, key, operation } = record;
        calls.push({
          scope,
          key,
          operation,
          state: 'pending',
          claimId: leaseId ?? owner.claimId,
          lockedUntil: 0,
          steps: null,
        });
      }
      return calls.slice(0, limit);
    },
    dropDeadOf(owner) {
      for (const message of line.values()) {
        if (message.state === 'dead' && isOf(message, owner)) line.delete(message.place);
      }
    },
  };
}

function isOf({ owner }: StoredMessage, { scope, key }: RecordId): boolean {
  return owner?.scope === scope && owner.key === key;
}

function recordsOf(requests: readonly { readonly record: FinishRequest | null }[]): readonly FinishRequest[] {
  return requests.flatMap(({ record }) => (record === null ? [] : [record]));
}
