/**
 * Whether whoever may have made a call of an unknown outcome is proven gone, by what the record says (contract §5.6). A
 * provider that knows of no payment knows of none yet: an owner that stood still before its call may wake and make it
 * (F61). Pure.
 */

import type { SamekeyRecord } from '../core/record.ts';

/**
 * Reasons that an owner writes when its handler has returned or thrown. Not among them: a claim that ended without a
 * word, used-up attempts, steps that the code which met them did not know, a handler that hung (`attempt-time-up`),
 * that spoke after its end or was perhaps answered for by a time-out, a message that was given up: whoever made the
 * call there may still be alive.
 */
const TOLD_BY_OWNER =
  /^(?:handler-threw|said-unknown(?:: .*)?|status-\d{3}|effect-(?!rule-changed)[a-z-]+|transaction-ended-inside)$/;

/**
 * `open`: the attempt that stored the intent which is open (null in what earlier code has stored); undefined when none
 * is open.
 */
export function isOwnerGone(record: SamekeyRecord, open: number | null | undefined): boolean {
  if (!TOLD_BY_OWNER.test(record.reason ?? '')) return false;
  // An attempt that went on after another had ended without a word says nothing of that one's call.
  if (open !== undefined) return (open ?? 1) === record.attempt;
  return record.attempt === 1 || record.whenClaimEnds === 'unknown';
}
