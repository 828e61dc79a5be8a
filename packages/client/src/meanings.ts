/**
 * The table of outcomes: status, code and mark of an answer → what it means for the operation. Pure, read from top to
 * bottom, the first row that fits counts. docs/reference/client-outcomes.md shows the same rows, held equal by a test.
 *
 * Invariants: a code or a mark alone proves nothing, each needs its status · no 4xx is certain unless the server says
 * so: a browser sends a POST again by itself when a kept-alive connection is reset, so what answers may have seen the
 * second one only (F127) · a 5xx, replayed or not, never says that nothing happened · 408 neither (contract §6).
 */

/** What is known of an answer. */
export interface Facts {
  readonly status: number;
  /** Of the codes below, or empty. */
  readonly code: string;
  /**
   * `replayed`: a stored answer · `kept`: the server says until when every retry gets this one
   * (`Idempotency-Key-Expires`) · `again`, `final`: it says whether a retry can change it.
   */
  readonly mark: '' | 'replayed' | 'kept' | 'again' | 'final';
}

/** What it means. */
export type Meaning =
  /** Done: for this request, earlier, or earlier with an answer that the server has not kept. */
  | 'first'
  | 'replayed'
  | 'unseen'
  /** Refused: by a stored answer, or before anything began, which is said of this one request only. */
  | 'stored'
  | 'never-ran'
  /** To be asked again. */
  | 'in-progress'
  | 'later'
  /** Not known. */
  | 'outcome-unknown'
  | 'never-known'
  | 'key-expired'
  | 'key-reused'
  | 'unseen-error'
  | 'server-error'
  | 'redirected'
  | 'sign-in'
  | 'unproven';

/**
 * Statuses (`0`: a redirect that a browser hides) | codes | marks | what it means; a `*` at the end: all that begin so.
 * A text, because a page downloads it.
 */
const TABLE = `
409 | outcome-unknown | any | outcome-unknown
409 | outcome-never-known | any | never-known
404 410 | key-expired | any | key-expired
400 409 422 | key-reused | any | key-reused
410 | response-not-stored-2xx response-not-stored-3xx | any | unseen
410 | response-not-stored-4xx | any | stored
410 | response-not-stored* | any | unseen-error
409 | attempts-exhausted | any | stored
408 | never-started | replayed | stored
2* 3* | any | replayed | replayed
2* 3* | any | kept | first
202 409 425 | in-progress pending accepted | any | in-progress
2* | any | any | first
0 3* | any | any | redirected
408 | any | replayed kept | server-error
5* | any | replayed kept final | server-error
501 505 | any | any | server-error
5* | any | any | later
4* | any | replayed kept | stored
4* | any | again | later
401 407 | any | any | sign-in
403 | anonymous | any | sign-in
400 422 | request-invalid | any | never-ran
400 | key-* body-malformed request-time-invalid | any | never-ran
400 412 | request-too-old | any | never-ran
413 | body-too-large | any | never-ran
408 425 429 | any | any | later
4* | any | any | unproven
`;

/** A row of the table. */
type Rule = readonly [statuses: string, codes: string, marks: string, means: Meaning];

export const RULES: readonly Rule[] = TABLE.trim()
  .split('\n')
  .map((line) => line.split(' | ') as unknown as Rule);

const CODES = RULES.flatMap(([, codes]) => codes.split(' '));

/** Whether the table knows it. */
export function isCode(code: string): boolean {
  return CODES.some((pattern) => fits(pattern, code));
}

/** What it means. */
export function meaningOf({ status, code, mark }: Facts): Meaning {
  const facts = [String(status), code, mark];
  const row = RULES.find((patterns) => facts.every((fact, at) => has(patterns[at] ?? '', fact)));
  return row?.[3] ?? 'unproven';
}

function fits(pattern: string, value: string): boolean {
  return pattern.endsWith('*') ? value.startsWith(pattern.slice(0, -1)) : pattern === value;
}

function has(patterns: string, value: string): boolean {
  return patterns === 'any' || patterns.split(' ').some((pattern) => fits(pattern, value));
}
