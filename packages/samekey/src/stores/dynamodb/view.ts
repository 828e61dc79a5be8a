/**
 * What this process knows of a record's claim: by its own watch where somebody may run under it, by the shared time where nobody
 * does. As in the SQLite store, which has no clock either.
 */

import type { ClaimWatch, WatchedClaim } from '../../core/claim-watch.ts';
import type { View } from '../../core/machine.ts';
import { TRUST_MS } from './clock.ts';
import { REOPEN_DELAY_MS, type RecordId, type SamekeyRecord } from '../../core/record.ts';

/** Looks at records, and watches them from then on. */
export interface Views {
  of(record: SamekeyRecord | null, now: number): View;
  /** The record stands so now: written (`true`) or found. */
  stands(id: RecordId, record: SamekeyRecord | null, now: number, isWritten: boolean): void;
}

/** Makes them on a watch. */
export function createViews(watch: ClaimWatch): Views {
  /**
   * The watch on a record that was reopened or forgotten. Seen while the shared time says so, it goes by the watch: a wall clock
   * that is set ahead then shortens nothing, one that stands still lengthens nothing.
   */
  function heldBack(record: SamekeyRecord | null, now: number): WatchedClaim | null {
    if (record?.state !== 'retryable' && record?.state !== 'unknown') return null;
    // Its end is told by the clock of whoever wrote it, which may be ahead of ours by what the shared time leaves open.
    if (record.proof !== 'settled' && record.lockedUntil - now <= TRUST_MS) return null;
    const watched = { ...record, claimId: `held ${record.claimId}`, claimTtlMs: REOPEN_DELAY_MS };
    return record.lockedUntil > now || (record.proof === 'settled' && watch.has(watched)) ? watched : null;
  }

  function leftMs(record: SamekeyRecord | null, now: number): number {
    if (record?.state === 'in_progress') return watch.see(record);
    if (record?.state === 'pending') return Math.max(0, record.lockedUntil - now);
    const held = heldBack(record, now);
    if (held !== null) return watch.see(held);
    return record?.state === 'retryable' ? Math.max(0, record.lockedUntil - now) : 0;
  }

  return {
    of(record, now) {
      const claimLeftMs = leftMs(record, now);
      return { now, claimOver: claimLeftMs === 0, claimLeftMs };
    },
    stands(id, record, now, isWritten) {
      const held = heldBack(record, now);
      if (record?.state === 'in_progress') {
        if (isWritten) watch.restart(record);
      } else if (held !== null) watch.see(held);
      else watch.drop(id);
    },
  };
}

/** What is watched of who asks about an unknown outcome. */
export function asked(record: SamekeyRecord, leaseMs: number): WatchedClaim {
  return { ...record, renewals: record.inquiries, claimTtlMs: leaseMs };
}
