/**
 * Claims given up on: their reply was lost and the client was told 503, so no handler will run under them. They are
 * remembered and released as soon as they are seen, so that a key nobody works on is not held until its claim ends, and
 * does not end as `unknown` although nothing ran (F15).
 *
 * Invariants: bounded in number, and in time by the first look that succeeds after a lost claim can no longer arrive (the
 * store's time-outs bound that): while the store is away nothing is forgotten · released only by the claimId that no handler
 * ever ran under · a claim stays remembered after its release, because a repetition of it may still be under way.
 */

import type { Dispatch } from './dispatch.ts';
import type { Emit } from './events.ts';
import { idText, type RecordId, type SamekeyRecord } from './record.ts';
import type { Timer, World } from './world.ts';

/** What remembers claims that were given up. */
export interface Abandoned {
  add(id: RecordId, claimId: string, operation: string): void;
  /** Whether the record's claim is one of these. */
  has(record: SamekeyRecord): boolean;
  /** Releases the record's claim; true when it is free now. */
  release(record: SamekeyRecord): Promise<boolean>;
  stop(): void;
}

/** One record to look at, and its claims that can no longer arrive. */
interface Look {
  readonly id: RecordId;
  readonly over: string[];
}

const COUNT_MAX = 1_000;
const LOOK_MS = 1_000;

/** Makes the memory of one engine. */
export function createAbandoned(
  world: World,
  dispatch: Dispatch,
  callTimeMaxMs: number,
  emit: Emit,
): Abandoned {
  const claims = new Map<
    string,
    { readonly id: RecordId; readonly operation: string; readonly until: number }
  >();
  let timer: Timer | null = null;

  function schedule(): void {
    timer ??= world.setTimer(LOOK_MS, () => {
      timer = null;
      void look();
    });
  }

  async function look(): Promise<void> {
    const now = world.monotonicNow();
    const looks = new Map<string, Look>();
    for (const [claimId, claim] of claims) {
      const text = idText(claim.id);
      const one = looks.get(text) ?? { id: claim.id, over: [] };
      if (claim.until <= now) one.over.push(claimId);
      looks.set(text, one);
    }
    await Promise.all([...looks.values()].map((one) => lookAt(one, now + callTimeMaxMs)));
    if (claims.size > 0) schedule();
  }

  async function lookAt({ id, over }: Look, deadline: number): Promise<void> {
    try {
      const record = await dispatch.find(id, deadline);
      // Absence proves nothing: the lost claim may still be under way. It is looked for until it can no longer arrive.
      const open = record?.state === 'in_progress' || record?.state === 'unknown';
      if (open && claims.has(record.claimId)) await release(record);
      for (const claimId of over) claims.delete(claimId);
    } catch {
      // The dispatcher has told of the error; the next look tries again.
    }
  }

  async function release(record: SamekeyRecord): Promise<boolean> {
    const claim = claims.get(record.claimId);
    if (claim === undefined) return false;
    const { scope, key, claimId, attempt } = record;
    const result = await dispatch.finish(
      {
        scope,
        key,
        claimId,
        attempt,
        to: 'retryable',
        proof: 'declared',
        reason: 'claim-abandoned',
        response: null,
        unbindFingerprint: false,
        extendMs: 0,
        reconcileAfterMs: 0,
        handedOver: false,
      },
      world.monotonicNow() + callTimeMaxMs,
    );
    if (result.kind === 'applied')
      emit?.({ type: 'claim-released', id: claim.id, operation: claim.operation });
    return result.kind === 'applied' || result.kind === 'already';
  }

  return {
    add(id, claimId, operation) {
      // The oldest is the likeliest to have been settled by the end of its claim.
      const oldest = claims.size >= COUNT_MAX ? claims.keys().next().value : undefined;
      if (oldest !== undefined) claims.delete(oldest);
      claims.set(claimId, { id, operation, until: world.monotonicNow() + LATE_FACTOR * callTimeMaxMs });
      emit?.({ type: 'claim-abandoned', id, operation });
      schedule();
    },
    has: (record) => claims.has(record.claimId),
    release,
    stop() {
      claims.clear();
      timer?.cancel();
    },
  };
}

/** A statement ends by its own time-out; this many of them is far beyond the latest arrival. */
const LATE_FACTOR = 15;
