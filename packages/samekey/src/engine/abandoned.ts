/**
 * Claims given up on: their reply was lost and the client was told 503, so no handler will run under them. They are
 * remembered and released as soon as they are seen, so that a key nobody works on is not held until its claim ends, and
 * does not end as `unknown` although nothing ran (F15). A process that closes does not wait to see them: it asks for
 * each of them once more and gives back what it is granted, after which a late copy of the lost claim takes nothing
 * (F73).
 *
 * Invariants: bounded in number, and in time by the first look that succeeds after a lost claim can no longer arrive
 * (the store's time-outs bound that): while the store is away nothing is forgotten · released only by the claimId that
 * no handler ever ran under · a claim stays remembered after its release, because a repetition of it may still be under
 * way.
 */

import type { Dispatch } from './dispatch.ts';
import type { Emit } from './events.ts';
import { pause } from '../core/pause.ts';
import { type Fence, idText, type RecordId, type SamekeyRecord } from '../core/record.ts';
import type { ClaimRequest, FinishRequest } from '../store/store.ts';
import type { Timer, World } from '../core/world.ts';

/** What remembers claims that were given up. */
export interface Abandoned {
  /** Claims that may still stand in the store. */
  readonly open: number;
  /** A claim whose reply was lost. */
  add(request: ClaimRequest): void;
  /** A claim that was granted, whose handler never began, and that could not be given back. */
  addGranted(id: RecordId, fence: Fence, operation: string): void;
  /** Whether the record's claim is one of these. */
  has(record: SamekeyRecord): boolean;
  /** Releases the record's claim; true when it is free now. */
  release(record: SamekeyRecord): Promise<boolean>;
  /**
   * Gives back all that are open, for as long as it takes until `deadline` (monotonic); resolves with how many are
   * still open.
   */
  giveBack(deadline: number): Promise<number>;
  stop(): void;
}

/** One record to look at, and its claims that can no longer arrive. */
interface Look {
  readonly id: RecordId;
  readonly over: string[];
}

/** One claim. */
interface Claim {
  readonly id: RecordId;
  readonly operation: string;
  /** From then on it can no longer arrive (monotonic). */
  readonly until: number;
  /** Its attempt, if it was granted. */
  readonly attempt: number | null;
  /** What was asked, without the input, which may be large; null when it was granted. */
  readonly request: ClaimRequest | null;
  /** Whether its key is bound to an input that a repetition would not bring. */
  readonly hadInput: boolean;
  /** Whether it is known not to stand in the store any more. */
  released: boolean;
}

const COUNT_MAX = 1_000;
const LOOK_MS = 1_000;
/** Between two tries to give back, in milliseconds: whoever closes waits for it. */
const GIVE_BACK_PAUSE_MS = 100;

/** Makes the memory of one engine. */
export function createAbandoned(
  world: World,
  dispatch: Dispatch,
  callTimeMaxMs: number,
  emit: Emit,
): Abandoned {
  const claims = new Map<string, Claim>();
  let timer: Timer | null = null;
  let giving = Promise.resolve();

  function open(): [string, Claim][] {
    return [...claims].filter(([, { released }]) => !released);
  }

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
      if (record !== null && isOpen(record) && claims.has(record.claimId)) await release(record);
      for (const claimId of over) claims.delete(claimId);
    } catch {
      // The dispatcher has told of the error; the next look tries again.
    }
  }

  async function release(record: SamekeyRecord): Promise<boolean> {
    const claim = claims.get(record.claimId);
    return claim !== undefined && (await end(claim, record, false));
  }

  async function end(
    claim: Claim,
    { claimId, attempt }: Fence,
    unbindFingerprint: boolean,
  ): Promise<boolean> {
    const result = await dispatch.finish(
      releaseOf(claim.id, { claimId, attempt }, unbindFingerprint),
      world.monotonicNow() + callTimeMaxMs,
    );
    if (result.kind === 'applied')
      emit?.({ type: 'claim-released', id: claim.id, operation: claim.operation });
    const isFree = result.kind === 'applied' || result.kind === 'already';
    claim.released ||= isFree;
    return isFree;
  }

  /** Whatever the store answers is its last word on this claim; it throws when the store does not answer. */
  async function settle(claimId: string, claim: Claim, deadline: number): Promise<void> {
    const { request, attempt } = claim;
    if (request === null) {
      if (attempt !== null) await end(claim, { claimId, attempt }, false);
    } else {
      const now = world.monotonicNow();
      // Absence in a read would prove nothing. Granted anew and given back, the claimId is spent.
      const result = await dispatch.claim(request, Math.min(deadline, now + callTimeMaxMs));
      if (result.kind === 'claimed') {
        // The next request brings its own input, which a first attempt that never began has no claim to.
        const isUnbound = claim.hadInput && request.entry === 'run' && result.attempt === 1;
        await end(claim, { claimId, attempt: result.attempt }, isUnbound);
      } else if (result.kind === 'found' && result.record.claimId === claimId && isOpen(result.record)) {
        await end(claim, result.record, false);
      }
    }
    claim.released = true;
  }

  async function giveAllBack(deadline: number): Promise<void> {
    for (;;) {
      const left = open();
      const now = world.monotonicNow();
      if (left.length === 0 || now >= deadline) return;
      await Promise.allSettled(left.map(([claimId, claim]) => settle(claimId, claim, deadline)));
      if (open().length === 0) return;
      const pauseMs = Math.min(GIVE_BACK_PAUSE_MS, deadline - world.monotonicNow());
      await pause(world, Math.max(0, pauseMs));
    }
  }

  function remember(claimId: string, claim: Claim): void {
    // The oldest is the likeliest to have been settled by the end of its claim.
    const oldest = claims.size >= COUNT_MAX ? claims.keys().next().value : undefined;
    if (oldest !== undefined) claims.delete(oldest);
    claims.set(claimId, claim);
    emit?.({ type: 'claim-abandoned', id: claim.id, operation: claim.operation });
    schedule();
  }

  const lateBy = LATE_FACTOR * callTimeMaxMs;
  return {
    get open() {
      return open().length;
    },
    add(request) {
      const { scope, key, claimId, operation, input } = request;
      remember(claimId, {
        id: { scope, key },
        operation,
        until: world.monotonicNow() + lateBy,
        attempt: null,
        request: input === null ? request : { ...request, input: null },
        hadInput: input !== null,
        released: false,
      });
    },
    addGranted(id, { claimId, attempt }, operation) {
      const until = world.monotonicNow() + lateBy;
      remember(claimId, { id, operation, until, attempt, request: null, hadInput: false, released: false });
    },
    has: (record) => claims.has(record.claimId),
    release,
    async giveBack(deadline) {
      giving = giving.then(() => giveAllBack(deadline));
      await giving;
      return open().length;
    },
    stop() {
      claims.clear();
      timer?.cancel();
    },
  };
}

/** The end of an attempt that never began: the next request may run. */
function releaseOf(id: RecordId, { claimId, attempt }: Fence, unbindFingerprint: boolean): FinishRequest {
  return {
    ...id,
    claimId,
    attempt,
    to: 'retryable',
    proof: 'declared',
    reason: 'claim-abandoned',
    response: null,
    unbindFingerprint,
    extendMs: 0,
    reconcileAfterMs: 0,
    handedOver: false,
  };
}

/** Whether a claim of the record may stand; one that is over ended as `unknown` perhaps. */
function isOpen({ state }: SamekeyRecord): boolean {
  return state === 'in_progress' || state === 'unknown';
}

/** A statement ends by its own time-out; this many of them is far beyond the latest arrival. */
const LATE_FACTOR = 15;
