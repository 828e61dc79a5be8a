/**
 * Messages that are due go to their workers. A look first, without locks, because an idle worker looks often; what is
 * due is locked where nobody else holds it (SKIP LOCKED), decided by the state table, and written.
 *
 * A group goes one after the other: whatever is met behind another of its group is parked. Who ends the one ahead
 * unparks the next, and waits for the lock of a take that has looked at the group before.
 */

import {
  PARKED_MAX,
  type StoredMessage,
  type TakenMessage,
  type TakeRequest,
  type TakeResult,
} from '../../store/message.ts';
import { decideTake, isExhausted } from '../../store/machine/messages.ts';
import { exact, number } from '../sql/record-row.ts';
import type { Link } from './link.ts';
import { bytesOf, numberOf } from './literals.ts';
import {
  firstOf,
  type MessageChange,
  messageColumns,
  type SeenMessage,
  seenMessage,
  writeMessages,
} from './message-rows.ts';
import type { Ask } from './client.ts';
import type { Tables } from './tables.ts';

/** When the first message of each kind is due, counted from now, in milliseconds; null for none. */
interface Due {
  readonly topic: string;
  readonly readyMs: number | null;
  readonly leasedMs: number | null;
}

/** Makes the verb on its connection. */
export function createTake(tables: Tables, takes: Link): (request: TakeRequest) => Promise<TakeResult> {
  const from = `FROM ${tables.messages} AS m FORCE INDEX (samekey_messages_due)`;

  function first(topic: string, state: 'ready' | 'leased'): string {
    return `(SELECT m.due_at ${from} WHERE ${of(topic, state)} ORDER BY m.due_at LIMIT 1)`;
  }

  async function look({ topics, suspectsMax }: TakeRequest): Promise<readonly Due[]> {
    const columns = topics.flatMap((topic) => [
      first(topic, 'ready'),
      suspectsMax > 0 ? first(topic, 'leased') : 'NULL',
    ]);
    const [row = []] = await takes.alone((ask) => ask(`SELECT ${tables.now} AS now, ${columns.join(', ')}`));
    const { heldMs } = tables;
    const ms = (at: unknown): number | null =>
      at === null || at === undefined ? null : number(at) - number(row[0]);
    return topics.map((topic, i) => ({
      topic,
      readyMs: ms(row[1 + 2 * i]),
      leasedMs: held(ms(row[2 + 2 * i]), heldMs),
    }));
  }

  async function lock(
    ask: Ask,
    topic: string,
    state: 'ready' | 'leased',
    limit: number,
  ): Promise<readonly SeenMessage[]> {
    if (limit < 1) return [];
    const rows = await ask(
      `SELECT ${messageColumns(tables)} ${from} WHERE ${of(topic, state)} AND m.due_at <= ${tables.now} - ${numberOf(state === 'leased' ? tables.heldMs : 0)} ` +
        `ORDER BY m.due_at, m.place LIMIT ${numberOf(limit)} FOR UPDATE SKIP LOCKED`,
    );
    return rows.map(seenMessage);
  }

  /** What is due, locked: of those that may have killed their worker not more than are wanted. */
  async function candidates(
    ask: Ask,
    { limit, suspectsMax }: TakeRequest,
    due: readonly Due[],
  ): Promise<readonly SeenMessage[]> {
    const found: SeenMessage[] = [];
    for (const { topic, leasedMs } of due) {
      const wanted = Math.min(suspectsMax, limit) - found.length;
      if (isDue(leasedMs)) found.push(...(await lock(ask, topic, 'leased', wanted)));
    }
    for (const { topic, readyMs } of due) {
      if (isDue(readyMs)) found.push(...(await lock(ask, topic, 'ready', limit - found.length)));
    }
    return found;
  }

  async function takeDue(
    ask: Ask,
    request: TakeRequest,
    due: readonly Due[],
  ): Promise<{
    readonly taken: readonly TakenMessage[];
    readonly looked: number;
  }> {
    const found = await candidates(ask, request, due);
    // Read after the locks were had: whoever ends the one ahead meanwhile waits for them, and then unparks.
    const groups = found.flatMap(({ message: { state, group } }) =>
      state === 'leased' || group === null ? [] : [group],
    );
    const heads = new Set((await firstOf(ask, tables, groups)).map(({ place }) => place));
    const changes: MessageChange[] = [];
    const taken: TakenMessage[] = [];
    for (const { message, now } of found) {
      const after = decide(message, request, now, heads);
      if (after === undefined) continue;
      changes.push({ before: message, after });
      if (after.state !== 'leased') continue;
      const exhausted = isExhausted(message, request.deliveriesMax);
      taken.push({ ...after, leaseId: request.leaseId, exhausted });
    }
    await writeMessages(ask, tables, changes);
    await parkBehind(ask, changes);
    return { taken, looked: changes.length };
  }

  /** Whatever is behind one that was met behind its group's first: that one is locked, and stays before them. */
  async function parkBehind(ask: Ask, changes: readonly MessageChange[]): Promise<void> {
    const met = new Map<string, number>();
    for (const { after } of changes) {
      if (after?.parked !== true || after.group === null) continue;
      met.set(after.group, Math.min(after.place, met.get(after.group) ?? after.place));
    }
    for (const [group, place] of met) {
      const rows = await ask(
        `SELECT m.place FROM ${tables.messages} AS m FORCE INDEX (samekey_messages_line) ` +
          `WHERE m.line = ${bytesOf(exact(group))} AND m.place > ${numberOf(place)} AND m.state = 'ready' AND m.parked = 0 ` +
          `ORDER BY m.line, m.place LIMIT ${PARKED_MAX} FOR UPDATE SKIP LOCKED`,
      );
      if (rows.length === 0) continue;
      const places = rows.map(([one]) => numberOf(number(one))).join(', ');
      await ask(`UPDATE ${tables.messages} SET parked = 1 WHERE place IN (${places})`);
    }
  }

  return async (request) => {
    if (request.topics.length === 0 || request.limit < 1) return { taken: [], more: false, nextDueMs: null };
    const due = await look(request);
    if (!due.some(({ readyMs, leasedMs }) => isDue(readyMs) || isDue(leasedMs)))
      return { taken: [], more: false, nextDueMs: next(due) };
    const { taken, looked } = await takes.together((ask) => takeDue(ask, request, due));
    const more = looked >= request.limit;
    return { taken, more, nextDueMs: more ? null : next(await look(request)) };
  };
}

function of(topic: string, state: 'ready' | 'leased'): string {
  return `m.topic = ${bytesOf(exact(topic))} AND m.state = '${state}' AND m.parked = 0`;
}

/** A lease that is over is of the first of its group, or of a message alone. */
function decide(
  message: StoredMessage,
  request: TakeRequest,
  now: number,
  heads: ReadonlySet<number>,
): StoredMessage | undefined {
  const isLeased = message.state === 'leased';
  const isHead = isLeased || message.group === null || heads.has(message.place);
  return decideTake(message, request, { now, over: isLeased, isHead });
}

/** A lease is held back after a leap of the time. */
function held(ms: number | null, heldMs: number): number | null {
  return ms === null ? null : ms + heldMs;
}

function isDue(ms: number | null): boolean {
  return ms !== null && ms <= 0;
}

function next(due: readonly Due[]): number | null {
  const times = due.flatMap(({ readyMs, leasedMs }) => [readyMs ?? [], leasedMs ?? []].flat());
  return times.length === 0 ? null : Math.max(0, Math.min(...times));
}
