/**
 * Messages on MySQL: locked rows, the state table of `store/machine/messages.ts`, one write, one commit. On two
 * connections of their own, one that takes and one that writes what became of them, so that a busy worker holds up no
 * claim.
 */

import { isStoreError } from '../../core/errors.ts';
import { decideFinish } from '../../store/machine/index.ts';
import {
  type Lease,
  type LeaseResult,
  MESSAGE_STATES,
  type MessageListRequest,
  type MessageState,
  type MessageStore,
  type StoredMessage,
} from '../../store/message.ts';
import { decideDead, decideRetry, holds } from '../../store/machine/messages.ts';
import type { FinishRequest } from '../../store/store.ts';
import { exact, number } from '../sql/record-row.ts';
import { BUSY } from '../verbs/change.ts';
import { listLimit } from '../verbs/reads.ts';
import type { Link } from './link.ts';
import { bytesOf, decoded, numberOf, textOf } from './literals.ts';
import {
  firstOf,
  lockPlaces,
  type MessageChange,
  messageColumns,
  seenMessage,
  writeMessages,
} from './message-rows.ts';
import { enqueue, needsTransaction } from './messages-in.ts';
import { createTake } from './messages-out.ts';
import type { Ask } from './client.ts';
import { apply, type Lock } from './records.ts';
import { createByHand } from './messages-by-hand.ts';
import { putReferences } from './references.ts';
import { quote, type Tables } from './tables.ts';

/** Groups looked at in one round of tidying. */
const GROUPS_MAX = 1_000;

/** A message whose lease holds, as it was. */
interface HeldMessage<Request extends Lease> {
  readonly message: StoredMessage;
  readonly request: Request;
}

/** The end of a delivery, which may end a record too. */
type End = Lease & { readonly record: FinishRequest | null };

