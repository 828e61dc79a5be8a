/**
 * The first screen: what nobody knows and what is stuck, before everything else. Read at most every few seconds,
 * however many look, and by nobody when nobody looks.
 *
 * Invariants: one reading at a time, however long it takes; whoever waits for it longer than its bound hears so · what
 * counts whole tables is done seldom (`restedCount`), and what was counted is told with when.
 */

import type { SamekeyRecord, Store } from 'samekey';
import { isPointer, type MessageQueue, type Operator } from 'samekey/operator';
import { isHandedOver } from 'samekey/internals/core/record';
import type { OperationCount, Overview } from './api.ts';
import { ConsoleFault } from './fault.ts';
import { newest } from './newest-first.ts';
import { pause, restedCount } from './rested-count.ts';
import { isClaimOver, rowOf } from './shown.ts';

/** A store may keep messages. */
export type StoreOfConsole = Store & { readonly messages?: MessageQueue };

/** The newest that are looked at for what runs, and at most so many unknown ones. */
const LOOKED = 1_000;
const ROWS = 20;
/** How old an overview may be that is given again. */
const FRESH_MS = 2_000;
/** Whoever asks waits no longer for a reading; it goes on, and whoever asks later may have it. */
const WAIT_MS = 10_000;
/** Nobody waits longer for counts: those of a short queue are there by then. */
const COUNT_WAIT_MS = 250;
/** A sweeper comes by every ten seconds: before that nothing is stuck. */
const SWEPT_MS = 15_000;

/** Gives overviews. */
export interface OverviewReader {
  /** Throws `StoreError`, and `ConsoleFault` where it takes too long. */
  read(): Promise<Overview>;
  /** How many messages were given up. */
  dead(): Promise<Dead>;
}

type Dead = Pick<Overview, 'dead' | 'deadAt'>;

/** Makes a reader. */
export function overviewReader(
  store: StoreOfConsole,
  operator: Operator,
  {
    countMs,
    told,
    waitMs = WAIT_MS,
  }: {
    readonly countMs: number;
    /** Hears why something cannot be counted. */
    readonly told: (error: unknown) => void;
    readonly waitMs?: number;
  },
): OverviewReader {
  const { messages } = store;
  const counts = restedCount(() => store.count(), { everyMs: countMs, waitMs: 0, told });
  const letters = restedCount(async () => (await messages?.count()) ?? [], {
    everyMs: 0,
    waitMs: COUNT_WAIT_MS,
    told,
  });
  async function dead(): Promise<Dead> {
    const counted = await letters();
    const those = (counted?.count ?? []).filter(({ state }) => state === 'dead');
    return { dead: those.map(({ topic, count }) => ({ topic, count })), deadAt: counted?.at ?? null };
  }
  async function readAll(): Promise<Overview> {
    const [found, given, counted] = await Promise.all([readOpen(operator), dead(), counts()]);
    const all = counted === null ? null : { byState: counted.count, at: counted.at };
    return { ...found, ...given, counts: all };
  }
  let last: { readonly at: number; readonly overview: Promise<Overview> } | null = null;
  let running: Promise<Overview> | null = null;
  return {
    dead,
    read() {
      if (running !== null) return within(running, waitMs);
      if (last !== null && performance.now() - last.at < FRESH_MS) return last.overview;
      const overview = readAll();
      running = overview;
      overview.then(
        () => {
          running = null;
          last = { at: performance.now(), overview };
        },
        // A failure is told to whoever asked, and to nobody after.
        () => {
          running = null;
        },
      );
      return within(overview, waitMs);
    },
  };
}

async function within(reading: Promise<Overview>, waitMs: number): Promise<Overview> {
  const read = await Promise.race([reading, pause(waitMs)]);
  if (read !== undefined) return read;
  throw new ConsoleFault(
    503,
    'slow',
    `The store has not answered for ${waitMs / 1_000} s. It is asked once, however many look: look again later.`,
  );
}

async function readOpen(operator: Operator): Promise<Omit<Overview, 'counts' | 'dead' | 'deadAt'>> {
  const [unknown, records] = await Promise.all([
    newest(operator, { states: ['unknown'] }, LOOKED, withoutContent),
    newest(operator, {}, LOOKED, withoutContent),
  ]);
  const now = Date.now();
  const open = records.filter((record) => !isPointer(record) && isOpen(record));
  return {
    now,
    unknown: unknown.slice(0, ROWS).map(rowOf),
    stuck: open
      .filter((record) => isStuck(record, now))
      .slice(0, ROWS)
      .map(rowOf),
    operations: byOperation([...unknown, ...open], now),
    looked: records.length,
    isCut: unknown.length === LOOKED,
  };
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
