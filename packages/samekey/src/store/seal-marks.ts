/**
 * The marks that sealed parts begin with (`seal/envelope.ts`). A process without a ring knows them too, so that it
 * never takes a seal for an answer or for steps (F120).
 */

import type { SamekeyRecord, Unreadable } from '../core/record.ts';

/** The name of the line that marks a sealed answer: no header has it, a colon ends names on the wire. */
export const SEALED_LINE = ':samekey-seal';
/** Before the key's id in a text; the digit is the version of the envelope. */
export const SEALED_TEXT = 'samekey-seal.1.';

/** What no ring has opened; null where nothing is sealed. */
function stillSealed({ response, steps }: Pick<SamekeyRecord, 'response' | 'steps'>): Unreadable | null {
  const part =
    response?.headers[0]?.[0] === SEALED_LINE
      ? 'response'
      : steps !== null && steps.startsWith(SEALED_TEXT)
        ? 'steps'
        : null;
  return part === null ? null : { part, keyId: '', cause: 'missing-key' };
}

/** A result of a store as it is without a ring: what is sealed cannot be read. The same result where nothing is. */
export function asUnread<Result>(result: Result): Result {
  if (typeof result !== 'object' || result === null) return result;
  if ('record' in result && result.record !== null) {
    const record = asUnread(result.record);
    return record === result.record ? result : { ...result, record };
  }
  if ('resumed' in result && result.resumed !== null) {
    const resumed = asUnread(result.resumed);
    return resumed === result.resumed ? result : { ...result, resumed };
  }
  if (!('steps' in result)) return result;
  const left = result as unknown as SamekeyRecord;
  const unreadable = stillSealed(left);
  return unreadable === null
    ? result
    : { ...result, steps: null, unreadable, ...('response' in result && { response: null }) };
}
