/**
 * Waits until replicas have what is about to be acknowledged (`requireReplicas`). WAIT counts those that have the last write of its
 * connection; so each record is written once more before it, without a change, and only if it still is ours: whoever repeats a
 * call over a new connection, or meets a server that was a replica a moment ago, is not told of replicas that have something else.
 *
 * Invariant: what too few replicas have is not acknowledged: a claim is undone, an end of an attempt is left unclear, and its repeat
 * asks again. Source: https://redis.io/docs/latest/commands/wait/.
 */

import { StoreError } from '../../core/errors.ts';
import { decideFinish, type Decision, type View } from '../../core/machine.ts';
import type { Fence, RecordId, SamekeyRecord } from '../../core/record.ts';
import type { ClaimRequest, ClaimResult, FinishRequest, FinishResult } from '../../core/store.ts';
import type { Keys } from './keys.ts';
import type { Connection } from './redis-client.ts';
import { storeError } from './redis-errors.ts';
import type { Rows } from './rows.ts';
import { scriptOf, type Server } from './server.ts';
import { TOUCH } from './statements.ts';

/** Checks what is about to be acknowledged. Both throw `StoreError` when too few replicas have it. */
export interface Replicas {
  haveClaims(requests: readonly ClaimRequest[], results: readonly ClaimResult[]): Promise<void>;
  haveEnds(requests: readonly FinishRequest[], results: readonly FinishResult[]): Promise<void>;
}

const touch = scriptOf(TOUCH);

/** Makes it, for `least` replicas and a wait of `timeMaxMs`. */
export function createReplicas(
  connection: Connection,
  server: Server,
  keys: Keys,
  rows: Rows,
  least: number,
  timeMaxMs: number,
): Replicas {
  async function have(ours: readonly (RecordId & Pick<Fence, 'claimId'>)[]): Promise<boolean> {
    const places = ours.map((one) => keys.of(one));
    const touched = await Promise.all(
      places.map((place, n) =>
        server.run(touch, place.keys.slice(0, 1), [(ours[n] as (typeof ours)[number]).claimId]),
      ),
    );
    if (!touched.every(([isThere]) => isThere === 1)) return false;
    const waits = new Map(
      places.map((place) => [connection.isCluster ? place.shard : 0, place.keys[0] as string]),
    );
    const args = [String(least), String(timeMaxMs)];
    const counts = await Promise.all(
      [...waits.values()].map(async (key) => connection.wait?.(key, 'WAIT', args)),
    );
    return counts.every((count) => typeof count === 'number' && count >= least);
  }

  /** As `have`; what cannot be asked is not there. */
  async function haveOrNot(ours: readonly (RecordId & Pick<Fence, 'claimId'>)[]): Promise<boolean> {
    try {
      return await have(ours);
    } catch {
      return false;
    }
  }

  return {
    async haveClaims(requests, results) {
      const granted = requests.filter((_, n) => ['claimed', 'accepted'].includes(results[n]?.kind ?? ''));
      if (granted.length === 0 || (await haveOrNot(granted))) return;
      try {
        await rows.apply(granted, { decide: undo });
      } catch (error) {
        throw tooFew('unknown', storeError(error));
      }
      throw tooFew('no');
    },
    async haveEnds(requests, results) {
      const ended = requests.filter((_, n) => ['applied', 'already'].includes(results[n]?.kind ?? ''));
      if (ended.length === 0 || (await haveOrNot(ended))) return;
      throw tooFew('unknown');
    },
  };

  function tooFew(applied: 'no' | 'unknown', cause?: StoreError): StoreError {
    return new StoreError(
      `Fewer than ${least} replicas of Redis had the write within ${timeMaxMs} ms: bring replicas back, or lower requireReplicas.`,
      { applied, busy: true, ...(cause && { cause }) },
    );
  }
}

/** Takes a claim back that nobody was told of: nothing has begun under it. */
function undo(
  record: SamekeyRecord | null,
  { scope, key, claimId }: ClaimRequest,
  view: View,
): Decision<undefined> {
  const isOurs =
    record?.claimId === claimId && (record.state === 'in_progress' || record.state === 'pending');
  if (!isOurs) return { write: undefined, result: undefined };
  if (record.attempt <= 1) return { write: null, result: undefined };
  const { write } = decideFinish(
    record,
    {
      scope,
      key,
      claimId,
      attempt: record.attempt,
      to: 'retryable',
      proof: 'declared',
      reason: 'too-few-replicas',
      response: null,
      unbindFingerprint: false,
      extendMs: 0,
      reconcileAfterMs: 0,
      handedOver: false,
    },
    view,
  );
  return { write, result: undefined };
}
