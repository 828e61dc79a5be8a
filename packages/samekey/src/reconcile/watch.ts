/**
 * How long this process has seen an outcome unknown, by its own monotonic clock. For stores whose clock is the
 * machine's: a clock that was set forward must not make "no effect" count too early (F45).
 *
 * Invariant: bounded; what has to be dropped is watched anew, so time is only ever counted too short.
 */

import { idText, type RecordId } from '../core/record.ts';
import type { World } from '../core/world.ts';

const WATCHED_MAX = 10_000;

/** How long a record has been watched under its claim, in milliseconds. */
export type Watch = (record: RecordId & { readonly claimId: string }) => number;

/** Begins. */
export function createWatch(world: Pick<World, 'monotonicNow'>): Watch {
  const since = new Map<string, { readonly claimId: string; readonly at: number }>();
  return (record) => {
    const id = idText(record);
    const seen = since.get(id);
    const now = world.monotonicNow();
    if (seen?.claimId === record.claimId) return now - seen.at;
    const oldest = since.keys().next();
    if (since.size >= WATCHED_MAX && oldest.done !== true) since.delete(oldest.value);
    since.set(id, { claimId: record.claimId, at: now });
    return 0;
  };
}
