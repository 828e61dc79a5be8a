/**
 * Messages given up, messages that nobody takes, leases of workers that died, and messages that wait behind nothing.
 */

import type { Store } from 'samekey';
import type { MessageQueue } from 'samekey/operator';
import { shortDuration } from '../operate/duration.ts';
import { counted } from '../operate/print.ts';
import type { MessagesOf } from '../operate/target.ts';
import { type Check, type Finding, fine } from './finding.ts';
import { countOf, instant, msOf, nameOf, numberAt, textAt } from './sql.ts';
import type { OpenDatabase } from '../database/opened.ts';

/** A message that is due is taken within seconds where somebody listens to its topic. */
const DUE_LONG_MS = 5 * 60_000;
/** Workers take what a dead one held within seconds of its lease's end. */
const LEASE_OVER_LONG_MS = 60_000;
/** Deliveries begun and never ended: each took its worker down, or the worker was killed. */
const DEADLY = 3;
/** Messages of a store without a database that are looked at, and how many at once. */
const PAGED_MAX = 20_000;
const PAGE = 1_000;

/** What waits of one topic. */
interface Topic {
  readonly topic: string;
  readonly dead: number;
  readonly late: number;
  /** When the first of the late ones was due. */
  readonly firstDueAt: number;
  readonly over: number;
  readonly firstOverAt: number;
  readonly deadly: number;
  /** Parked behind a message of their group that is not there. */
  readonly stranded: number;
  /** Of a record that is not there. */
  readonly orphans: number;
}

/** The check. */
export const messages: Check = async ({ store, database, now }) => {
  const queue = (store as Store & MessagesOf).messages;
  if (queue === undefined) return [];
  const topics = database === null ? await byPages(queue, now) : await bySql(database, now);
  const dead = topics.filter(({ dead: n }) => n > 0);
  const findings: Finding[] = [];
  const add = (what: string, measured: Finding['measured'], remedy: string): void => {
    findings.push({ check: 'messages', level: 'warning', what, measured, remedy });
  };
  if (dead.length > 0) {
    const count = dead.reduce((sum, one) => sum + one.dead, 0);
    add(
      `${count} messages were given up (${dead.map(({ topic, dead: n }) => `${topic}: ${n}`).join(', ')}).`,
      { dead: count },
      'npx samekey requeue lists them with their last errors; mend the cause, then requeue them.',
    );
  }
  for (const { topic, late, firstDueAt, over, firstOverAt, deadly, stranded, orphans } of topics) {
    const worker = `Run a worker with a handler of "${topic}": npx samekey worker --app.`;
    if (late > 0)
      add(
        `${counted(late, 'message', 'messages')} of the topic "${topic}" wait, the first for ${shortDuration(now - firstDueAt)}: nobody takes them, or not fast enough.`,
        { topic, late, lateMs: now - firstDueAt },
        worker,
      );
    if (over > 0)
      add(
        `${counted(over, 'message', 'messages')} of the topic "${topic}" are held by a worker that died, its lease over for ${shortDuration(now - firstOverAt)}, and no other takes them.`,
        { topic, over, overMs: now - firstOverAt },
        worker,
      );
    if (deadly > 0)
      add(
        `${counted(deadly, 'message', 'messages')} of the topic "${topic}" were begun ${DEADLY} times or more without an end: they take their worker down with them.`,
        { topic, deadly },
        `Read how those workers ended (memory, a native crash), and mend the handler of "${topic}".`,
      );
    if (stranded > 0)
      add(
        `${counted(stranded, 'message', 'messages')} of the topic "${topic}" wait behind a message of their group that is not there: somebody deleted it, and they are never delivered.`,
        { topic, stranded },
        'Restore the deleted rows of samekey_messages from a backup, or ask for each of these messages what it was for and drop it: outbox.drop(ids).',
      );
    if (orphans > 0)
      add(
        `${counted(orphans, 'message', 'messages')} of the topic "${topic}" were handed over by a request whose record is not there: what they do is told to nobody.`,
        { topic, orphans },
        'Somebody has deleted rows of samekey_records: restore them from a backup before the messages are delivered.',
      );
  }
  if (findings.length > 0) return findings;
  return [
    fine('messages', 'No message was given up, none waits for long, and no lease is left over.', { dead: 0 }),
  ];
};

