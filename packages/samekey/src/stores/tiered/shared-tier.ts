/**
 * The shared cache, held at arm's length: each call ends in time, a cache that fails is left alone, and what it gives
 * is believed only as far as its entry proves, and only while the store's clock says that it is young.
 *
 * Invariants: an entry is trusted for `trustMs` from when the store *read* its record, by the store's own clock; when
 * it was put, and how long the cache holds it, decides nothing · nothing here rejects · calls under way and their bytes
 * are bounded.
 */

import { type RecordId, type SamekeyRecord } from '../../core/record.ts';
import { type Asked, elapsedMs } from '../../engine/replay-cache.ts';
import { createCircuit } from './circuit.ts';
import { createEntries, type Entries } from './entry.ts';
import type { CacheCounts, Checked, SharedParts } from './options.ts';
import { createTruthClock } from './truth-clock.ts';
import { createWorth } from './worth.ts';

/** A final record that was read earlier, and how long it and the trust in it last, in milliseconds. */
export interface Trusted {
  readonly record: SamekeyRecord;
  readonly lifeLeftMs: number;
  readonly trustLeftMs: number;
}

/** The shared tier of one store. */
interface SharedTier {
  /** Whether to look up before the store is asked. */
  mayAsk(): boolean;
  /** What may be trusted of these, in their order; null for the rest. */
  lookup(ids: readonly RecordId[]): Promise<readonly (Trusted | null)[]>;
  /** What the store has said of claims: how many, and which of them met a final record it was asked for then. */
  saw(claims: number, finals: number): void;
  /** The store has read this record when its clock showed `readAt`. */
  read(record: SamekeyRecord, readAt: number, asked: Asked, isKept: boolean): void;
  /** Takes entries out, as well as the cache does it in time. */
  drop(ids: readonly RecordId[]): Promise<void>;
}

/** Entries on their way into the cache at once; more are not put. */
const FILLS_MAX = 256;
const FILL_BYTES_MAX = 8 * 1024 * 1024;
/** Lookups under way at once: a cache that takes long is not asked more and more. */
const LOOKUPS_MAX = 64;

/** Makes it. */
export function createSharedTier(
  { cache, identity }: SharedParts,
  options: Checked,
  counts: CacheCounts,
): SharedTier {
  const { world, trustMs, cacheTimeMaxMs, entryBytesMax } = options;
  const clock = createTruthClock(world);
  const circuit = createCircuit(world);
  const worth = createWorth(options.replayShareMin);
  let fills = 0;
  let fillBytes = 0;
  let lookups = 0;
  /** Null until the store has said whose records these are: no name can be made before. */
  let entries: Entries | null = null;
  let naming: Promise<Entries> | undefined;

  async function named(): Promise<Entries> {
    if (entries !== null) return entries;
    naming ??= learnt();
    try {
      entries = await naming;
      return entries;
    } finally {
      // After a failure the store is asked again.
      naming = undefined;
    }
  }

  async function learnt(): Promise<Entries> {
    return createEntries(options.secrets, await identity());
  }

  /** What the call gives in time; undefined when it fails or takes too long. */
  function bounded<T>(call: () => Promise<T>): Promise<T | undefined> {
    return new Promise((resolve) => {
      const ended = (value: T | undefined): void => {
        timer.cancel();
        if (value === undefined) {
          counts.sharedFailures += 1;
          circuit.failed();
        } else circuit.succeeded();
        resolve(value);
      };
      let isOver = false;
      const once = (value: T | undefined): void => {
        if (isOver) return;
        isOver = true;
        ended(value);
      };
      // When this process itself was late, the answer may lie in the socket, which is read after timers: one turn more.
      let timer = world.setTimer(cacheTimeMaxMs, () => {
        timer = world.setTimer(1, () => once(undefined));
      });
      asPromise(call).then(once, () => once(undefined));
    });
  }

  function trusted(id: RecordId, bytes: Uint8Array | null | undefined): Trusted | null {
    if (bytes === null || bytes === undefined) {
      counts.sharedMisses += 1;
      return null;
    }
    const entry = bytes instanceof Uint8Array ? (entries?.decode(id, bytes) ?? null) : null;
    const now = clock.atMost();
    if (entry !== null && now !== null) {
      const trustLeftMs = Math.floor(entry.readAt + trustMs - now);
      const lifeLeftMs = entry.record.expiresAt - now;
      // Read later than now: the clock was set back, or the entry is a lie.
      if (entry.readAt <= now && trustLeftMs > 0 && lifeLeftMs > 0)
        return { record: entry.record, lifeLeftMs, trustLeftMs };
    }
    counts.sharedRefused += 1;
    return null;
  }

  function fill(record: SamekeyRecord, readAt: number, ttlMs: number): void {
    if (entries !== null) return put(entries, record, readAt, ttlMs);
    void named().then(
      (known) => put(known, record, readAt, ttlMs),
      () => undefined,
    );
  }

  function put({ encode, nameOf }: Entries, record: SamekeyRecord, readAt: number, ttlMs: number): void {
    const bytes = encode({ record, readAt });
    const isTooMuch = fills >= FILLS_MAX || fillBytes + bytes.length > FILL_BYTES_MAX;
    if (bytes.length > entryBytesMax || isTooMuch) {
      counts.fillsDropped += 1;
      return;
    }
    fills += 1;
    fillBytes += bytes.length;
    counts.fills += 1;
    const name = nameOf(record);
    void bounded(async () => (await cache.put(name, bytes, ttlMs), true)).then(() => {
      fills -= 1;
      fillBytes -= bytes.length;
    });
  }

  return {
    mayAsk() {
      // The clock first: without it nothing could be believed, and the one question of a pause would be wasted.
      if (worth.isWorth && clock.atMost() !== null && lookups < LOOKUPS_MAX && circuit.mayAsk()) return true;
      counts.sharedSkipped += 1;
      return false;
    },
    async lookup(ids) {
      lookups += 1;
      const found = await bounded(async () => {
        const { nameOf } = await named();
        return cache.get(ids.map((id) => nameOf(id)));
      });
      lookups -= 1;
      if (!Array.isArray(found)) return ids.map(() => null);
      return ids.map((id, i) => trusted(id, (found as readonly (Uint8Array | null)[])[i]));
    },
    saw: (claims, finals) => worth.saw(claims, finals),
    read(record, readAt, asked, isKept) {
      clock.learn(asked, readAt);
      const ttlMs = Math.min(trustMs - elapsedMs(world, asked), record.expiresAt - readAt);
      // Asking ends a pause, not filling.
      if (isKept && ttlMs >= 1 && worth.isWorth && circuit.isWell) fill(record, readAt, ttlMs);
    },
    async drop(ids) {
      await bounded(async () => {
        const { nameOf } = await named();
        await cache.drop(ids.map((id) => nameOf(id)));
        return true;
      });
    },
  };
}

/** A cache of somebody's own may throw at once. */
async function asPromise<T>(call: () => Promise<T>): Promise<T> {
  return call();
}
