/**
 * How many keys of a caller are stored, near enough: counts beside the records, added to in groups and trued up now and
 * then, so that a limit costs no request a count. Optional in a store.
 *
 * Invariants: nothing is decided by a count but a limit · a count that is off is so by what was added since it was
 * read, or lost with a process, until the next `recount` · a store takes off what it deletes by itself, whoever asked
 * it to.
 */

import { callerOf } from '../core/scope.ts';

/** By caller, as `callerOf` gives them. */
export type Counts = ReadonlyMap<string, number>;

/** The counts of a store. They throw `StoreError`. */
export interface Counters {
  /** Adds keys. What is negative is taken off callers that have been counted before, and off no others. */
  add(changes: Counts): Promise<void>;
  /** The counts of those that have been counted before. */
  read(callers: readonly string[]): Promise<Counts>;
  /** Counts a caller's records, expired ones too, and keeps that. Its cost grows with their number. */
  recount(caller: string): Promise<number>;
}

/**
 * Takes deleted records off the counts, by their scopes. Counts are no reason for a deletion to fail: the next recount
 * knows.
 */
export async function takeOff(
  counters: Counters,
  deleted: Iterable<readonly [scope: string, records: number]>,
): Promise<void> {
  const changes = new Map<string, number>();
  for (const [scope, records] of deleted) {
    const caller = callerOf(scope);
    changes.set(caller, (changes.get(caller) ?? 0) - records);
  }
  if (changes.size === 0) return;
  try {
    await counters.add(changes);
  } catch {
    // See above.
  }
}