async function bySql({ address: { kind }, query }: OpenDatabase, now: number): Promise<readonly Topic[]> {
  const late = `m.state = 'ready' AND ${isFalse(kind, 'm.parked')} AND m.due_at < ${instant(kind, now - DUE_LONG_MS)}`;
  const over = `m.state = 'leased' AND m.due_at < ${instant(kind, now - LEASE_OVER_LONG_MS)}`;
  const first = (condition: string): string =>
    `MIN(CASE WHEN ${condition} THEN ${msOf(kind, 'm.due_at')} END)`;
  const key = nameOf(kind, 'key');
  // The head of each group, and the records that messages belong to: each found once, not row by row.
  const rows = await query(`SELECT m.topic AS topic, ${countOf("m.state = 'dead'")} AS dead,
    ${countOf(late)} AS late, ${first(late)} AS late_at, ${countOf(over)} AS over_long, ${first(over)} AS over_at,
    ${countOf(`m.state <> 'dead' AND m.started - m.finished >= ${DEADLY}`)} AS deadly,
    ${countOf(`m.state = 'ready' AND NOT (${isFalse(kind, 'm.parked')}) AND m.place = h.place`)} AS stranded,
    ${countOf(`m.state <> 'dead' AND m.scope IS NOT NULL AND r.scope IS NULL`)} AS orphans
    FROM samekey_messages m
    LEFT JOIN (SELECT group_key, MIN(place) AS place FROM samekey_messages WHERE group_key IS NOT NULL AND state <> 'dead' GROUP BY group_key) h
      ON h.group_key = m.group_key
    LEFT JOIN samekey_records r ON r.scope = m.scope AND r.${key} = m.${key}
    GROUP BY m.topic ORDER BY m.topic`);
  return rows.map((row) => ({
    topic: textAt(row, 'topic'),
    dead: Number(row['dead']),
    late: Number(row['late']),
    firstDueAt: numberAt(row, 'late_at') ?? now,
    over: Number(row['over_long']),
    firstOverAt: numberAt(row, 'over_at') ?? now,
    deadly: Number(row['deadly']),
    stranded: Number(row['stranded']),
    orphans: Number(row['orphans']),
  }));
}

function isFalse(kind: OpenDatabase['address']['kind'], column: string): string {
  return kind === 'postgres' ? `NOT ${column}` : `${column} = 0`;
}

/** Of a store without a database; whose records are there is not asked. */
async function byPages(queue: MessageQueue, now: number): Promise<readonly Topic[]> {
  const topics = new Map<string, Topic>();
  const heads = new Set<string>();
  let after = 0;
  for (let looked = 0; looked < PAGED_MAX; looked += PAGE) {
    const page = await queue.list({ after, limit: PAGE });
    for (const { topic, state, parked, group, dueAt, started, finished } of page) {
      const before = topics.get(topic) ?? { ...NOTHING, topic };
      const isLate = state === 'ready' && !parked && dueAt < now - DUE_LONG_MS;
      const isOver = state === 'leased' && dueAt < now - LEASE_OVER_LONG_MS;
      const isHead = group !== null && state !== 'dead' && !heads.has(group);
      if (isHead) heads.add(group);
      topics.set(topic, {
        ...before,
        dead: before.dead + Number(state === 'dead'),
        late: before.late + Number(isLate),
        firstDueAt: isLate ? Math.min(before.firstDueAt, dueAt) : before.firstDueAt,
        over: before.over + Number(isOver),
        firstOverAt: isOver ? Math.min(before.firstOverAt, dueAt) : before.firstOverAt,
        deadly: before.deadly + Number(state !== 'dead' && started - finished >= DEADLY),
        stranded: before.stranded + Number(state === 'ready' && parked && isHead),
      });
    }
    if (page.length < PAGE) break;
    after = page.at(-1)?.place ?? after;
  }
  return [...topics.values()];
}

const NOTHING = {
  dead: 0,
  late: 0,
  firstDueAt: Number.POSITIVE_INFINITY,
  over: 0,
  firstOverAt: Number.POSITIVE_INFINITY,
  deadly: 0,
  stranded: 0,
  orphans: 0,
};
