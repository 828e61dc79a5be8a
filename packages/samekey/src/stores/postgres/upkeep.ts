/**
 * Sweeping and reaping, without an index on anything that a finish changes: such an index (also a partial one on the
 * state) would cost every finish its HOT update. docs/internals/postgres.md has the figures.
 *
 * Open claims are found in two places. Those that were renewed or taken over carry `watched`, and a small index holds
 * only them. All others are younger than their first renewal, so they lie at the new end of the index on created_at,
 * behind a mark before which no such claim is open; it is kept in the database and moves on with each sweep. For what a
 * mark cannot know (the server's clock was set back, a commit hung longer than {@link MARK_MARGIN_MS}), each sweep also
 * reads the next stretch of the whole table.
 *
 * Expired records are found by reap_after, set once at the claim and never later than the true time; a record that is
 * looked at too early gets the true one.
 */

import { decideSweep, UNKNOWN_MAX_MS } from '../../store/machine/index.ts';
import { idText } from '../../core/record.ts';
import type { Counters } from '../../store/counters.ts';
import type { ServerTime } from '../../store/time/server-time.ts';
import type { LifecycleStore, OperatorStore, SweepOptions, Swept } from '../../store/store.ts';
import { exact, number } from '../sql/record-row.ts';
import { createHand } from '../verbs/by-hand.ts';
import { createDue, createReap } from '../verbs/upkeep.ts';
import * as sql from './upkeep-statements.ts';
import type { Link } from './link.ts';
import { textArray } from './parameters.ts';
import type { SqlRow } from './client.ts';
import type { Records } from './records.ts';
import { type Seen, seenOf } from './seen.ts';

/** Rows of created_at's index that one statement reads: some 10 ms, in which renewals wait. */
const STRETCH_ROWS = 20_000;
/** Stretches of one sweep behind the mark: at most 300,000 rows, which is 10,000 claims a second for half a minute. */
const STRETCHES_MAX = 15;
/** The mark stays this far behind the time, because a claim gets its created_at some time before it is committed. */
const MARK_MARGIN_MS = 30_000;
/** Rows one reaping statement looks at. */
const REAP_ROWS_MAX = 1_000;
/** A reap ends after this many statements; the next one goes on. */
const REAP_STATEMENTS_MAX = 100;

