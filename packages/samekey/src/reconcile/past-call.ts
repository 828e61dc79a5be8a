/**
 * Whether a reference leads to the call that is open, or to one that is past: the webhook then speaks of what the
 * record has gone on from, and decides nothing about what is open now. Pure.
 */

import { isFinal, type SamekeyRecord } from '../core/record.ts';
import type { Referred } from '../store/references.ts';
import { readSteps } from '../ways/steps.ts';
import type { OpenEffect } from './effect-of.ts';
import type { ToldAbout } from './find.ts';
import { type CallRule, carriesKey } from './no-effect.ts';

/** A call that is not the open one. */
interface PastCall {
  /** The attempt that made it; null: nobody knows, or it is that of all. */
  readonly attempt: number | null;
  /** What it gave stands in the steps. */
  readonly isDone: boolean;
}

/** The past call that the webhook speaks of; null: the open one, or the end of the record. */
export function pastCallOf(
  record: SamekeyRecord,
  { effect: name, attempt }: Referred,
  by: ToldAbout,
  effect: OpenEffect | null,
  rule: CallRule,
): PastCall | null {
  if (isFinal(record)) return null;
  if (name === null) return attempt === record.attempt ? null : { attempt, isDone: false };
  const steps = record.unreadable === undefined ? readSteps(record.steps) : null;
  // Which call is open cannot be told here: another process may have the key, or newer code.
  if (steps === null) return { attempt: null, isDone: false };
  const isOpen = 'providerId' in by ? effect?.providerId === by.providerId : isOf(effect, by);
  // Under one key the payment of one attempt is that of all.
  const isSame = effect !== null && effect.name === name && carriesKey(effect, rule);
  if (isOpen || isSame) return null;
  const isDone = steps.some((step) => step.kind === 'effect' && step.name === name && step.done !== null);
  return { attempt: 'providerId' in by ? attempt : null, isDone };
}

function isOf(effect: OpenEffect | null, by: ToldAbout): boolean {
  return 'downstreamKey' in by && effect?.downstreamKey === by.downstreamKey;
}
