/**
 * What may be found of a question: it holds, it does not, or it cannot be told. How much that weighs is the question's
 * level.
 */

/**
 * MUST: else an intent takes effect twice or not at all, or somebody gets an answer that is not theirs. SHOULD: what
 * the draft asks for with that word, or what clients have to rely on. `recommended`: what makes a service easier to
 * use.
 */
export type Level = 'MUST' | 'SHOULD' | 'recommended';

/** What became of a question. */
export type Verdict =
  /** It holds; `found` says what was seen. */
  | { readonly verdict: 'held'; readonly found: string }
  /** It does not; `means` says who is hurt and how. */
  | { readonly verdict: 'fault'; readonly found: string; readonly means: string }
  /** It cannot be told; `found` says why, or what to give. */
  | { readonly verdict: 'not-judged'; readonly found: string };

/** The scenario cannot be judged: thrown inside one, and told as `not-judged`. */
export class NotJudged extends Error {
  override readonly name = 'NotJudged';
}

/** It holds. */
export function held(found: string): Verdict {
  return { verdict: 'held', found };
}

/** It does not hold. */
export function fault(found: string, means: string): Verdict {
  return { verdict: 'fault', found, means };
}

/** It cannot be told. */
export function notJudged(found: string): Verdict {
  return { verdict: 'not-judged', found };
}
