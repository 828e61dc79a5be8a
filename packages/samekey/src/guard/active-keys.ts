/**
 * How many keys a caller may have stored at once. Counted beside the requests: each process keeps what it has added
 * since its last flush, and looks at the store's counts when it flushes, once a second while there is anything to add.
 *
 * Invariants: a request waits for the store only when its caller is met for the first time or is full · what other
 * processes add is seen with the next flush, so a caller may go beyond the limit by what they add within it · a count
 * that went wrong (a process died, a key expired and began anew) is trued up by a recount · bounded in callers.
 */

import type { Counters } from '../store/counters.ts';
import { OptionsError } from '../core/errors.ts';
import type { Room } from '../core/limits.ts';
import {
  anything,
  having,
  nested,
  readOptions,
  required,
  type Row,
  type Table,
  wholeNumber,
} from '../core/options.ts';
import type { Store } from '../store/store.ts';
import type { Timer, World } from '../core/world.ts';
import { systemWorld } from '../system.ts';

/** A limit of stored keys. */
export interface ActiveKeysOptions {
  /** The store that keeps the records, for its counts: in memory, SQLite or PostgreSQL. */
  readonly store: Pick<Store, 'name' | 'counters'>;
  /** How many keys one caller may have stored, expired ones that are not reaped yet included. */
  readonly max: number;
  /**
   * How often what this process added is written down and what others added is looked at, in milliseconds; default
   * 1,000.
   */
  readonly flushMs?: number;
  /** How often a caller that has half its keys is counted anew by this process, in milliseconds; default 600,000. */
  readonly recountMs?: number;
  /** Clock, timers, jitter; default `systemWorld()`. For tests. */
  readonly world?: Pick<World, 'monotonicNow' | 'setTimer' | 'random'>;
}

/** The limit at work. */
interface ActiveKeys {
  take(caller: string): Promise<Room>;
  /** Writes down what this process has added. */
  flush(): Promise<void>;
}

interface Entry {
  /** What the store said. */
  stored: number;
  /** Added since, not written down. */
  pending: number;
  /** Being written down. */
  flushing: number;
  /** Asked for, and not known whether new. */
  reserved: number;
  readAt: number;
  recountAt: number;
  loading: Promise<void> | null;
}

const CALLERS_MAX = 10_000;
/** Nothing is known of when a key expires: as long as any answer says. */
const FULL_FOR_MS = 60_000;

const ROWS = {
  store: required(anything<ActiveKeysOptions['store']>()),
  max: required(wholeNumber(1)),
  flushMs: wholeNumber(1, undefined, 1_000),
  recountMs: wholeNumber(1, undefined, 600_000),
  world: having<NonNullable<ActiveKeysOptions['world']>>(
    ['monotonicNow', 'setTimer', 'random'],
    'a world: systemWorld(), or one for tests',
  ),
} satisfies Table<ActiveKeysOptions>;

/** These options as a member of others. */
export const ACTIVE_KEYS_ROW: Row<ActiveKeysOptions, undefined> = nested(ROWS);

