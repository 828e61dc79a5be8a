/**
 * The watch on claims, for stores without a clock of their own (contract §3.5): a claim is over only when this process
 * itself has seen it (life, attempt, claimId, renewals) stand still for the claim's length on its own monotonic clock.
 * Wrong wall clocks cannot take a claim away (F45); a process that has just started must watch for one claim's length
 * first.
 */

import { type Fence, idText, isByHand, type RecordId, type SamekeyRecord } from '../../core/record.ts';

/** What a watch looks at. */
export interface WatchedClaim extends RecordId, Fence {
  readonly createdAt: number;
  readonly renewals: number;
  readonly claimTtlMs: number;
}

/** Watches claims stand still. */
export interface ClaimWatch {
  /** What the claim has left in milliseconds, 0 when it is over; the first sight starts the watch. */
  see(claim: WatchedClaim): number;
  /** Whether it is being watched as it is. */
  has(claim: WatchedClaim): boolean;
  /** The claim is granted or renewed now: whatever was seen of it before no longer counts. */
  restart(claim: WatchedClaim): void;
  /** The record is no longer in progress. */
  drop(id: RecordId): void;
}

/** Claims watched at once; about 20 MB. Past it the oldest is forgotten and ends later than it could, never earlier. */
export const WATCHED_MAX = 100_000;

/** Makes a watch on a monotonic clock in milliseconds. */
export function createClaimWatch(monotonicNow: () => number, watchedMax: number = WATCHED_MAX): ClaimWatch {
  const seen = new Map<string, { readonly mark: string; readonly since: number }>();

  function restart(claim: WatchedClaim): void {
    const id = idText(claim);
    seen.delete(id);
    const oldest = seen.size >= watchedMax ? seen.keys().next().value : undefined;
    if (oldest !== undefined) seen.delete(oldest);
    seen.set(id, { mark: markOf(claim), since: monotonicNow() });
  }

  return {
    see(claim) {
      const sight = seen.get(idText(claim));
      if (sight?.mark !== markOf(claim)) {
        restart(claim);
        return claim.claimTtlMs;
      }
      return Math.max(0, Math.ceil(claim.claimTtlMs - (monotonicNow() - sight.since)));
    },
    has: (claim) => seen.get(idText(claim))?.mark === markOf(claim),
    restart,
    drop: (id) => void seen.delete(idText(id)),
  };
}

/**
 * The watch on a record that nobody works on and that may not run yet; null: nothing holds it back.
 *
 * Only what was reopened or forgotten by hand may not: answers may still be replayed elsewhere. It is watched, from
 * when this process first sees it, for the time that the record says: whoever did it may know an older time than this
 * process, by as much as the store was silent. Of any other record that may run again `lockedUntil` tells when its
 * attempt ended. That is past, also where this process believes an earlier time.
 */
export function heldBack(record: SamekeyRecord | null): WatchedClaim | null {
  if (record?.state !== 'retryable' && record?.state !== 'unknown') return null;
  if (!isByHand(record) || record.claimTtlMs === 0) return null;
  // Not the watch on its claim, which may have begun long ago.
  return { ...record, claimId: `held ${record.claimId}` };
}

/**
 * What must stand still. A repetition of a claim may arrive late, when the record has gone on without it: the same
 * claimId then holds a later attempt, or the key's next life, and its time begins anew.
 */
function markOf({ claimId, attempt, renewals, createdAt }: WatchedClaim): string {
  return `${attempt}.${renewals}.${createdAt} ${claimId}`;
}
