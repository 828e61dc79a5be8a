/**
 * The steps of one attempt: which are recorded, which one is under way, and how they are stored.
 *
 * Invariants
 * - One step at a time, each name once, effects outside of transactions; recorded steps come in the order in which they
 *   were recorded.
 * - Steps are written under the fence of the attempt, and what stops the attempt first is what it ends with.
 */

import { checkpointWhileHeld } from './effect-call.ts';
import { isStoreError, StepError } from '../core/errors.ts';
import type { Owner } from '../engine/owner.ts';
import type { SamekeyRecord } from '../core/record.ts';
import type { NewReference } from '../store/references.ts';
import { openIntent, recoveryPointOf, type Step, stepsText } from './steps.ts';
import { changed, type Stop } from './stops.ts';
import type { CheckpointRequest, CheckpointResult } from '../store/store.ts';

/** Steps of one operation at most. */
const STEPS_MAX = 100;

/** The steps of one attempt. */
export class StepLog {
  readonly owner: Owner;
  readonly steps: Step[];
  /** How many steps were recorded before this attempt. */
  recorded: number;
  /** How many of them, and of its own, the handler has come by. */
  passed = 0;
  /** The name of the step that is under way. */
  running: string | null = null;
  inTransaction = false;
  stop: Stop | null = null;
  /** Whether the handler has ended. */
  ended = false;
  readonly #names = new Set<string>();

  constructor(owner: Owner, steps: readonly Step[]) {
    this.owner = owner;
    this.steps = [...steps];
    this.recorded = steps.length;
  }

  /** Checks that the step may begin; returns what is recorded of it. */
  begin(name: string, kind: Step['kind']): Step | null {
    if (this.stop !== null) throw new StepError('The attempt has stopped: let the error through.');
    if (this.ended) throw new StepError(`The handler has ended: await ${kind} "${name}" before it returns.`);
    if (this.owner.attempt.declared !== null) {
      throw new StepError(
        `notExecuted() was called, and then ${kind} "${name}" was begun: return instead, so that it stays true.`,
      );
    }
    if (this.inTransaction) {
      throw new StepError(
        kind === 'effect'
          ? `The effect "${name}" was called inside the phase "${this.running}": its transaction may be rolled back and run again, the call may not. Call it between phases.`
          : `The phase "${name}" was begun inside the phase "${this.running}": phases do not nest.`,
      );
    }
    if (this.running !== null) {
      throw new StepError(
        `"${name}" was begun while "${this.running}" is under way: await one step after the other.`,
      );
    }
    if (typeof name !== 'string' || name === '')
      throw new StepError('A step is named by a text that is not empty.');
    if (this.#names.has(name)) {
      throw new StepError(
        `The name "${name}" is used twice in one operation: results are found by it, so each needs its own.`,
      );
    }
    if (this.passed >= STEPS_MAX) throw new StepError(`An operation has ${STEPS_MAX} steps at most.`);
    this.#names.add(name);
    this.running = name;
    const recorded = this.steps[this.passed];
    if (this.passed < this.recorded && recorded !== undefined) {
      if (recorded.name !== name || recorded.kind !== kind) {
        this.running = null;
        throw this.stopWith(changed(name));
      }
      this.passed += 1;
      return recorded;
    }
    this.passed += 1;
    return null;
  }

  /** The steps are these from now on: so they stand in the record. */
  replace(steps: readonly Step[]): void {
    this.steps.splice(0, this.steps.length, ...steps);
  }

  /** The last step, an intent, is gone: nothing of it happened, and its name is free again. */
  dropIntent(name: string): void {
    this.steps.pop();
    this.passed -= 1;
    this.#names.delete(name);
  }

  /**
   * An intent of which a reconciler or an operator has said that nothing happened: the call is made as if for the first
   * time.
   */
  dropSettled(): boolean {
    if (this.owner.attempt.resumed?.proof !== 'settled') return false;
    this.steps.pop();
    this.recorded -= 1;
    return true;
  }

  /** Notes the steps; the claim is renewed with it. `isSameIntent`: the open one stays as old as it is. */
  async save(steps: readonly Step[], isSameIntent = false, reference?: NewReference): Promise<void> {
    let result: CheckpointResult;
    try {
      result = await checkpointWhileHeld(
        this.owner,
        this.request(steps, isSameIntent, reference),
        () => false,
      );
    } catch (error) {
      if (!isStoreError(error)) throw error;
      // The steps may have been noted or not; the next attempt reads which.
      throw this.stopWith({ kind: 'stopped', to: null, reason: 'checkpoint-unclear', error });
    }
    if (result.kind !== 'applied') {
      const record: SamekeyRecord | null = result.kind === 'refused' ? result.record : null;
      throw this.stopWith({ kind: 'lost', record });
    }
  }

  request(steps: readonly Step[], isSameIntent = false, reference?: NewReference): CheckpointRequest {
    const { id, fence, settings } = this.owner.attempt;
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

  /** Stops the attempt, unless it has stopped; the error is for its handler. */
  stopWith(stop: Stop): StepError {
    this.stop ??= stop;
    const error = 'error' in stop ? stop.error : undefined;
    return new StepError(
      `The attempt stops here (${'reason' in stop ? stop.reason : stop.kind}): let this error through.`,
      {
        cause: error,
      },
    );
  }
}
