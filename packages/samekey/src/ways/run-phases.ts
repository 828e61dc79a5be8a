/**
 * The phased way (contract §5.4): each phase commits its writes, its result and the recovery point together; each
 * effect stores its intent before the call and its result after. A later attempt goes on where this one stopped.
 *
 * Invariants
 * - A recorded phase does not run again; a recorded effect is not called again. What was stored is what is returned.
 * - No call is made without a stored intent and a claim that outlasts it, by the monotonic and the wall clock.
 * - One step at a time, each name once, effects outside of transactions.
 * - Steps that no longer fit the code, or inputs that changed under an intent, stop the attempt: the record becomes
 *   `unknown`.
 */

import type { Ending } from '../engine/attempt.ts';
import { commit, expectWritten, type Transactions } from './commit.ts';
import { comparableBytes } from '../fingerprint/digest.ts';
import { boundsOf, checkRule, classifyError, type EffectCall, type EffectRule, repeatOf } from './effect.ts';
import { bounded, checkpointWhileHeld, type Effect, tellLateEnd } from './effect-call.ts';
import { isStoreError, StepError } from '../core/errors.ts';
import { mayBeUnderWayMs } from './late-call.ts';
import type { Owner } from '../engine/owner.ts';
import { pause } from '../core/pause.ts';
import { createNotes } from './provider-notes.ts';
import { PHASES_CHANGED, type SamekeyRecord } from '../core/record.ts';
import { type NewReference, referenceOf } from '../store/references.ts';
import type { Answer } from './reply.ts';
import {
  downstreamKeyText,
  type IntentCall,
  keptResult,
  openIntent,
  readSteps,
  recoveryPointOf,
  type Step,
  stepsText,
} from './steps.ts';
import { changed, notAwaited, resumable, ruleChanged, type Stop, threw, unknown } from './stops.ts';
import type { CheckpointRequest, CheckpointResult } from '../store/store.ts';
import type { Within } from '../store/transaction.ts';

/** Steps of one operation at most. */
const STEPS_MAX = 100;

/** The steps of one attempt. */
export class Phases<Tx> {
  readonly #owner: Owner;
  readonly #transactions: Transactions<Tx> | null;
  readonly #steps: Step[];
  /** How many of the recorded steps the handler has come by. */
  #passed = 0;
  #recorded: number;
  readonly #names = new Set<string>();
  #running: string | null = null;
  #inTransaction = false;
  #stop: Stop | null = null;
  #ended = false;

  constructor(owner: Owner, transactions: Transactions<Tx> | null, steps: readonly Step[]) {
    this.#owner = owner;
    this.#transactions = transactions;
    this.#steps = [...steps];
    this.#recorded = steps.length;
  }

  /** Whether something has been stored that must not be forgotten. */
  get hasSteps(): boolean {
    return this.#steps.length > 0;
  }

  /** Whether something is stored, or may be while this is asked. */
  get hasBegun(): boolean {
    return this.hasSteps || this.#running !== null;
  }

  async phase<Result>(name: string, body: (tx: Tx, within: Within) => Promise<Result>): Promise<Result> {
    const recorded = this.#begin(name, 'phase');
    try {
      if (recorded !== null) {
        if (recorded.kind !== 'phase') throw this.#stopWith(changed(name));
        return recorded.result as Result;
      }
      return await this.#runPhase(name, body);
    } finally {
      this.#running = null;
    }
  }

