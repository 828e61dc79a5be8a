/**
 * What is wrong with the calls of effects: made without an intent, after their claim, or once too often. Pure.
 */

import { type CallFacts, fenceText, type KeyFacts, type ProcessFacts, type RunFacts } from './facts.ts';
import { keptSteps } from './transitions.ts';

/** At the moment of a call its claim is the caller's own, and its intent stands in the record. */
export function faultOfCall({ current }: KeyFacts, { attempt }: RunFacts, effect: string): string | null {
  if (attempt === null) return null;
  const isHeld = current?.state === 'in_progress' && fenceText(current) === fenceText(attempt);
  if (current === null || !isHeld) return `${effect} is called after its claim was lost (F69)`;
  const last = keptSteps(current.steps).at(-1);
  return last?.name === effect && last.done === null ? null : `${effect} is called without its intent`;
}

/** One charge of each effect in each life of the key. */
export function faultOfCharges(
  { calls, told }: KeyFacts,
  process: (name: string) => ProcessFacts,
  clockJumps: boolean,
): string | null {
  const groups = new Map<string, CallFacts[]>();
  for (const call of calls) {
    if (call.charge === null) continue;
    const text = `${call.life.n} ${call.effect}`;
    groups.set(text, [...(groups.get(text) ?? []), call]);
  }
  for (const group of groups.values()) {
    const { effect, rule, asksSignal } = group[0] as CallFacts;
    if (new Set(group.map(({ charge }) => charge)).size < 2) continue;
    // By a clock that jumps claims end, and intents are old, before their time: guarantees say so.
    if (rule === 'inquire' && clockJumps) continue;
    const isTold = group.some(
      (call) =>
        process(call.process).gone ||
        told.some(
          (one) => one.effect === effect && one.process === call.process && one.attempt === call.attempt,
        ),
    );
    // What no client could keep back is told; whoever has died can tell nothing.
    if (rule === 'inquire' && !asksSignal && isTold) continue;
    return `${effect} was charged twice under ${rule}${isTold ? '' : ', and nobody was told'}`;
  }
  return null;
}
