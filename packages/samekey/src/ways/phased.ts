/**
 * `samekey.phased`: several steps under one key, each recorded, some of them calls to the outside (see
 * ways/run-phases.ts for how).
 */

import type { Attempt } from '../engine/attempt.ts';
import type { Transactions } from './commit.ts';
import type { EffectCall, EffectRule } from './effect.ts';
import type { Engine } from '../engine/engine.ts';
import { StepError } from '../core/errors.ts';
import { openPhases, type Phases } from './run-phases.ts';
import { aFunction, readOptions, required, type Table } from '../core/options.ts';
import { answerOf, type ReplyValue, tellIfUnmade } from './reply.ts';
import { type OperationOptions, resolveSettings } from '../core/settings.ts';
import type { Handler } from '../engine/work.ts';
import { type InputCodec, inputCodec } from './input.ts';
import {
  createOperation,
  type Definition,
  DEFINITION_ROWS,
  namesOf,
  type Operation,
} from './define-operation.ts';
import { type HandlerWatch, watchHandler } from './unprotected-fetch.ts';

/** What a phased handler is told of its attempt, and the steps it may take. */
export interface PhasedAttempt<Tx> extends Attempt {
  /**
   * Runs `body` in a transaction of yours and commits its writes, its result and the recovery point together. Recorded,
   * it does not run again: a later attempt gets the result. The result is plain data of at most 64 KiB as JSON. Throws
   * what `body` throws, rolled back.
   */
  phase<Result>(name: string, body: (tx: Tx) => Result | Promise<Result>): Promise<Result>;
  /**
   * Makes one call to the outside: its intent is stored before, its result after. A refusal by the provider is a
   * result: return it. A throw means that nobody knows what happened, unless `classify` says otherwise; then the
   * attempt stops and `rule` decides how a later one goes on.
   */
  effect<Result>(
    name: string,
    call: (effect: EffectCall) => Result | Promise<Result>,
    rule: EffectRule<Result>,
  ): Promise<Result>;
}

/** A phased operation. */
export interface PhasedDefinition<Input, Returned, Tx> extends Definition {
  /**
   * Returns a JSON value or `reply(status, value)`. Every attempt runs it from its beginning; recorded steps return
   * what they returned. Outside of steps it must be without effect and always take the same way for the same input and
   * results.
   */
  readonly run: (input: Input, attempt: PhasedAttempt<Tx>) => Returned | Promise<Returned>;
  /** How the input is kept with the record; default JSON. */
  readonly input?: InputCodec<Input>;
}

const ROWS = { ...DEFINITION_ROWS, run: required(aFunction()) } satisfies Table<
  PhasedDefinition<never, unknown, never>
>;

/** Defines it. Throws `OptionsError`. */
export function definePhased<Input, Returned, Tx>(
  engine: Engine,
  defaults: OperationOptions,
  transactions: Transactions<Tx> | null,
  definition: PhasedDefinition<Input, Returned, Tx>,
): Operation<Input, ReplyValue<Returned>> {
  readOptions('samekey.phased', ROWS, definition);
  const settings = resolveSettings(
    { policy: 'standard', ...defaults },
    { ...definition, whenClaimEnds: 'resume' },
  );
  return createOperation({
    engine,
    names: namesOf(definition),
    settings,
    codec: inputCodec(definition.input),
    schema: definition.schema ?? null,
    keepsInput: true,
    pendingTimeMaxMs: null,
    takesSteps: true,
    mayBeUnseen: false,
    handler: (input): Handler => ({
      async start(attempt, owner) {
        const phases = openPhases<Tx>(owner, transactions);
        if ('kind' in phases) return phases;
        const watch = watchHandler(engine, definition.name);
        try {
          const returned = await watch.handler(async () =>
            definition.run(input, phasedAttempt(attempt, phases, watch)),
          );
          tellIfUnmade(returned, owner);
          return phases.end(answerOf(returned));
        } catch (error) {
          return phases.end({ thrown: error });
        } finally {
          watch.end();
        }
      },
    }),
  });
}

function phasedAttempt<Tx>(attempt: Attempt, phases: Phases<Tx>, watch: HandlerWatch): PhasedAttempt<Tx> {
  return {
    number: attempt.number,
    operation: attempt.operation,
    scope: attempt.scope,
    key: attempt.key,
    resumed: attempt.resumed,
    get signal() {
      return attempt.signal;
    },
    notExecuted(options) {
      if (phases.hasBegun) {
        throw new StepError(
          'notExecuted() was called although a step is recorded or under way: something has happened. Undo it in a phase and reply.',
        );
      }
      attempt.notExecuted(options);
    },
    unknown: (reason) => attempt.unknown(reason),
    extend: (ms) => attempt.extend(ms),
    // The store may speak HTTP too: only the body of a phase is the handler's.
    phase: (name, body) =>
      watch.covered(() => phases.phase(name, (tx) => watch.handler(async () => body(tx)))),
    effect: (name, call, rule) =>
      watch.covered(() => phases.effect(name, async (effect) => call(effect), rule)),
  };
}
