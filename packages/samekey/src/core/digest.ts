/** One text for equal JSON values: members sorted, numbers exact. For digests of what must be the same on a repeat. */

import { canonicalJson } from './canonical-json.ts';
import { OptionsError } from './errors.ts';

/** The canonical text of a JSON value. Throws `OptionsError` for what JSON cannot hold or the canonical form cannot. */
export function canonicalText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) {
    throw new OptionsError(
      'What is to be compared (a fingerprint, the input of an effect) must be a JSON value, and none was given; null says that nothing is compared.',
    );
  }
  const canonical = canonicalJson(new TextEncoder().encode(text));
  if (canonical.kind === 'canonical') return canonical.text;
  throw new OptionsError(
    `What is to be compared cannot be (${canonical.kind}): pass a smaller JSON value, or bytes.`,
  );
}
