/**
 * What stands in a record whose handler said that it does not know: a fixed word, and the handler's own as a remark.
 * Pure.
 *
 * Invariants: bounded, one line, storable anywhere · never a reason that means something to Samekey, whatever the
 * handler said · never an error: a handler says this when something has gone wrong already, and a throw here would be
 * taken for the end of another kind.
 */

/** The handler of an attempt said so, and has ended. */
export const SAID_UNKNOWN = 'said-unknown';
/** The handler of a message said so. */
export const MESSAGE_UNKNOWN = 'message-unknown';

/** Longest remark, in UTF-16 code units. */
const REMARK_LENGTH_MAX = 200;

/** The reason to keep. */
export function unknownReason(word: typeof SAID_UNKNOWN | typeof MESSAGE_UNKNOWN, remark: unknown): string {
  if (typeof remark !== 'string') return word;
  const text = remark
    .slice(0, REMARK_LENGTH_MAX)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
    .trim();
  return text === '' ? word : `${word}: ${text}`;
}
