/** Erasing what a caller's records hold: how many it would be, and doing it. */

import type { Operator } from 'samekey/operator';
import { isErased } from 'samekey/internals/core/record';
import type { EraseAnswer } from './api.ts';

/** Of one call, and as many as a preview looks at. */
const LIMIT = 1_000;

/** What would be emptied. */
export async function previewErase(operator: Operator, caller: string): Promise<EraseAnswer> {
  const records = await operator.list({ caller, limit: LIMIT });
  const held = records.filter((record) => !isErased(record));
  const busy = held.filter(
    ({ state }) => state === 'in_progress' || state === 'pending' || state === 'unknown',
  );
  const erased = held.length - busy.length;
  const more = records.length === LIMIT ? ' of the newest 1,000; older ones too' : '';
  return {
    erased,
    left: busy.length,
    lines: [
      `${erased} records would be emptied${more}: answers, inputs, steps and fingerprints go.`,
      'Their keys stay, and never run again: retries get 410.',
      ...(busy.length === 0
        ? []
        : [
            `${busy.length} would be left: somebody works on them, or nobody knows their outcome. Settle those first.`,
          ]),
    ],
  };
}

/** Empties them. Throws `OptionsError` for what is no caller. */
export async function erase(operator: Operator, caller: string, reason: string): Promise<EraseAnswer> {
  const { erased, left } = await operator.erase(caller, { reason, limit: LIMIT });
  const again =
    left === 0 ? 'Nothing of this caller is left.' : `${left} still hold something: erase again later.`;
  return { erased, left, lines: [`${erased} records were emptied.`, again] };
}
