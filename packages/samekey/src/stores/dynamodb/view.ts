/**
 * What this process knows of a record's claim: by its own watch where somebody may run under it, by the shared time
 * where nobody does. As in the SQLite store, which has no clock either.
 */

import { type ClaimWatch, heldBack, type WatchedClaim } from '../../store/time/claim-watch.ts';
import type { View } from '../../store/machine/index.ts';
import type { SharedTimes } from '../../store/time/shared-time.ts';
import type { RecordId, SamekeyRecord } from '../../core/record.ts';

/** Looks at records, and watches them from then on. */
export interface Views {
  of(record: SamekeyRecord | null, times: SharedTimes): View;
  /** The record stands so now: written (`true`) or found. */
  stands(id: RecordId, record: SamekeyRecord | null, isWritten: boolean): void;
}

/** Makes them on a watch. */
export function createViews(watch: ClaimWatch): Views {
  function leftMs(record: SamekeyRecord | null, now: number): number {
    if (record?.state === 'in_progress') return watch.see(record);
    if (record?.state === 'pending') return Math.max(0, record.lockedUntil - now);
    const back = heldBack(record);
    return back === null ? 0 : watch.see(back);
  }

  return {
    of(record, times) {
      const claimLeftMs = leftMs(record, times.now);
      return { ...times, claimOver: claimLeftMs === 0, claimLeftMs };
    },
    stands(id, record, isWritten) {
      const back = heldBack(record);
      if (record?.state === 'in_progress') {
        if (isWritten) watch.restart(record);
      } else if (back !== null) watch.see(back);
      else watch.drop(id);
    },
  };
}

/** What is watched of who asks about an unknown outcome. */
export function asked(record: SamekeyRecord, leaseMs: number): WatchedClaim {
  return { ...record, renewals: record.inquiries, claimTtlMs: leaseMs };
}
