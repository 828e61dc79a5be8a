/**
 * Sweeping, reaping, and what is due: the indexes say which records may be meant, and each is then moved by a
 * compare-and-set of its own. Two that do the same at once never move the same record: one of them finds it changed.
 */

import { compareDue, isDue, type SamekeyRecord } from '../../core/record.ts';
import { serverView } from '../../store/machine/index.ts';
import type { LifecycleStore } from '../../store/store.ts';
import { type Take, takenOf } from '../verbs/change.ts';
import { createDue, createReap, createSweep, createTakeUnknown, type DueWork } from '../verbs/upkeep.ts';
import type { Keys, Place } from './key-names.ts';
import type { Rows } from './rows.ts';
import { scriptOf, type Server } from './server.ts';
import type { Entry, Shards } from './shards.ts';
import { REAP } from './statements.ts';

/** Records of one call at most, so that one pipeline stays short. */
const ROWS_MAX = 1_000;
/** Unknown outcomes that one take looks through at most for those of the operations it asks for. */
const ASK_LOOK_MAX = 10_000;
const DUE_PAGE = 200;

/** What is due, as the index tells of it: without its input. */
interface DueEntry {
  readonly place: Place;
  readonly record: SamekeyRecord;
}

const reapScript = scriptOf(REAP);

/** Makes the lifecycle's verbs. */
export function createUpkeep(
  server: Server,
  keys: Keys,
  rows: Rows,
  shards: Shards,
  time: () => string,
): Omit<LifecycleStore, 'postpone'> {
  /** Those that somebody else changed in between are left out. */
  const take: Take<Entry> = async (entries, decide) => {
    const found = await rows.readReadable(entries.map(({ place }) => place));
    return takenOf(
      await Promise.all(
        found.map(async (seen) => {
          const decision = seen === null ? undefined : decide(seen.record, serverView(seen.record, seen.now));
          if (seen === null || decision?.write === undefined) return undefined;
          return (await rows.write(keys.of(seen.record), seen, decision.write)) ? decision.result : undefined;
        }),
      ),
    );
  };

  async function due(request: DueWork): Promise<readonly SamekeyRecord[]> {
    const { operations, limit, after, ...backoff } = request;
    const found = await Promise.all(keys.shards.map((shard) => dueIn(shard)));
    const oldest = found
      .flat()
      .toSorted((a, b) => compareDue(a.record, b.record))
      .slice(0, limit);
    const whole = await rows.readReadable(oldest.map(({ place }) => place));
    return whole.flatMap((seen) =>
      seen !== null && isDue(seen.record, seen.now, backoff) ? [seen.record] : [],
    );

    /** The first ones of a shard, and all that were made in the millisecond of the last. */
    async function dueIn(shard: number): Promise<readonly DueEntry[]> {
      const kept: DueEntry[] = [];
      const from = after ? String(after.createdAt) : '-inf';
      for (let offset = 0; ; offset += DUE_PAGE) {
        const page = await shards.stretch(shard, 'due', 'up', from, offset, DUE_PAGE);
        if (page.length === 0) return kept;
        const records = await shards.look(page.map(({ place }) => place));
        const [clock] = await rows.read([(page[0] as Entry).place]);
        for (const [n, { place }] of page.entries()) {
          const record = records[n] ?? null;
          if (record === null || clock === null || clock === undefined) continue;
          const last = kept[limit - 1]?.record;
          if (last !== undefined && record.createdAt > last.createdAt) return kept;
          if (!operations.includes(record.operation) || (after && compareDue(record, after) <= 0)) continue;
          // Whatever is in this index has its input.
          if (isDue({ ...record, input: NOT_LOADED }, clock.now, backoff)) kept.push({ place, record });
        }
        if (page.length < DUE_PAGE) return kept;
      }
    }
  }

  async function unknownDue(operations: readonly string[] | null, limit: number): Promise<readonly Entry[]> {
    const most = Math.min(limit, ROWS_MAX);
    // Those of operations that nobody asked for must not hide what stands behind them.
    const ripe = await shards.ripe('ask', 0, operations === null ? most : ASK_LOOK_MAX);
    const wanted: Entry[] = [];
    for (let at = 0; at < ripe.length && wanted.length < most; at += DUE_PAGE) {
      const page = ripe.slice(at, at + DUE_PAGE);
      if (operations === null) {
        wanted.push(...page);
        continue;
      }
      const records = await shards.look(page.map(({ place }) => place));
      for (const [n, entry] of page.entries()) {
        const record = records[n] ?? null;
        if (record !== null && operations.includes(record.operation)) wanted.push(entry);
      }
    }
    return wanted.slice(0, most);
  }

  return {
    sweep: createSweep({
      take,
      async over(limit, unknownMaxMs) {
        const most = Math.min(limit, ROWS_MAX);
        const open = await shards.ripe('open', 0, most);
        return [...open, ...(await shards.ripe('lost', unknownMaxMs, most - open.length))];
      },
    }),
    due: createDue(due),
    takeUnknown: createTakeUnknown(take, unknownDue),
    reap: createReap({
      async reap(limit) {
        const entries = await shards.ripe('reap', 0, Math.min(limit, ROWS_MAX));
        const gone = await Promise.all(
          entries.map(({ place, scope }) => server.run(reapScript, place.keys, [place.id, time(), scope])),
        );
        return entries.filter((_, n) => gone[n]?.[0] === 1).map(({ scope }) => scope);
      },
    }),
  };
}

const NOT_LOADED = new Uint8Array(0);
