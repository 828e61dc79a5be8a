/**
 * Effects of one attempt: calls to others, each with its intent stored before and its result after.
 *
 * Invariants
 * - A recorded effect is not called again: what was stored is what is returned.
 * - No call is made without a stored intent and a claim that outlasts it, by the monotonic and the wall clock.
 * - An intent without a result is followed by the rule it was stored with; inputs that changed under it stop the
 *   attempt.
 */

import { boundsOf, checkRule, classifyError, type EffectCall, type EffectRule, repeatOf } from './effect.ts';
import { bounded, checkpointWhileHeld, type Effect, tellLateEnd } from './effect-call.ts';
import { isStoreError, StepError } from '../core/errors.ts';
import { comparableBytes } from '../fingerprint/digest.ts';
import { type CallEnd, mayBeUnderWayMs } from './late-call.ts';
import type { Owner } from '../engine/owner.ts';
import { pause } from '../core/pause.ts';
import { createNotes } from './provider-notes.ts';
import { referenceOf } from '../store/references.ts';
import type { StepLog } from './step-log.ts';
import { downstreamKeyText, type IntentCall, keptResult, openIntent, type Step } from './steps.ts';
import { changed, resumable, ruleChanged, unknown } from './stops.ts';

const OUTLAST_TRIES_MAX = 3;

/** The effects of one attempt. */
export class Effects {
  readonly #owner: Owner;
  readonly #log: StepLog;

  constructor(log: StepLog) {
    this.#owner = log.owner;
    this.#log = log;
  }

