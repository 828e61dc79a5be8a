/**
 * One call of an effect as its owner makes it: bounded in time, kept back when it is too late, and told of when its end
 * comes after the record has gone on. And the checkpoint that notes it, as stubborn as the claim allows.
 */

import { type boundsOf, classifyError, type EffectRule } from './effect.ts';
import { FenceLostError, isStoreError, StepError } from '../core/errors.ts';
import { lookingSignal } from './last-look.ts';
import { type CallEnd, contradictionOf, type EndedCall } from './late-call.ts';
import type { Owner } from '../engine/owner.ts';
import { pause } from '../core/pause.ts';
import type { CheckpointRequest, CheckpointResult } from '../store/store.ts';
import type { Timer } from '../core/world.ts';

/** An effect that is to be called, or asked about. */
export interface Effect<Result> {
  readonly name: string;
  readonly rule: EffectRule<Result>;
  readonly callTimeMaxMs: number;
  /** As {@link boundsOf}: of all calls that are one effect. */
  readonly bounds: ReturnType<typeof boundsOf>;
  readonly key: string;
  readonly input: string;
}

/** Between two tries of one checkpoint: at first, and at most, in milliseconds. */
const SAVE_PAUSE_MIN_MS = 10;
const SAVE_PAUSE_MAX_MS = 500;
/** Looks at the record after a call that ended late. */
const LATE_LOOKS_MAX = 6;

/**
 * A call that is waited for so long at most, and not beyond its claim. `ended`: told of errors, of a result that comes
 * too late, and of a call that was given up and has not ended after as long again: nobody will ever know how it did. An
 * engine that closes waits for that: what a call did after its claim was lost would be told by nobody else.
 */
export function bounded<Result>(
  owner: Owner,
  timeMaxMs: number,
  run: (signal: AbortSignal) => Promise<Result>,
  ended?: (end: CallEnd) => Promise<unknown>,
): Promise<Result> {
  const { attempt, world } = owner;
  const own = new AbortController();
  const [startedAt, startedWallAt] = [world.monotonicNow(), world.wallNow()];
  return new Promise((resolve, reject) => {
    let isLate = false;
    let hasEnded = false;
    let endless: Timer | undefined;
    let heard: (() => void) | undefined;
    const tell = (end: CallEnd): void => {
      if (ended !== undefined) owner.track(ended(end));
      heard?.();
    };
    const giveUp = (reason: Error): void => {
      // Code that keeps its signal asks it also after its end.
      if (hasEnded) return own.abort(reason);
      if (isLate) return;
      isLate = true;
      if (ended !== undefined) owner.track(new Promise<void>((resolveHeard) => (heard = resolveHeard)));
      endless = world.setTimer(timeMaxMs, () => tell({ error: reason }));
      own.abort(reason);
      reject(reason);
    };
    const timeUp = (): void =>
      giveUp(new StepError(`The call took longer than callTimeMaxMs (${timeMaxMs} ms).`));
    const signal = lookingSignal(own, () => {
      const passedMs = Math.max(world.monotonicNow() - startedAt, world.wallNow() - startedWallAt);
      if (passedMs >= timeMaxMs) timeUp();
    });
    const timer = world.setTimer(timeMaxMs, timeUp);
    const lost = (): void => giveUp(new FenceLostError());
    attempt.signal.addEventListener('abort', lost, { once: true });
    (async () => run(signal))()
      .then(
        (result) => (isLate ? tell({ result }) : resolve(result)),
        (error: unknown) => {
          tell({ error });
          reject(error);
        },
      )
      .finally(() => {
        hasEnded = true;
        timer.cancel();
        endless?.cancel();
        attempt.signal.removeEventListener('abort', lost);
      });
  });
}

/**
 * A call ended when it was no longer waited for, or when its claim was over: if the record has gone on and it cannot be
 * excluded that this happened twice, that is told. An error counts only once the claim is over: before that nobody can
 * have called again. Resolves with whether it was told.
 */
export async function tellLateEnd<Result>(
  owner: Owner,
  effect: Effect<Result>,
  calledAt: number,
  end: CallEnd,
): Promise<boolean> {
  const { rule, name, callTimeMaxMs, bounds } = effect;
  const { attempt, world } = owner;
  if ('error' in end && (!isOver(owner) || (rule.classify ?? classifyError)(end.error) === 'notExecuted'))
    return false;
  const sinceMs = world.monotonicNow() - calledAt + (attempt.left.intentAgeMaxMs ?? 0);
  const isCovered = rule.rule === 'downstreamKey' && sinceMs <= bounds.retentionMs;
  const { fence, createdAt } = attempt;
  const ended: EndedCall = { effect: name, fence, createdAt, end, isCovered };
  for (let looks = 1; ; looks += 1) {
    const record = await owner.look();
    const verdict = record === undefined ? 'not-yet' : contradictionOf(record, ended);
    if (verdict === 'no') return false;
    const isSilent = looks === LATE_LOOKS_MAX && record === undefined;
    if (verdict === 'yes' || isSilent) {
      owner.contradicts(name, record?.state ?? null);
      return true;
    }
    if (looks === LATE_LOOKS_MAX) return false;
    // Who asked before this end calls within its claim, if it calls.
    await pause(world, (attempt.settings.claimTtlMs + callTimeMaxMs) / (LATE_LOOKS_MAX - 2));
  }
}

/**
 * A checkpoint, repeated while the claim lives and the store cannot say that it was made (F70): what is in hand must
 * not be given up for a short fault. Rejects with `StoreError` at the end of that time, or when `isVain`, or for what
 * no repetition mends.
 */
export async function checkpointWhileHeld(
  owner: Owner,
  request: CheckpointRequest,
  isVain: () => boolean,
): Promise<CheckpointResult> {
  const { attempt, world } = owner;
  for (let tries = 1; ; tries += 1) {
    try {
      return await owner.checkpoint(request);
    } catch (error) {
      const isFinal = isStoreError(error) && error.applied === 'no' && !error.transient;
      if (!isStoreError(error) || isFinal || isVain() || isOver(owner) || attempt.onTimeUp === null)
        throw error;
      await pause(world, Math.min(SAVE_PAUSE_MAX_MS, SAVE_PAUSE_MIN_MS * 2 ** tries));
      if (isVain() || isOver(owner)) throw error;
    }
  }
}

/** Whether the claim is somebody else's, or may be. */
function isOver(owner: Owner): boolean {
  return owner.attempt.lost || owner.claimLeftMs() <= 0;
}
