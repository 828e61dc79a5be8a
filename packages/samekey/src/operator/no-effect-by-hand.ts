/**
 * When an operator's "no effect" may count (contract §5.6). A provider that knows of no payment knows of none *yet*: an
 * owner that stood still before its call may wake and make it (F61). So either nobody is left who could make the call,
 * or a call that is still made carries the key that the next one carries. Pure.
 */

import { jsonOf } from '../fingerprint/json-value.ts';
import { isOwnerGone } from '../engine/owner-gone.ts';
import type { SamekeyRecord } from '../core/record.ts';
import { openIntent, readSteps, type Step, stepsTextWith } from '../ways/steps.ts';

/**
 * Why nothing of the last attempt can happen any more, in the words of who settles: its process is proven gone
 * (`owner-gone`), or every call it makes carries a key under which the provider acts once (`downstream-key`).
 */
export type NoEffectBecause = 'owner-gone' | 'downstream-key';

/** What the record itself shows; null: it shows neither, and a person has to know. */
export function shownBy(record: SamekeyRecord): NoEffectBecause | null {
  // An effect may be open that cannot be seen here.
  if (record.unreadable !== undefined) return null;
  const intent = openEffect(record);
  if (intent?.call?.rule === 'downstreamKey') return 'downstream-key';
  const open = intent === null ? undefined : (intent.call?.attempt ?? null);
  return isOwnerGone(record, open) ? 'owner-gone' : null;
}

/** How long a call may be under way after its claim has ended, in milliseconds. */
export function callTimeOf(record: SamekeyRecord): number {
  return openEffect(record)?.call?.timeMaxMs ?? CALL_TIME_MAX_MS;
}

/**
 * The steps with what the open effect's call gave; null when none is open. Throws `ValueError` for what JSON cannot
 * hold.
 */
export function stepsWithResult(record: SamekeyRecord, result: unknown): string | null {
  const intent = openEffect(record);
  if (intent === null) return null;
  return stepsTextWith(readSteps(record.steps) ?? [], intent, result);
}

/** Whether the result of its last effect is this one. Throws `ValueError` for what JSON cannot hold. */
export function hasResult(record: SamekeyRecord, result: unknown): boolean {
  const last = stepsOf(record).findLast((step) => step.kind === 'effect');
  if (last === undefined || last.done === null) return false;
  return JSON.stringify(last.done.result ?? null) === (jsonOf('The result of an effect', result) ?? 'null');
}

/** Longer than any sane time-out of a client. */
const CALL_TIME_MAX_MS = 60_000;

function openEffect(record: SamekeyRecord): ReturnType<typeof openIntent> {
  return openIntent(stepsOf(record));
}

function stepsOf(record: SamekeyRecord): readonly Step[] {
  try {
    return readSteps(record.steps) ?? [];
  } catch {
    // Sealed, and the store was opened without its keys: nothing is shown.
    return [];
  }
}
