/**
 * The simulated application's handlers: a few steps in virtual time, one of which may have an effect, and an end.
 *
 * Invariant: they are honest towards their policy: a run that ends in a way the policy takes for "nothing happened" has had
 * no effect. So every second effect the ledger finds is Samekey's doing.
 */

import type { PolicyName } from 'samekey/internals/core/policy';
import type { State } from 'samekey/internals/core/record';
import { NotExecutedError } from 'samekey/internals/core/errors';
import type { Random } from '../random.ts';
import type { FaultRates, OperationPlan } from './scenario.ts';

/** How a run will go. */
export interface HandlerPlan {
  /** How long each step takes, in milliseconds. */
  readonly steps: readonly number[];
  /** By how much it lengthens the retention. */
  readonly extendMs: number;
  /** The step before which the effect happens; null for none. */
  readonly effectBefore: number | null;
  readonly end:
    | { readonly kind: 'answer'; readonly status: number }
    | { readonly kind: 'throw' }
    | { readonly kind: 'not-executed'; readonly correctable: boolean; readonly byThrowing: boolean }
    | { readonly kind: 'hang' };
}

/** What a handler throws on purpose. */
export class HandlerFailure extends Error {}

/** A declared non-execution, recognisable as the handler's own. */
export class HandlerDeclined extends NotExecutedError {}

/** Draws how one run will go. Calm runs mostly succeed. */
export function drawHandler(
  operation: OperationPlan,
  rates: FaultRates,
  calm: boolean,
  random: Random,
): HandlerPlan {
  const end = drawEnd(operation, rates, calm, random);
  const steps = Array.from({ length: random.between(1, 3) }, () => random.pick([0, 1, 10, 60, 150]));
  if (!calm && random.chance(rates.slow)) steps[0] = random.between(500, 4_000);
  const may = end.kind === 'hang' || becomes(operation, end) !== 'retryable';
  const effectBefore = may && random.chance(0.85) ? random.between(0, steps.length - 1) : null;
  return { steps, effectBefore, end, extendMs: random.chance(0.1) ? 5_000 : 0 };
}

function drawEnd(
  operation: OperationPlan,
  rates: FaultRates,
  calm: boolean,
  random: Random,
): HandlerPlan['end'] {
  // Only where its time is soon up: until then nothing else happens.
  const mayHang = !calm && operation.settings.attemptTimeMaxMs < 10_000;
  if (mayHang && random.chance(rates.hang)) return { kind: 'hang' };
  const success = { kind: 'answer', status: 200 } as const;
  if (random.chance(calm ? 0.8 : 0.5)) return success;
  switch (random.between(0, 7)) {
    case 0:
      return { kind: 'throw' };
    case 1:
    case 2:
      return { kind: 'not-executed', correctable: random.chance(0.6), byThrowing: random.chance(0.5) };
    default:
      return { kind: 'answer', status: random.pick([201, 204, 401, 409, 422, 429, 500, 502, 503]) };
  }
}

/** Contract §6.1 once more, from the text: what the record becomes of an answer (0: a throw) under each policy. */
const BECOMES: Readonly<Record<PolicyName, (status: number) => State>> = {
  standard: (status) => (status === 502 || status === 504 ? 'unknown' : 'retryable'),
  payments: () => 'unknown',
  stripe: () => 'failed',
};
const THROWN = 0;

/** What the record must become of an end. */
export function becomes(operation: OperationPlan, end: HandlerPlan['end']): State {
  if (end.kind === 'not-executed') return 'retryable';
  const status = end.kind === 'answer' ? end.status : THROWN;
  if (status >= 200 && status < 400) return 'completed';
  if (status === 401 || status === 429) return 'retryable';
  if (status >= 400 && status < 500) return 'failed';
  return BECOMES[operation.settings.policy](status);
}
