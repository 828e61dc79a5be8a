/**
 * When an operator's "no effect" may count (semantics §5). A provider that knows of no payment knows of none *yet*: an owner that stood
 * still before its call may wake and make it (F61). So either nobody is left who could make the call, or a call that is still made
 * carries the key that the next one carries. Pure.
 */

import type { SamekeyRecord } from '../core/record.ts';
import { openIntent, readSteps } from '../core/steps.ts';

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
  const intent = openEffect(record);
  if (intent?.call?.rule === 'downstreamKey') return 'downstream-key';
  if (!TOLD_BY_OWNER.test(record.reason ?? '')) return null;
  // An attempt that went on after another had ended without a word says nothing of that one's call.
  const isItsOwn = intent !== null ? intent.call?.attempt === record.attempt : record.attempt === 1;
  return isItsOwn || (intent === null && record.whenClaimEnds === 'unknown') ? 'owner-gone' : null;
}

function openEffect(record: SamekeyRecord): ReturnType<typeof openIntent> {
  try {
    return openIntent(readSteps(record.steps) ?? []);
  } catch {
    // Sealed, and the store was opened without its keys: nothing is shown.
    return null;
  }
}