/** Makes it. Throws `OptionsError`. */
export function createActiveKeys(options: ActiveKeysOptions): ActiveKeys {
  const { store, max, flushMs, recountMs, ...own } = readOptions('activeKeys', ROWS, options);
  const counters = countersOf(store);
  const world = own.world ?? systemWorld();
  const entries = new Map<string, Entry>();
  let timer: Timer | null = null;
  let flushed: Promise<void> = Promise.resolve();

  const isFull = ({ stored, pending, flushing, reserved }: Entry): boolean =>
    stored + pending + flushing + reserved >= max;

  function entryOf(caller: string): Entry {
    const known = entries.get(caller);
    if (known !== undefined) return known;
    if (entries.size >= CALLERS_MAX) makeRoom();
    const now = world.monotonicNow();
    const entry: Entry = {
      stored: 0,
      pending: 0,
      flushing: 0,
      reserved: 0,
      readAt: Number.NEGATIVE_INFINITY,
      recountAt: now + recountMs * (0.5 + world.random()),
      loading: null,
    };
    entries.set(caller, entry);
    return entry;
  }

  /** The oldest that holds nothing; it is read again when it is met again. */
  function makeRoom(): void {
    for (const [caller, entry] of entries) {
      if (entry.pending + entry.flushing + entry.reserved > 0 || entry.loading !== null) continue;
      entries.delete(caller);
      return;
    }
  }

  async function read(callers: readonly string[]): Promise<void> {
    const counts = await counters.read(callers);
    for (const caller of callers) {
      const entry = entries.get(caller);
      if (entry === undefined) continue;
      entry.stored = counts.get(caller) ?? (await counters.recount(caller));
      entry.readAt = world.monotonicNow();
    }
  }

  async function load(caller: string, entry: Entry): Promise<void> {
    const look = async (): Promise<void> => {
      if (entry.pending > 0) return flush();
      await read([caller]);
      // Here too: a caller that is full by a wrong count adds nothing, so no flush would find out.
      await recountOne([caller]);
    };
    entry.loading ??= look().finally(() => {
      entry.loading = null;
    });
    return entry.loading;
  }

  function schedule(): void {
    timer ??= world.setTimer(flushMs, () => {
      timer = null;
      // The store is asked again with the next flush; until then the limit goes by what it knows.
      flush().catch(() => undefined);
    });
  }

  /** One after the other. */
  function flush(): Promise<void> {
    const next = flushed.then(flushOnce, flushOnce);
    flushed = next.catch(() => undefined);
    return next;
  }

  async function flushOnce(): Promise<void> {
    const changes = new Map<string, number>();
    for (const [caller, entry] of entries) {
      if (entry.pending === 0) continue;
      changes.set(caller, entry.pending);
      entry.flushing = entry.pending;
      entry.pending = 0;
    }
    if (changes.size === 0) return;
    try {
      await counters.add(changes);
      end(changes, (entry, change) => (entry.stored += change));
    } catch (error) {
      end(changes, (entry, change) => (entry.pending += change));
      schedule();
      throw error;
    }
    const callers = [...changes.keys()];
    await read(callers);
    await recountOne(callers);
  }

  function end(changes: ReadonlyMap<string, number>, apply: (entry: Entry, change: number) => void): void {
    for (const [caller, change] of changes) {
      const entry = entries.get(caller);
      if (entry === undefined) continue;
      entry.flushing = 0;
      apply(entry, change);
    }
  }

  /** At most one a flush, so that a process never counts for long. */
  async function recountOne(callers: readonly string[]): Promise<void> {
    const now = world.monotonicNow();
    for (const caller of callers) {
      const entry = entries.get(caller);
      if (entry === undefined || entry.recountAt > now || entry.stored < max / 2) continue;
      entry.recountAt = now + recountMs * (0.5 + world.random());
      entry.stored = await counters.recount(caller);
      return;
    }
  }

  return {
    flush,
    async take(caller) {
      const entry = entryOf(caller);
      const isUnread = entry.readAt === Number.NEGATIVE_INFINITY;
      if (isUnread || (isFull(entry) && world.monotonicNow() - entry.readAt >= flushMs)) {
        await load(caller, entry);
      }
      if (isFull(entry)) return { fullForMs: FULL_FOR_MS, end: () => undefined };
      entry.reserved += 1;
      return {
        fullForMs: null,
        end(used) {
          entry.reserved -= 1;
          if (!used) return;
          entry.pending += 1;
          schedule();
        },
      };
    },
  };
}

function countersOf(store: Pick<Store, 'name' | 'counters'> | undefined): Counters {
  if (store?.counters !== undefined) return store.counters;
  throw new OptionsError(
    `activeKeys needs a store that keeps counts: memory, SQLite or PostgreSQL; it has ${store?.name ?? 'none'}.`,
  );
}
