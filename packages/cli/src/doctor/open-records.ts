/**
 * All records that are not final, counted: of a database by one statement of its own, of an application's store page by
 * page. Never the newest only: the record that waits longest is the one that matters (F151).
 */

import type { SamekeyRecord } from 'samekey';
import { countOf, instant, msOf, nameOf, numberAt, textAt } from './sql.ts';
import type { OpenDatabase } from '../database/opened.ts';
import type { Outline } from './outline.ts';

/** The sweeper comes every ten seconds. */
const CLAIM_OVER_LONG_MS = 60_000;
/** Workers look every second. */
export const PENDING_LONG_MS: number = 5 * 60_000;
/** No claim is made for longer, and no deadline set: an hour and a day. */
const CLAIM_FAR_MS: number = 25 * 3_600_000;
/** Of ten attempts: two are left. */
export const TIRED_ATTEMPTS = 8;
/** The completer comes every few seconds. */
const INTENT_LONG_MS = 3_600_000;
/** Reconcilers put off what they have given up to the end of time. */
const FAR_MS = 365 * 86_400_000;
/** Records of a store without a database that are looked at, and how many at once. */
const PAGED_MAX = 20_000;
const PAGE = 500;
/** Records handed over whose message is looked for, and operations that are named. */
const HANDED_OVER_MAX = 20;
const NAMED_MAX = 5;

/** Records of one state, begun or not. */
export interface Open {
  readonly state: string;
  readonly isBegun: boolean;
  readonly count: number;
  /** Ends of claims: of `unknown` records since when nobody knows. */
  readonly firstLockedUntil: number;
  readonly over: number;
  /** Claims that end later than any claim may. */
  readonly far: number;
  /** First used more than {@link PENDING_LONG_MS} ago. */
  readonly old: number;
  readonly givenUp: number;
  readonly tired: number;
  /** An effect with an intent and no result, for more than {@link INTENT_LONG_MS}. */
  readonly openIntents: number;
}

/** What waits. */
export interface OpenRecords {
  readonly groups: readonly Open[];
  /** Operations of accepted work that was not begun for long. */
  readonly waitingOperations: readonly string[];
  /** Handed over for long, and no message is there, oldest first. */
  readonly handedOver: readonly {
    readonly scope: string;
    readonly key: string;
    readonly operation: string;
  }[];
  /** There are more records than were looked at. */
  readonly isPart: boolean;
}

/** Looks. */
export function openRecords(outline: Outline, now: number): Promise<OpenRecords> {
  return outline.database === null ? byPages(outline, now) : bySql(outline.database, now);
}

async function bySql({ address: { kind }, query }: OpenDatabase, now: number): Promise<OpenRecords> {
  const since = (ms: number): string => instant(kind, now - ms);
  const groups = await query(`SELECT state, CASE WHEN attempt > 0 THEN 1 ELSE 0 END AS begun, COUNT(*) AS n,
    MIN(${msOf(kind, 'locked_until')}) AS locked_until,
    ${countOf(`locked_until < ${since(CLAIM_OVER_LONG_MS)}`)} AS over_long,
    ${countOf(`locked_until > ${instant(kind, now + CLAIM_FAR_MS)}`)} AS far,
    ${countOf(`created_at < ${since(PENDING_LONG_MS)}`)} AS old,
    ${countOf(`reconcile_after > ${instant(kind, now + FAR_MS)}`)} AS given_up,
    ${countOf(`attempt >= ${TIRED_ATTEMPTS}`)} AS tired,
    ${countOf(`intent_at < ${since(INTENT_LONG_MS)}`)} AS open_intents
    FROM samekey_records WHERE state NOT IN ('completed', 'failed') GROUP BY state, CASE WHEN attempt > 0 THEN 1 ELSE 0 END`);
  const isWaiting = `state = 'pending' AND created_at < ${since(PENDING_LONG_MS)}`;
  const waiting = await query(
    `SELECT DISTINCT operation FROM samekey_records WHERE ${isWaiting} AND attempt = 0 LIMIT ${NAMED_MAX}`,
  );
  const key = nameOf(kind, 'key');
  const handed =
    await query(`SELECT r.scope AS scope, r.${key} AS ${key}, r.operation AS operation FROM samekey_records r
    WHERE ${isWaiting.replaceAll(/\b(state|created_at)\b/g, 'r.$1')} AND r.attempt > 0
      AND NOT EXISTS (SELECT 1 FROM samekey_messages m WHERE m.scope = r.scope AND m.${key} = r.${key})
    ORDER BY r.created_at LIMIT ${HANDED_OVER_MAX}`);
  return {
    groups: groups.map((row) => ({
      state: textAt(row, 'state'),
      isBegun: Number(row['begun']) === 1,
      count: Number(row['n']),
      firstLockedUntil: numberAt(row, 'locked_until') ?? now,
      over: Number(row['over_long']),
      far: Number(row['far']),
      old: Number(row['old']),
      givenUp: Number(row['given_up']),
      tired: Number(row['tired']),
      openIntents: Number(row['open_intents']),
    })),
    waitingOperations: waiting.map((row) => textAt(row, 'operation')),
    handedOver: handed.map((row) => ({
      scope: textAt(row, 'scope'),
      key: textAt(row, 'key'),
      operation: textAt(row, 'operation'),
    })),
    isPart: false,
  };
}

async function byPages({ operator }: Outline, now: number): Promise<OpenRecords> {
  const found: SamekeyRecord[] = [];
  let createdBefore: number | undefined;
  let isPart = true;
  while (found.length < PAGED_MAX) {
    const page = await operator.list({
      states: ['pending', 'in_progress', 'retryable', 'unknown'],
      limit: PAGE,
      ...(createdBefore === undefined ? {} : { createdBefore }),
    });
    found.push(...page);
    isPart = page.length === PAGE;
    if (!isPart) break;
    createdBefore = page.at(-1)?.createdAt;
  }
  const groups = new Map<string, SamekeyRecord[]>();
  for (const record of found) {
    const name = `${record.state} ${record.attempt > 0}`;
    groups.set(name, [...(groups.get(name) ?? []), record]);
  }
  const waiting = found
    .filter(({ state, createdAt }) => state === 'pending' && createdAt < now - PENDING_LONG_MS)
    .toReversed();
  return {
    groups: [...groups.values()].map((records) => summed(records, now)),
    waitingOperations: [
      ...new Set(waiting.filter(({ attempt }) => attempt === 0).map(({ operation }) => operation)),
    ].slice(0, NAMED_MAX),
    handedOver: waiting.filter(({ attempt }) => attempt > 0).slice(0, HANDED_OVER_MAX),
    isPart,
  };
}

function summed(records: readonly SamekeyRecord[], now: number): Open {
  const count = (test: (record: SamekeyRecord) => boolean): number => records.filter(test).length;
  return {
    state: records[0]?.state ?? '',
    isBegun: (records[0]?.attempt ?? 0) > 0,
    count: records.length,
    firstLockedUntil: Math.min(...records.map(({ lockedUntil }) => lockedUntil)),
    over: count(({ lockedUntil }) => lockedUntil < now - CLAIM_OVER_LONG_MS),
    far: count(({ lockedUntil }) => lockedUntil > now + CLAIM_FAR_MS),
    old: count(({ createdAt }) => createdAt < now - PENDING_LONG_MS),
    givenUp: count(({ reconcileAfter }) => (reconcileAfter ?? 0) > now + FAR_MS),
    tired: count(({ attempt }) => attempt >= TIRED_ATTEMPTS),
    openIntents: count(({ intentAt }) => intentAt !== null && intentAt < now - INTENT_LONG_MS),
  };
}
