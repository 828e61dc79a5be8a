/**
 * The first screen: what nobody knows and what is stuck, before everything else. Read at most every few seconds,
 * however many look, and by nobody when nobody looks.
 *
 * Invariants: counting all records reads the whole table, so it is done seldom, one at a time, and takes at most a
 * twentieth of the time · what was counted is told with when.
 */

import type { SamekeyRecord, Store } from 'samekey';
import { isPointer, type MessageQueue, type Operator } from 'samekey/operator';
import { isHandedOver } from 'samekey/internals/core/record';
import type { OperationCount, Overview } from './api.ts';
import { newest } from './newest-first.ts';
import { isClaimOver, rowOf } from './shown.ts';

/** A store may keep messages. */
export type StoreOfConsole = Store & { readonly messages?: MessageQueue };

/** The newest that are looked at for what runs, and at most so many unknown ones. */
const LOOKED = 1_000;
const ROWS = 20;
/** How old an overview may be that is given again. */
const FRESH_MS = 2_000;
/** Counting rests for so many times its own length. */
const REST = 20;
/** A sweeper comes by every ten seconds: before that nothing is stuck. */
const SWEPT_MS = 15_000;

/** Gives overviews. */
export interface OverviewReader {
  read(): Promise<Overview>;
}

/** Makes a reader. */
export function overviewReader(store: StoreOfConsole, operator: Operator, countMs: number): OverviewReader {
  const counts = counter(store, countMs);
  let last: { readonly at: number; readonly overview: Promise<Overview> } | null = null;
  return {
    read() {
      if (last !== null && performance.now() - last.at < FRESH_MS) return last.overview;
      const overview = readOverview(store, operator, counts);
      last = { at: performance.now(), overview };
      // A failure is told to whoever asked, and to nobody after.
      overview.catch(() => {
        last = null;
      });
      return overview;
    },
  };
}

type Counts = () => Overview['counts'];

/** Counts in the background, and gives what was counted last. */
function counter(store: StoreOfConsole, countMs: number): Counts {
  let counted: Overview['counts'] = null;
  let nextAt = 0;
  let isCounting = false;
  return () => {
    if (!isCounting && performance.now() >= nextAt) {
      isCounting = true;
      const from = performance.now();
      void store
        .count()
        .then(
          (byState) => {
            counted = { byState, at: Date.now() };
          },
          // The next try may do it; until then the age tells.
          () => undefined,
        )
        .then(() => {
          isCounting = false;
          nextAt = performance.now() + Math.max(countMs, (performance.now() - from) * REST);
        });
    }
    return counted;
  };
}

async function readOverview(store: StoreOfConsole, operator: Operator, counts: Counts): Promise<Overview> {
  const [unknown, records, dead] = await Promise.all([
    newest(operator, { states: ['unknown'] }, LOOKED, withoutContent),
    newest(operator, {}, LOOKED, withoutContent),
    deadOnes(store),
  ]);
  const now = Date.now();
  const open = records.filter((record) => !isPointer(record) && isOpen(record));
  return {
    now,
    counts: counts(),
    unknown: unknown.slice(0, ROWS).map(rowOf),
    stuck: open
      .filter((record) => isStuck(record, now))
      .slice(0, ROWS)
      .map(rowOf),
    operations: byOperation([...unknown, ...open], now),
    looked: records.length,
    isCut: unknown.length === LOOKED,
    dead,
  };
}

async function deadOnes({ messages }: StoreOfConsole): Promise<Overview['dead']> {
  const counts = (await messages?.count()) ?? [];
  return counts.filter(({ state }) => state === 'dead').map(({ topic, count }) => ({ topic, count }));
}

/** A thousand whole records are a thousand answers in memory. */
function withoutContent(record: SamekeyRecord): SamekeyRecord {
  const { response } = record;
  return {
    ...record,
    input: null,
    steps: null,
    response: response === null ? null : { status: response.status, headers: [], body: null },
  };
}

function isOpen({ state }: SamekeyRecord): boolean {
  return state === 'in_progress' || state === 'pending';
}

function isStuck(record: SamekeyRecord, now: number): boolean {
  const isPast = record.lockedUntil + SWEPT_MS <= now;
  return isPast && (isClaimOver(record, now) || (record.state === 'pending' && !isHandedOver(record)));
}

function byOperation(records: readonly SamekeyRecord[], now: number): readonly OperationCount[] {
  const counts = new Map<string, { unknown: number; running: number; stuck: number; pending: number }>();
  for (const record of records) {
    const of = counts.get(record.operation) ?? { unknown: 0, running: 0, stuck: 0, pending: 0 };
    if (record.state === 'unknown') of.unknown += 1;
    else if (isStuck(record, now)) of.stuck += 1;
    else if (record.state === 'pending') of.pending += 1;
    else of.running += 1;
    counts.set(record.operation, of);
  }
  return [...counts]
    .map(([operation, of]) => ({ operation, ...of }))
    .toSorted((a, b) => b.unknown - a.unknown || b.stuck - a.stuck || b.running - a.running);
}
