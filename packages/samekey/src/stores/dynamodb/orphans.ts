/**
 * Bodies that no record names: left by a process that died between body and record, or by TTL, which deletes the record
 * only. Found by going through the names that this table has put, which say whose they were; another table's are never
 * looked at.
 *
 * Invariant: one is deleted only after this process has seen it without its record for longer than any write may take,
 * by its monotonic clock: a body is put before its record, and no wall clock can be asked how long ago.
 */

import { OptionsError } from '../../core/errors.ts';
import { readOptions, type Table, wholeNumber } from '../../core/options.ts';
import { placesIn, type TableBodies } from './bodies.ts';
import { type Calls, inParallel } from './calls.ts';
import type { Item } from './client.ts';

/** What `reapBodies` is told. */
export interface ReapBodiesRequest {
  /** Names that one call goes through; default 1,000. The next goes on where it stopped. */
  readonly limit?: number;
  /**
   * For how long a body must have been seen without a record, in milliseconds; default 1 h, at least ten minutes.
   */
  readonly orphanedForMs?: number;
}

/** What it did. */
export interface ReapedBodies {
  /** Names that were gone through; fewer than `limit`: the end was reached. */
  readonly looked: number;
  /** Without a record, and not yet for long enough. */
  readonly watched: number;
  readonly deleted: number;
}

/** Longer than a transaction with all of its tries may take to write the record of its body. */
const ORPHANED_FOR_MIN_MS = 600_000;

const ROWS = {
  limit: wholeNumber(1, 10_000, 1_000),
  orphanedForMs: wholeNumber(ORPHANED_FOR_MIN_MS, undefined, 3_600_000),
} satisfies Table<ReapBodiesRequest>;

/** Orphans remembered; further ones are seen the next time. */
const WATCHED_MAX = 100_000;

/** Makes what goes through them. */
export function createOrphans(
  calls: Calls,
  bodies: TableBodies | undefined,
  atOnceMax: number,
  monotonicNow: () => number,
): (request?: ReapBodiesRequest) => Promise<ReapedBodies> {
  const seenAt = new Map<string, number>();
  let reached: string | null = null;

  async function isNamed(name: string): Promise<boolean> {
    const key: Item = { pk: { S: `r|${name.split('/')[1]}` }, sk: { S: '-' } };
    const { Item: item } = (await calls.read('getItem', { Key: key, ConsistentRead: true })) as {
      Item?: Item;
    };
    return placesIn(item ?? null).includes(name);
  }

  return async (request) => {
    if (bodies?.list === undefined) {
      throw new OptionsError(
        'reapBodies needs bodies that can be listed: s3Bodies, fileBodies, or a list() of yours.',
      );
    }
    const { limit, orphanedForMs } = readOptions('reapBodies', ROWS, request);
    const names = await bodies.list(reached, limit);
    reached = names.length < limit ? null : (names.at(-1) ?? null);
    const kept = bodies;
    const found = await inParallel(names, atOnceMax, async (name) => {
      if (await isNamed(name)) {
        seenAt.delete(name);
        return 'named';
      }
      const now = monotonicNow();
      const since = seenAt.get(name);
      if (since === undefined && seenAt.size < WATCHED_MAX) seenAt.set(name, now);
      if (since === undefined || now - since < orphanedForMs) return 'watched';
      await kept.discard([name]);
      seenAt.delete(name);
      return 'deleted';
    });
    const count = (what: string): number => found.filter((each) => each === what).length;
    return { looked: names.length, watched: count('watched'), deleted: count('deleted') };
  };
}