  async run<Result>(
    name: string,
    call: (effect: EffectCall) => Promise<Result>,
    rule: EffectRule<Result>,
  ): Promise<Result> {
    const callTimeMaxMs = checkRule(name, rule as EffectRule<never>, this.#owner.attempt.settings.claimTtlMs);
    const compared = comparableBytes(`The input of the effect "${name}"`, rule.input ?? null);
    const input = await this.#owner.world.sha256(compared);
    const recorded = this.#log.begin(name, 'effect');
    try {
      if (recorded !== null && recorded.kind !== 'effect') throw this.#log.stopWith(changed(name));
      if (recorded !== null && recorded.done !== null) return recorded.done.result as Result;
      const before = recorded !== null && !this.#log.dropSettled();
      const stored = before ? recorded?.call : undefined;
      if (before && repeatOf(stored, rule) === 'other') throw this.#log.stopWith(ruleChanged(name));
      if (before && recorded?.input !== input) throw this.#log.stopWith(unknown('effect-input-changed'));
      const bounds = boundsOf(rule as EffectRule<never>, callTimeMaxMs, stored);
      const key = await this.#downstreamKey(name);
      const effect: Effect<Result> = { name, rule, callTimeMaxMs, bounds, key, input };
      if (before) {
        const answer = await this.#follow(effect);
        if (answer !== null) return await this.#done(effect, answer.result, null);
      }
      return await this.#call(effect, call, before);
    } finally {
      this.#log.running = null;
    }
  }

  /** The rule of an intent without a result. Resolves with the answer, or null when the call is to be made again. */
  async #follow<Result>(effect: Effect<Result>): Promise<{ readonly result: Result } | null> {
    const { rule, callTimeMaxMs, bounds } = effect;
    const { attempt, world } = this.#owner;
    if (rule.rule === 'reconcile') throw this.#log.stopWith(unknown('effect-unknown'));
    if (rule.rule === 'downstreamKey') {
      const age =
        (attempt.left.intentAgeMaxMs ?? Number.POSITIVE_INFINITY) +
        (world.monotonicNow() - attempt.startedAt);
      if (age + bounds.timeMaxMs <= bounds.retentionMs) return null;
      throw this.#log.stopWith(unknown('effect-retention-passed'));
    }
    for (;;) {
      const askedAt = world.monotonicNow();
      let answer: { readonly result: Result } | null;
      try {
        answer = await bounded(this.#owner, callTimeMaxMs, (signal) =>
          rule.inquire({ downstreamKey: effect.key, mayHaveRunBefore: true, signal }),
        );
      } catch (error) {
        throw this.#log.stopWith(resumable('effect-open', error));
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
    // Once is enough, when a call that was given up ends after all.
    let told = Promise.resolve(false);
    const tellOnce = (end: CallEnd): Promise<boolean> =>
      (told = told.then((isTold) => isTold || tellLateEnd(this.#owner, effect, calledAt, end)));
    let result: Result;
    try {
      result = await notes.during(() =>
        bounded(
          this.#owner,
          callTimeMaxMs,
          (signal) =>
            call({ downstreamKey: key, mayHaveRunBefore: before, signal, noteProviderId: notes.note }),
          tellOnce,
        ),
      );
    } catch (error) {
      const verdict = (rule.classify ?? classifyError)(error);
      if (verdict !== 'notExecuted' || before) {
        throw this.#log.stopWith(
          rule.rule === 'reconcile' ? unknown('effect-unknown', error) : resumable('effect-open', error),
        );
      }
      // Nothing happened: the intent goes, and the handler may decide what to answer.
      await this.#log.save(this.#log.steps.slice(0, -1));
      this.#log.dropIntent(name);
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
    const stored = before && rule.rule === 'downstreamKey' ? openIntent(this.#log.steps)?.call : undefined;
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
    const earlier = before ? this.#log.steps.slice(0, -1) : [...this.#log.steps];
    const steps: Step[] = [...earlier, { kind: 'effect', name, input, done: null, call }];
    const reference = await referenceOf(this.#owner.world, 'downstream-key', key);
    await this.#log.save(steps, stored !== undefined, { reference, effect: name });
    this.#log.replace(steps);
  }

  /** `calledAt` null: nothing was called, the provider was asked. */
  async #done<Result>(effect: Effect<Result>, result: unknown, calledAt: number | null): Promise<Result> {
    const { name, input } = effect;
    let stored: unknown;
    try {
      stored = keptResult(name, result);
    } catch (error) {
      // The call took effect, and what it gave cannot be kept: nobody must call again.
      throw this.#log.stopWith(unknown('result-not-storable', error));
    }
    const steps: Step[] = [
      ...this.#log.steps.slice(0, -1),
      { kind: 'effect', name, input, done: { result: stored } },
    ];
    try {
      await this.#log.save(steps);
    } catch (error) {
      if (calledAt !== null && this.#log.stop?.kind === 'lost')
        this.#owner.track(tellLateEnd(this.#owner, effect, calledAt, { result: stored }));
      throw error;
    }
    this.#log.replace(steps);
    await this.#owner.probe('effect.applied');
    return stored as Result;
  }

  /**
   * The intent, with what the provider calls it. A hint for webhooks: what cannot be stored while the call lasts is
   * left.
   */
  async #note(providerId: string, isOver: () => boolean): Promise<void> {
    const intent = openIntent(this.#log.steps);
    if (intent?.call === undefined) return;
    const steps: Step[] = [
      ...this.#log.steps.slice(0, -1),
      { ...intent, call: { ...intent.call, providerId } },
    ];
    try {
      const reference = await referenceOf(this.#owner.world, 'provider-id', providerId);
      const request = this.#log.request(steps, true, { reference, effect: intent.name });
      const result = await checkpointWhileHeld(this.#owner, request, isOver);
      // Whatever else was found there, the end of the call finds too.
      if (result.kind === 'applied') this.#log.replace(steps);
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }

  /** The claim must outlast the call, counted from when its last renewal was sent, by both clocks. */
  async #outlast(callTimeMaxMs: number): Promise<void> {
    const { world } = this.#owner;
    for (let tries = 0; tries < OUTLAST_TRIES_MAX; tries += 1) {
      if (this.#owner.attempt.lost) throw this.#log.stopWith({ kind: 'lost', record: null });
      // Not awaited: the attempt has ended meanwhile, and its record says how a later one goes on.
      if (this.#log.ended)
        throw new StepError('The handler has ended before this effect was called: await every step.');
      if (this.#owner.attempt.signal.aborted) throw this.#log.stopWith(resumable('attempt-time-up'));
      if (this.#owner.claimLeftMs() >= callTimeMaxMs) return;
      const result = await this.#owner.renew(world.monotonicNow() + callTimeMaxMs);
      if (result.kind === 'lost') throw this.#log.stopWith({ kind: 'lost', record: result.record });
      if (result.kind === 'unclear') break;
    }
    throw this.#log.stopWith(resumable('claim-too-short'));
  }

  async #downstreamKey(name: string): Promise<string> {
    const { id, createdAt, fingerprint } = this.#owner.attempt;
    const text = downstreamKeyText({ ...id, createdAt, fingerprint }, name);
    return this.#owner.world.sha256(new TextEncoder().encode(text));
  }
}
