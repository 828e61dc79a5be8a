/** How a phased attempt ends before its handler does, or beside it. */

import type { Ending } from '../engine/attempt.ts';
import { StepError } from '../core/errors.ts';
import { EFFECT_RULE_CHANGED, PHASES_CHANGED } from '../core/record.ts';
import { response } from '../core/response.ts';

/** Thrown through the handler to end it: the attempt has stopped, whatever the handler still returns. */
export type Stop = Extract<Ending, { kind: 'stopped' | 'lost' | 'not-started' | 'unclear' }>;

/** The recorded step is another one. */
export function changed(name: string): Stop {
  return unknown(PHASES_CHANGED, new StepError(`The step "${name}" is not the one that was recorded here.`));
}

/** The open effect was begun by another rule, or with another provider. */
export function ruleChanged(name: string): Stop {
  return unknown(
    EFFECT_RULE_CHANGED,
    new StepError(`The effect "${name}" was begun by another rule or with another provider than it has now.`),
  );
}

/** Somebody has to settle it. */
export function unknown(reason: string, error?: unknown): Stop & { readonly kind: 'stopped' } {
  return { kind: 'stopped', to: 'unknown', reason, error };
}

/** A later attempt goes on from the steps. */
export function resumable(reason: string, error?: unknown): Stop & { readonly kind: 'stopped' } {
  return { kind: 'stopped', to: 'retryable', reason, error };
}

/** Nothing is open: what was begun was rolled back or is recorded, so a later attempt may go on. */
export function threw(error: unknown, hasSteps: boolean): Ending {
  return { kind: 'threw', error, response: response(500), rolledBack: true, mayDeclare: !hasSteps };
}

/** A step that nobody waited for. */
export function notAwaited(name: string): StepError {
  return new StepError(`The handler returned while "${name}" was under way: await every step.`);
}