/** Makes it. */
export function createUpkeep(
  records: Records,
  { ask }: Link,
  counters: Counters,
  time: ServerTime,
): LifecycleStore & Pick<OperatorStore, 'settle' | 'reopen' | 'forget'> {
  const watched = sql.watchedStatement(records.tables);
  const unwatch = sql.unwatchStatement(records.tables);
  const stretch = sql.stretchStatement(records.tables);
  const readMark = sql.readMarkStatement(records.tables);
  const writeMark = sql.writeMarkStatement(records.tables);
  const neverKnown = sql.neverKnownStatement(records.tables);
  const reapDue = sql.reapStatement(records.tables);
  const dues = sql.dueStatement(records.tables);
  const takeUnknown = sql.takeUnknownStatement(records.tables);
  /** Where the reading of the whole table goes on. */
  let walkedTo = 0;

  async function sweep(limit: number, options: SweepOptions = {}): Promise<readonly Swept[]> {
    const swept: Swept[] = [];
    if (limit < 1) return swept;
    await time.look();
    const end = async (rows: readonly SqlRow[]): Promise<number> => {
      const ended = await endClaims(rows.slice(0, limit - swept.length).map(seenOf), options);
      swept.push(...ended);
      return ended.length;
    };
    await ask(unwatch, []);
    // First: what becomes unknown in this sweep is for the next one.
    const { unknownMaxMs = UNKNOWN_MAX_MS } = options;
    await end(await ask(neverKnown, [String(unknownMaxMs), String(limit)]));
    if (swept.length < limit) await end(await ask(watched, [String(limit)]));
    await sweepYoung(limit - swept.length, end, () => swept.length >= limit);
    if (swept.length < limit) {
      const { over, lastAt, full } = await read(walkedTo, limit - swept.length);
      await end(over);
      walkedTo = full ? lastAt + 1 : 0;
    }
    return swept;
  }

  async function sweepYoung(
    limit: number,
    end: (rows: readonly SqlRow[]) => Promise<number>,
    isEnough: () => boolean,
  ): Promise<void> {
    const before = number((await ask(readMark, []))[0]?.[0] ?? 0);
    let from = before;
    let mark: number | undefined;
    for (let stretches = 0; stretches < STRETCHES_MAX && !isEnough(); stretches += 1) {
      const { over, openAt, aliveAt, lastAt, now, full } = await read(from, limit);
      const allEnded = (await end(over)) === over.length && over.length < limit;
      // The oldest claim that is still open holds the mark.
      mark ??= allEnded ? aliveAt : openAt;
      // The stretch has all rows of its last millisecond. Behind the last one: what is being committed right now. A
      // clock that was set back takes the mark with it.
      from = full ? lastAt + 1 : Math.max(0, now - MARK_MARGIN_MS);
      if (!full) break;
    }
    const after = Math.min(mark ?? from, from);
    if (after !== before) await ask(writeMark, [String(after)]);
  }

  interface Stretch {
    readonly now: number;
    /** When the last row read was created. */
    readonly lastAt: number;
    /** Whether more rows follow. */
    readonly full: boolean;
    /** When the oldest open, unwatched claim among them was created. */
    readonly openAt: number | undefined;
    /** The same without those that are over. */
    readonly aliveAt: number | undefined;
    readonly over: readonly SqlRow[];
  }

  async function read(from: number, limit: number): Promise<Stretch> {
    const rows = await ask(stretch, [String(from), String(STRETCH_ROWS), String(limit)]);
    const [now, count, lastAt, openAt, aliveAt] = (rows[0] ?? []).slice(0, 5);
    return {
      now: number(now),
      lastAt: lastAt === null ? from : number(lastAt),
      full: number(count) >= STRETCH_ROWS,
      openAt: openAt === null ? undefined : number(openAt),
      aliveAt: aliveAt === null ? undefined : number(aliveAt),
      over: rows.filter((row) => row[7] !== null).map((row) => row.slice(5)),
    };
  }

  async function endClaims(seen: readonly Seen[], options: SweepOptions): Promise<readonly Swept[]> {
    const decided = seen.flatMap((row) => {
      const decision = decideSweep(row.record, records.view(row), options);
      return decision === undefined ? [] : [{ seen: row, write: decision.write, result: decision.result }];
    });
    const made = await records.change(ask, decided);
    return decided.filter(({ result }) => made.has(idText(result))).map(({ result }) => result);
  }

  async function reap(limit: number): Promise<readonly string[]> {
    const scopes: string[] = [];
    for (let i = 0; i < REAP_STATEMENTS_MAX && scopes.length < limit; i += 1) {
      const most = Math.min(REAP_ROWS_MAX, limit - scopes.length);
      const rows = await ask(reapDue, [String(most)]);
      for (const [, scope] of rows) if (typeof scope === 'string') scopes.push(scope);
      if (number(rows[0]?.[0] ?? 0) < most) break;
    }
    return scopes;
  }

  return {
    sweep,
    reap: createReap({ look: () => time.look(), reap, counters }),
    due: createDue(async ({ operations, limit, after, backoffMinMs, backoffMaxMs }) => {
      const names = textArray(operations.map(exact));
      const place = [after ? String(after.createdAt) : null, after?.scope ?? null, after?.key ?? null];
      const values = [names, String(limit), String(backoffMinMs), String(backoffMaxMs), ...place];
      return (await ask(dues, values)).map((row) => seenOf(row).record);
    }),
    async takeUnknown({ operations, leaseMs, limit }) {
      if (limit < 1 || operations?.length === 0) return [];
      const names = operations === null ? null : textArray(operations.map(exact));
      const rows = await ask(takeUnknown, [names, String(leaseMs), String(limit)]);
      const taken = rows.map((row) => seenOf(row).record);
      return taken.toSorted((a, b) => (a.reconcileAfter ?? 0) - (b.reconcileAfter ?? 0));
    },
    ...createHand({
      change: (requests, decide, rowOf) => records.apply(ask, requests, decide, rowOf),
      counters,
    }),
  };
}