  async effect<Result>(
    name: string,
    call: (effect: EffectCall) => Promise<Result>,
    rule: EffectRule<Result>,
  ): Promise<Result> {
    const callTimeMaxMs = checkRule(name, rule as EffectRule<never>, this.#owner.attempt.settings.claimTtlMs);
    const compared = comparableBytes(`The input of the effect "${name}"`, rule.input ?? null);
    const input = await this.#owner.world.sha256(compared);
    const recorded = this.#begin(name, 'effect');
    try {
      if (recorded !== null && recorded.kind !== 'effect') throw this.#stopWith(changed(name));
      if (recorded !== null && recorded.done !== null) return recorded.done.result as Result;
      const before = recorded !== null && !this.#dropSettled();
      const stored = before ? recorded?.call : undefined;
      if (before && repeatOf(stored, rule) === 'other') throw this.#stopWith(ruleChanged(name));
      if (before && recorded?.input !== input) throw this.#stopWith(unknown('effect-input-changed'));
      const bounds = boundsOf(rule as EffectRule<never>, callTimeMaxMs, stored);
      const key = await this.#downstreamKey(name);
      const effect: Effect<Result> = { name, rule, callTimeMaxMs, bounds, key, input };
      if (before) {
        const answer = await this.#follow(effect);
        if (answer !== null) return await this.#done(effect, answer.result, null);
      }
      return await this.#call(effect, call, before);
    } finally {
      this.#running = null;
    }
  }

  /** What became of the attempt, from what the handler returned or threw. */
  end(ended: Answer | { readonly thrown: unknown }): Ending {
    this.#ended = true;
    if ('thrown' in ended) this.#owner.attempt.hear(ended.thrown);
    if (this.#stop !== null) return this.#stop;
    const isRunning = this.#running !== null;
    // Steps that the code no longer has: what they did is not accounted for.
    if (!('thrown' in ended) && !isRunning && this.#passed < this.#recorded) return unknown(PHASES_CHANGED);
    const error = 'thrown' in ended ? ended.thrown : isRunning ? notAwaited(this.#running ?? '') : undefined;
    // A call may have been made, whatever the policy would make of the handler's end.
    if (openIntent(this.#steps) !== null) return resumable('effect-open', error);
    if ('thrown' in ended || isRunning) return threw(error, isRunning || this.hasSteps);
    return { kind: 'answered', ...ended, rolledBack: true };
  }

  /** Checks that the step may begin; returns what is recorded of it. */
  #begin(name: string, kind: Step['kind']): Step | null {
    if (this.#stop !== null) throw new StepError('The attempt has stopped: let the error through.');
    if (this.#ended) throw new StepError(`The handler has ended: await ${kind} "${name}" before it returns.`);
    if (this.#owner.attempt.declared !== null) {
      throw new StepError(
        `notExecuted() was called, and then ${kind} "${name}" was begun: return instead, so that it stays true.`,
      );
    }
    if (this.#inTransaction) {
      throw new StepError(
        kind === 'effect'
          ? `The effect "${name}" was called inside the phase "${this.#running}": its transaction may be rolled back and run again, the call may not. Call it between phases.`
          : `The phase "${name}" was begun inside the phase "${this.#running}": phases do not nest.`,
      );
    }
    if (this.#running !== null) {
      throw new StepError(
        `"${name}" was begun while "${this.#running}" is under way: await one step after the other.`,
      );
    }
    if (typeof name !== 'string' || name === '')
      throw new StepError('A step is named by a text that is not empty.');
    if (this.#names.has(name)) {
      throw new StepError(
        `The name "${name}" is used twice in one operation: results are found by it, so each needs its own.`,
      );
    }
    if (this.#passed >= STEPS_MAX) throw new StepError(`An operation has ${STEPS_MAX} steps at most.`);
    this.#names.add(name);
    this.#running = name;
    const recorded = this.#steps[this.#passed];
    if (this.#passed < this.#recorded && recorded !== undefined) {
      if (recorded.name !== name || recorded.kind !== kind) {
        this.#running = null;
        throw this.#stopWith(changed(name));
      }
      this.#passed += 1;
      return recorded;
    }
    this.#passed += 1;
    return null;
  }

  async #runPhase<Result>(name: string, body: (tx: Tx, within: Within) => Promise<Result>): Promise<Result> {
    const transactions = this.#transactions;
    if (transactions === null) {
      throw new StepError('Phases need transactions: createSamekey({ store, transactions: fromPg(pool) }).');
    }
    await this.#owner.probe('phase.before');
    const ended = await commit<Tx, { readonly step: Step; readonly text: string | null }>(
      this.#owner,
      transactions,
      {
        body: async (tx, within) => {
          let result: unknown;
          this.#inTransaction = true;
          try {
            result = await body(tx, within);
          } finally {
            this.#inTransaction = false;
          }
          const step: Step = { kind: 'phase', name, result: keptResult(name, result) };
          const request = this.#request([...this.#steps, step]);
          expectWritten(await within.checkpoint(request));
          return { step, text: request.steps };
        },
        isThere: (record, { text }) => record.steps === text,
      },
    );
    if (ended.kind === 'rolled-back') throw ended.error;
    if (ended.kind !== 'committed') throw this.#stopWith(ended);
    this.#steps.push(ended.done.step);
    // Its checkpoint was one: the next is made upon it, and not refused at first.
    this.#owner.attempt.renewals += 1;
    await this.#owner.probe('phase.applied');
    return (ended.done.step as { readonly result: unknown }).result as Result;
  }

  /**
   * An intent of which a reconciler or an operator has said that nothing happened: the call is made as if for the first
   * time.
   */
  #dropSettled(): boolean {
    if (this.#owner.attempt.resumed?.proof !== 'settled') return false;
    this.#steps.pop();
    this.#recorded -= 1;
    return true;
  }

  /** The rule of an intent without a result. Resolves with the answer, or null when the call is to be made again. */
  async #follow<Result>(effect: Effect<Result>): Promise<{ readonly result: Result } | null> {
    const { rule, callTimeMaxMs, bounds } = effect;
    const { attempt, world } = this.#owner;
    if (rule.rule === 'reconcile') throw this.#stopWith(unknown('effect-unknown'));
    if (rule.rule === 'downstreamKey') {
      const age =
        (attempt.left.intentAgeMaxMs ?? Number.POSITIVE_INFINITY) +
        (world.monotonicNow() - attempt.startedAt);
      if (age + bounds.timeMaxMs <= bounds.retentionMs) return null;
      throw this.#stopWith(unknown('effect-retention-passed'));
    }
    for (;;) {
      const askedAt = world.monotonicNow();
      let answer: { readonly result: Result } | null;
      try {
        answer = await bounded(this.#owner, callTimeMaxMs, (signal) =>
          rule.inquire({ downstreamKey: effect.key, mayHaveRunBefore: true, signal }),
        );
      } catch (error) {
        throw this.#stopWith(resumable('effect-open', error));
      }
      if (answer !== null) return answer;
      const leftMs = mayBeUnderWayMs({
        sinceBegunMs: askedAt - attempt.startedAt,
        intentAgeMs: attempt.left.intentAgeMs,
        claimTtlMs: attempt.settings.claimTtlMs,
        callTimeMaxMs: bounds.timeMaxMs,
      });
      if (leftMs <= 0) return null;
      await pause(world, leftMs);
    }
  }

  async #call<Result>(
    effect: Effect<Result>,
    call: (effect: EffectCall) => Promise<Result>,
    before: boolean,
  ): Promise<Result> {
    const { name, rule, callTimeMaxMs, key } = effect;
    await this.#noteIntent(effect, before);
    await this.#owner.probe('effect.before');
    // The last look is this one: nothing is awaited between it and the call.
    do await this.#outlast(callTimeMaxMs);
    while (this.#owner.claimLeftMs() < callTimeMaxMs);
    const notes = createNotes(this.#owner.world, callTimeMaxMs, (providerId, isOver) =>
      this.#note(providerId, isOver),
    );
    const calledAt = this.#owner.world.monotonicNow();
    let result: Result;
    try {
      result = await notes.during(() =>
        bounded(
          this.#owner,
          callTimeMaxMs,
          (signal) =>
            call({ downstreamKey: key, mayHaveRunBefore: before, signal, noteProviderId: notes.note }),
          (end) => void tellLateEnd(this.#owner, effect, calledAt, end),
        ),
      );
    } catch (error) {
      const verdict = (rule.classify ?? classifyError)(error);
      if (verdict !== 'notExecuted' || before) {
        throw this.#stopWith(
          rule.rule === 'reconcile' ? unknown('effect-unknown', error) : resumable('effect-open', error),
        );
      }
      // Nothing happened: the intent goes, and the handler may decide what to answer.
      await this.#save(this.#steps.slice(0, -1));
      this.#steps.pop();
      this.#passed -= 1;
      this.#names.delete(name);
      throw error;
    }
    await this.#owner.probe('effect.after');
    return this.#done(effect, result, calledAt);
  }

  /**
   * After "not found" it is noted anew: the next one who asks counts from this call. With a key it stays as old as the
   * key.
   */
  async #noteIntent<Result>(
    { name, rule, key, input, bounds }: Effect<Result>,
    before: boolean,
  ): Promise<void> {
    const { timeMaxMs, retentionMs } = bounds;
    const stored = before && rule.rule === 'downstreamKey' ? openIntent(this.#steps)?.call : undefined;
    if (stored?.timeMaxMs === timeMaxMs && stored.retentionMs === retentionMs) return;
    const call: IntentCall = {
      attempt: this.#owner.attempt.number,
      rule: rule.rule,
      timeMaxMs,
      ...(rule.rule === 'downstreamKey' ? { retentionMs } : {}),
      ...(rule.provider === undefined ? {} : { provider: rule.provider }),
      // The one that stands there, with bounds that also hold for this call.
      ...(stored === undefined ? {} : { ...stored, timeMaxMs, retentionMs }),
    };
    const earlier = before ? this.#steps.slice(0, -1) : [...this.#steps];
    const steps: Step[] = [...earlier, { kind: 'effect', name, input, done: null, call }];
    const reference = await referenceOf(this.#owner.world, 'downstream-key', key);
    await this.#save(steps, stored !== undefined, { reference, effect: name });
    this.#steps.splice(0, this.#steps.length, ...steps);
  }

  /** `calledAt` null: nothing was called, the provider was asked. */
  async #done<Result>(effect: Effect<Result>, result: unknown, calledAt: number | null): Promise<Result> {
    const { name, input } = effect;
    let stored: unknown;
    try {
      stored = keptResult(name, result);
    } catch (error) {
      // The call took effect, and what it gave cannot be kept: nobody must call again.
      throw this.#stopWith(unknown('result-not-storable', error));
    }
    const steps: Step[] = [
      ...this.#steps.slice(0, -1),
      { kind: 'effect', name, input, done: { result: stored } },
    ];
    try {
      await this.#save(steps);
    } catch (error) {
      if (calledAt !== null && this.#stop?.kind === 'lost')
        void tellLateEnd(this.#owner, effect, calledAt, { result: stored });
      throw error;
    }
    this.#steps.splice(0, this.#steps.length, ...steps);
    await this.#owner.probe('effect.applied');
    return stored as Result;
  }

  /**
   * The intent, with what the provider calls it. A hint for webhooks: what cannot be stored while the call lasts is
   * left.
   */
  async #note(providerId: string, isOver: () => boolean): Promise<void> {
    const intent = openIntent(this.#steps);
    if (intent?.call === undefined) return;
    const steps: Step[] = [...this.#steps.slice(0, -1), { ...intent, call: { ...intent.call, providerId } }];
    try {
      const reference = await referenceOf(this.#owner.world, 'provider-id', providerId);
      const request = this.#request(steps, true, { reference, effect: intent.name });
      const result = await checkpointWhileHeld(this.#owner, request, isOver);
      // Whatever else was found there, the end of the call finds too.
      if (result.kind === 'applied') this.#steps.splice(0, this.#steps.length, ...steps);
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }

  /** The claim must outlast the call, counted from when its last renewal was sent, by both clocks. */
  async #outlast(callTimeMaxMs: number): Promise<void> {
    const { world } = this.#owner;
    for (let tries = 0; tries < OUTLAST_TRIES_MAX; tries += 1) {
      if (this.#owner.attempt.lost) throw this.#stopWith({ kind: 'lost', record: null });
      // Not awaited: the attempt has ended meanwhile, and its record says how a later one goes on.
      if (this.#ended)
        throw new StepError('The handler has ended before this effect was called: await every step.');
      if (this.#owner.attempt.signal.aborted) throw this.#stopWith(resumable('attempt-time-up'));
      if (this.#owner.claimLeftMs() >= callTimeMaxMs) return;
      const result = await this.#owner.renew(world.monotonicNow() + callTimeMaxMs);
      if (result.kind === 'lost') throw this.#stopWith({ kind: 'lost', record: result.record });
      if (result.kind === 'unclear') break;
    }
    throw this.#stopWith(resumable('claim-too-short'));
  }

  /** Notes the steps; the claim is renewed with it. `isSameIntent`: the open one stays as old as it is. */
  async #save(steps: readonly Step[], isSameIntent = false, reference?: NewReference): Promise<void> {
    let result: CheckpointResult;
    try {
      result = await checkpointWhileHeld(
        this.#owner,
        this.#request(steps, isSameIntent, reference),
        () => false,
      );
    } catch (error) {
      if (!isStoreError(error)) throw error;
      // The steps may have been noted or not; the next attempt reads which.
      throw this.#stopWith({ kind: 'stopped', to: null, reason: 'checkpoint-unclear', error });
    }
    if (result.kind !== 'applied') {
      const record: SamekeyRecord | null = result.kind === 'refused' ? result.record : null;
      throw this.#stopWith({ kind: 'lost', record });
    }
  }

  #request(steps: readonly Step[], isSameIntent = false, reference?: NewReference): CheckpointRequest {
    const { id, fence, settings } = this.#owner.attempt;
    return {
      ...id,
      ...fence,
      claimTtlMs: settings.claimTtlMs,
      recoveryPoint: recoveryPointOf(steps),
      steps: stepsText(steps),
      intentOpen: openIntent(steps) !== null,
      ...(isSameIntent ? { isSameIntent } : {}),
      ...(reference === undefined ? {} : { reference }),
    };
  }

  async #downstreamKey(name: string): Promise<string> {
    const { id, createdAt, fingerprint } = this.#owner.attempt;
    const text = downstreamKeyText({ ...id, createdAt, fingerprint }, name);
    return this.#owner.world.sha256(new TextEncoder().encode(text));
  }

  #stopWith(stop: Stop): StepError {
    this.#stop ??= stop;
    const error = 'error' in stop ? stop.error : undefined;
    return new StepError(
      `The attempt stops here (${'reason' in stop ? stop.reason : stop.kind}): let this error through.`,
      {
        cause: error,
      },
    );
  }
}

const OUTLAST_TRIES_MAX = 3;

/** Starts the steps of an attempt from what earlier ones left; a stop when they cannot be read. */
export function openPhases<Tx>(owner: Owner, transactions: Transactions<Tx> | null): Phases<Tx> | Stop {
  const steps = readSteps(owner.attempt.left.steps);
  // Newer code wrote them in a way that this code does not know.
  return steps === null ? unknown(PHASES_CHANGED) : new Phases(owner, transactions, steps);
}
