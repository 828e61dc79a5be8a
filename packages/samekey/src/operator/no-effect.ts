/**
 * When an operator's "no effect" may count (semantics §5). A provider that knows of no payment knows of none *yet*: an owner that stood
 * still before its call may wake and make it (F61). So either nobody is left who could make the call, or a call that is still made
 * carries the key that the next one carries. Pure.
 */

import type { SamekeyRecord } from '../core/record.ts';
import { OptionsError } from '../core/errors.ts';
import { openIntent, readSteps, stepsText } from '../core/steps.ts';

/**
 * Why nothing of the last attempt can happen any more, in the words of who settles: its process is proven gone (`owner-gone`), or
 * every call it makes carries a key under which the provider acts once (`downstream-key`).
 */
export type NoEffectBecause = 'owner-gone' | 'downstream-key';

/**
 * Reasons that an owner writes when its handler has returned or thrown. Not among them: a claim that ended without a word, used-up
 * attempts, a handler that hung, a message that was given up: whoever made the call there may still be alive.
 */
const TOLD_BY_OWNER = /^(?:handler-threw|status-\d{3}|effect-[a-z-]+|phases-changed|steps-newer)$/;

/** What the record itself shows; null: it shows neither, and a person has to know. */
export function shownBy(record: SamekeyRecord): NoEffectBecause | null {
  // An effect may be open that cannot be seen here.
  if (record.unreadable !== undefined) return null;
  const intent = openEffect(record);
  if (intent?.call?.rule === 'downstreamKey') return 'downstream-key';
  if (!TOLD_BY_OWNER.test(record.reason ?? '')) return null;
  // An attempt that went on after another had ended without a word says nothing of that one's call.
  const isItsOwn = intent !== null ? intent.call?.attempt === record.attempt : record.attempt === 1;
  return isItsOwn || (intent === null && record.whenClaimEnds === 'unknown') ? 'owner-gone' : null;
}

/** How long a call may be under way after its claim has ended, in milliseconds. */
export function callTimeOf(record: SamekeyRecord): number {
  return openEffect(record)?.call?.timeMaxMs ?? CALL_TIME_MAX_MS;
}

/** The steps with what the open effect's call gave; null when none is open. Throws `OptionsError` for what JSON cannot hold. */
export function stepsWithResult(record: SamekeyRecord, result: unknown): string | null {
  const intent = openEffect(record);
  if (intent === null) return null;
  const before = readSteps(record.steps)?.slice(0, -1) ?? [];
  const { kind, name, input } = intent;
  try {
    return stepsText([...before, { kind, name, input, done: { result } }]);
  } catch {
    throw new OptionsError('The result of an effect is plain data that JSON can hold.');
  }
}

/** Longer than any sane time-out of a client. */
const CALL_TIME_MAX_MS = 60_000;

function openEffect(record: SamekeyRecord): ReturnType<typeof openIntent> {
  try {
    return openIntent(readSteps(record.steps) ?? []);
  } catch {
    // Sealed, and the store was opened without its keys: nothing is shown.
    return null;
  }
}