/** Makes them. `reads`: the connection for reads that may take long. */
export function createMessages(
  tables: Tables,
  links: { readonly takes: Link; readonly writes: Link; readonly reads: Link },
): MessageStore {
  const { writes, reads } = links;
  const listeners = new Set<() => void>();
  /** Where tidying goes on. */
  let tidiedTo = '';

  function ring(): void {
    for (const heard of listeners) heard();
  }

  /** Each lease that still holds, with what becomes of its message; `also`: what else is written with those. */
  async function each<Request extends Lease>(
    requests: readonly Request[],
    after: (message: StoredMessage, request: Request, now: number) => StoredMessage,
    also?: (ask: Ask, held: readonly HeldMessage<Request>[]) => Promise<void>,
  ): Promise<readonly LeaseResult[]> {
    if (requests.length === 0) return [];
    return writes.together(async (ask) => {
      const seen = await lockPlaces(
        ask,
        tables,
        requests.map(({ place }) => place),
      );
      const changes = new Map<number, MessageChange>();
      const held: HeldMessage<Request>[] = [];
      const results = requests.map((request): LeaseResult => {
        const { message = null, now = 0 } = seen.get(request.place) ?? {};
        const current = changes.get(request.place)?.after ?? message;
        if (message === null || !holds(current, request)) return 'lost';
        changes.set(request.place, { before: message, after: after(current, request, now) });
        held.push({ message, request });
        return 'applied';
      });
      await writeMessages(ask, tables, [...changes.values()]);
      await also?.(ask, held);
      return results;
    });
  }

  /**
   * Ends deliveries and their records. Undefined for those whose record somebody else holds: they are left as they are.
   */
  async function endSome<Request extends End>(
    ask: Ask,
    requests: readonly Request[],
    after: (message: StoredMessage, request: Request, now: number) => StoredMessage | null,
    lock: Lock,
  ): Promise<readonly (LeaseResult | undefined)[]> {
    const seen = await lockPlaces(
      ask,
      tables,
      requests.map(({ place }) => place),
    );
    const held = requests.filter((request, i) => {
      const isFirst = requests.findIndex(({ place }) => place === request.place) === i;
      return isFirst && holds(seen.get(request.place)?.message ?? null, request);
    });
    const ends = held.flatMap((request) =>
      request.record === null ? [] : [{ request, record: request.record }],
    );
    const ended = await apply(
      ask,
      tables,
      ends.map(({ record }) => record),
      decideFinish,
      { lock },
    );
    const ofRecord = new Map(ends.map(({ request }, i) => [request, ended[i] ?? BUSY]));
    const results = new Map(
      held.map((request) => [request, resultOf(ofRecord.get(request)?.kind ?? 'applied')]),
    );
    const changes = held.flatMap((request): MessageChange[] => {
      const found = seen.get(request.place);
      if (found === undefined || results.get(request) === undefined) return [];
      return [{ before: found.message, after: after(found.message, request, found.now) }];
    });
    await writeMessages(ask, tables, changes);
    return requests.map((request) => (results.has(request) ? results.get(request) : 'lost'));
  }

  async function end<Request extends End>(
    requests: readonly Request[],
    after: (message: StoredMessage, request: Request, now: number) => StoredMessage | null,
  ): Promise<readonly LeaseResult[]> {
    if (requests.length === 0) return [];
    const groups = new Set<string>();
    const leaving = (message: StoredMessage, request: Request, now: number): StoredMessage | null => {
      if (message.group !== null) groups.add(message.group);
      return after(message, request, now);
    };
    const first = await writes.together((ask) => endSome(ask, requests, leaving, 'FOR UPDATE SKIP LOCKED'));
    const results: LeaseResult[] = [];
    for (const [i, request] of requests.entries()) {
      const result = first[i];
      const alone = (ask: Ask): Promise<readonly (LeaseResult | undefined)[]> =>
        endSome(ask, [request], leaving, 'FOR UPDATE');
      results.push(result ?? (await writes.together(alone))[0] ?? 'lost');
    }
    await goOn(groups);
    return results;
  }

  /** Lets groups go on that lost their first. If it cannot be done, tidying does it. */
  async function goOn(groups: ReadonlySet<string>): Promise<void> {
    if (groups.size === 0) return;
    try {
      await unpark([...groups]);
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }

  async function unpark(groups: readonly string[]): Promise<number> {
    const heads = await writes.alone((ask) => firstOf(ask, tables, groups));
    if (heads.length === 0) return 0;
    return writes.together(async (ask) => {
      // Locked whether parked or not: a take that has looked before may be about to park it.
      const seen = await lockPlaces(
        ask,
        tables,
        heads.map(({ place }) => place),
      );
      const changes = [...seen.values()].flatMap(({ message }) =>
        message.parked ? [{ before: message, after: { ...message, parked: false } }] : [],
      );
      await writeMessages(ask, tables, changes);
      return changes.length;
    });
  }

  return {
    async enqueue(all) {
      if (all.length === 0) return;
      const put = (ask: Ask): Promise<void> => enqueue(ask, tables, all);
      await (needsTransaction(all) ? writes.together(put) : writes.alone(put));
      ring();
    },
    take: createTake(tables, links.takes),
    extend: (leases, leaseMs) => each(leases, (message, _, now) => ({ ...message, dueAt: now + leaseMs })),
    note: (requests) =>
      each(
        requests,
        (message, { providerId }) => ({ ...message, providerId: exact(providerId) }),
        (ask, noted) =>
          putReferences(
            ask,
            tables,
            noted.flatMap(({ message: { owner }, request: { reference } }) =>
              owner === null || reference === undefined ? [] : [{ owner, reference, effect: null }],
            ),
          ),
      ),
    retry: (requests) => each(requests, decideRetry),
    done: (requests) => end(requests, () => null),
    dead: (requests) => end(requests, decideDead),
    ...createByHand(tables, writes, ring),
    async list(request) {
      if (request.states?.length === 0) return [];
      const rows = await reads.alone((ask) => ask(listStatement(tables, request)));
      return rows.map((row) => seenMessage(row).message);
    },
    async count() {
      const rows = await reads.alone((ask) =>
        ask(`SELECT m.topic, m.state, COUNT(*) FROM ${tables.messages} AS m GROUP BY m.topic, m.state`),
      );
      return rows.map(([topic, state, count]) => ({
        topic: String(decoded(topic)),
        state: String(decoded(state)) as MessageState,
        count: number(count),
      }));
    },
    async tidy() {
      const names = await writes.alone(async (ask) => {
        const rows = await ask(
          `SELECT DISTINCT m.parked_line FROM ${tables.messages} AS m FORCE INDEX (samekey_messages_parked) ` +
            `WHERE m.parked_line > ${bytesOf(tidiedTo)} ORDER BY m.parked_line LIMIT ${GROUPS_MAX}`,
        );
        return rows.map((row) => String(decoded(row[0])));
      });
      tidiedTo = names.length < GROUPS_MAX ? '' : (names.at(-1) ?? '');
      const heads = await writes.alone((ask) => firstOf(ask, tables, names));
      return heads.some(({ parked }) => parked) ? unpark(names) : 0;
    },
    // There is no LISTEN: what comes in by this process alone is told, the rest is found by looking.
    listen(heard) {
      listeners.add(heard);
      return () => void listeners.delete(heard);
    },
  };
}

/** Undefined: somebody else holds the record. */
function resultOf(kind: 'applied' | 'already' | 'refused' | 'busy'): LeaseResult | undefined {
  if (kind === 'busy') return undefined;
  return kind === 'refused' ? 'contradiction' : 'applied';
}

function listStatement(tables: Tables, { states = MESSAGE_STATES, ...request }: MessageListRequest): string {
  const { topic, owner, after = 0 } = request;
  const limit = listLimit(request);
  const conditions = [`m.place > ${numberOf(after)}`, `m.state IN (${states.map(textOf).join(', ')})`];
  let by = '';
  // The servers believe that so many are found soon in the order that is wanted, and walk through the whole queue.
  if (states.every((state) => state === 'dead') && topic === undefined) {
    by = ` FORCE INDEX (${owner === undefined ? 'samekey_messages_dead' : 'samekey_messages_dead_owner'})`;
    conditions.push(owner === undefined ? 'm.dead_id IS NOT NULL' : `m.dead_scope = ${bytesOf(owner.scope)}`);
  }
  if (topic !== undefined) conditions.push(`m.topic = ${bytesOf(topic)}`);
  if (owner !== undefined)
    conditions.push(`m.scope = ${bytesOf(owner.scope)}`, `m.${quote('key')} = ${bytesOf(owner.key)}`);
  return (
    `SELECT ${messageColumns(tables)} FROM ${tables.messages} AS m${by} WHERE ${conditions.join(' AND ')} ` +
    `ORDER BY m.place LIMIT ${numberOf(limit)}`
  );
}
