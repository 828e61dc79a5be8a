/**
 * What must be true when everything has ended: nothing is unknown without a cause, and no attempt that may have had an effect
 * ended in silence.
 */

import { sameResponse } from 'samekey/internals/core/response';
import { fenceText, type KeyFacts, ownerOf, type ProcessFacts, type RunFacts } from './facts.ts';

/** Nobody ran under the claim and its process lived: then it had to be given back (F15). */
export function faultOfUnknown(
  { current, attempts }: KeyFacts,
  process: (name: string) => ProcessFacts,
): string | null {
  // Who comes after the last attempt makes it so of what has steps.
  if (current?.state !== 'unknown' || current.reason === 'attempts-exhausted') return null;
  const attempt = attempts.get(fenceText(current));
  if (attempt === undefined || attempt.repeated || attempt.run.length > 0) return null;
  if (process(ownerOf(current)).disturbed) return null;
  return `${current.claimId} ended in unknown although nothing ran under it`;
}

/** An end that may have had an effect is written, or contradicts aloud. */
export function faultOfEnd(key: KeyFacts, { ended, attempt }: RunFacts): string | null {
  if (ended === null || attempt === null || ended.to === 'retryable') return null;
  if (attempt.wrote.has(ended.to) || attempt.contradicted.has(ended.to) || attempt.saveAbandoned) return null;
  const fence = fenceText(attempt);
  const settled = key.finals.some(
    ({ record }) => fenceText(record) === fence && sameResponse(record.response, ended.response),
  );
  const stands = key.current !== null && fenceText(key.current) === fence && key.current.state === ended.to;
  return settled || stands ? null : `attempt ${attempt.attempt} ended as ${ended.to}, and nobody was told`;
}
