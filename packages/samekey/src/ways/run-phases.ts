/**
 * The phased way (contract §5): each phase commits its writes, its result and the recovery point together; each effect
 * stores its intent before the call and its result after. A later attempt goes on where this one stopped.
 *
 * Invariants
 * - A recorded phase does not run again: what was stored is what is returned.
 * - Steps that no longer fit the code stop the attempt: the record becomes `unknown`.
 */

import type { Ending } from '../engine/attempt.ts';
import { commit, expectWritten, type Transactions } from './commit.ts';
import type { EffectCall, EffectRule } from './effect.ts';
import { Effects } from './run-effects.ts';
import { StepError } from '../core/errors.ts';
import type { Owner } from '../engine/owner.ts';
import { PHASES_CHANGED } from '../core/record.ts';
import type { Answer } from './reply.ts';
import { StepLog } from './step-log.ts';
import { keptResult, openIntent, readSteps, type Step } from './steps.ts';
import { changed, notAwaited, resumable, type Stop, threw, unknown } from './stops.ts';
import type { Within } from '../store/transaction.ts';

/** The phases and effects of one attempt. */
export class Phases<Tx> {
  readonly #owner: Owner;
  readonly #transactions: Transactions<Tx> | null;
  readonly #log: StepLog;
  readonly #effects: Effects;

  constructor(owner: Owner, transactions: Transactions<Tx> | null, steps: readonly Step[]) {
    this.#owner = owner;
    this.#transactions = transactions;
    this.#log = new StepLog(owner, steps);
    this.#effects = new Effects(this.#log);
  }

  /** Whether something has been stored that must not be forgotten. */
  get hasSteps(): boolean {
    return this.#log.steps.length > 0;
  }

  /** Whether something is stored, or may be while this is asked. */
  get hasBegun(): boolean {
    return this.hasSteps || this.#log.running !== null;
  }

  async phase<Result>(name: string, body: (tx: Tx, within: Within) => Promise<Result>): Promise<Result> {
    const recorded = this.#log.begin(name, 'phase');
    try {
      if (recorded !== null) {
        if (recorded.kind !== 'phase') throw this.#log.stopWith(changed(name));
        return recorded.result as Result;
      }
      return await this.#runPhase(name, body);
    } finally {
      this.#log.running = null;
    }
  }

  effect<Result>(
    name: string,
    call: (effect: EffectCall) => Promise<Result>,
    rule: EffectRule<Result>,
  ): Promise<Result> {
    return this.#effects.run(name, call, rule);
  }

  /** What became of the attempt, from what the handler returned or threw. */
  end(ended: Answer | { readonly thrown: unknown }): Ending {
    this.#log.ended = true;
    if ('thrown' in ended) this.#owner.attempt.hear(ended.thrown);
    if (this.#log.stop !== null) return this.#log.stop;
    const isRunning = this.#log.running !== null;
    // Steps that the code no longer has: what they did is not accounted for.
    const { passed, recorded } = this.#log;
    if (!('thrown' in ended) && !isRunning && passed < recorded) return unknown(PHASES_CHANGED);
    const error =
      'thrown' in ended ? ended.thrown : isRunning ? notAwaited(this.#log.running ?? '') : undefined;
    // A call may have been made, whatever the policy would make of the handler's end.
    if (openIntent(this.#log.steps) !== null) return resumable('effect-open', error);
    if ('thrown' in ended || isRunning) return threw(error, isRunning || this.hasSteps);
    return { kind: 'answered', ...ended, rolledBack: true };
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
          this.#log.inTransaction = true;
          try {
            result = await body(tx, within);
          } finally {
            this.#log.inTransaction = false;
          }
          const step: Step = { kind: 'phase', name, result: keptResult(name, result) };
          const request = this.#log.request([...this.#log.steps, step]);
          expectWritten(await within.checkpoint(request));
          return { step, text: request.steps };
        },
        isThere: (record, { text }) => record.steps === text,
      },
    );
    if (ended.kind === 'rolled-back') throw ended.error;
    if (ended.kind !== 'committed') throw this.#log.stopWith(ended);
    this.#log.steps.push(ended.done.step);
    // Its checkpoint was one: the next is made upon it, and not refused at first.
    this.#owner.attempt.renewals += 1;
    await this.#owner.probe('phase.applied');
    return (ended.done.step as { readonly result: unknown }).result as Result;
  }
}

/** Starts the steps of an attempt from what earlier ones left; a stop when they cannot be read. */
export function openPhases<Tx>(owner: Owner, transactions: Transactions<Tx> | null): Phases<Tx> | Stop {
  const steps = readSteps(owner.attempt.left.steps);
  // Newer code wrote them in a way that this code does not know.
  return steps === null ? unknown(PHASES_CHANGED) : new Phases(owner, transactions, steps);
}
