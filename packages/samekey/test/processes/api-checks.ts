/** What may be answered, and what must be equal: shared by the rounds of races, kills and restarts. */

import type { Answer } from './api-client.ts';
import { executionsOf, type LedgerLine } from './api-ledger.ts';

/** A seeded generator of numbers in [0, 1) (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The `code` of a problem document; undefined for any other answer. */
export function problemCodeOf(answer: Answer): string | undefined {
  if (answer.headers.get('content-type') !== 'application/problem+json') return undefined;
  return (JSON.parse(answer.body) as { code?: string }).code;
}

/** Fields that a replay adds, or that belong to one connection or moment. */
const NOT_COMPARED = new Set(['date', 'connection', 'idempotency-replayed', 'keep-alive']);

/**
 * Where the store could not take an answer in time it leaves all the same and says that it is not stored (F3); its own process
 * repeats it with an expiry that is a guess until it is.
 */
const UNTIL_STORED = new Set(['idempotency-stored', 'idempotency-key-expires']);

/** What must be equal in every answer that stands for one record; `unstored`: some may have left before it was stored. */
export function essenceOf(answer: Answer, unstored = false): string {
  const headers = [...answer.headers]
    .filter(([name]) => !NOT_COMPARED.has(name) && !(unstored && UNTIL_STORED.has(name)))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([answer.status, headers, answer.body]);
}

/** Whether this is a proper "no decision could be made, ask later". */
export function isUnavailable(answer: Answer): boolean {
  const code = problemCodeOf(answer);
  return (
    answer.status === 503 &&
    (code === 'store-unavailable' || code === 'closing') &&
    Number(answer.headers.get('retry-after')) >= 1
  );
}

/**
 * Null when "in progress" is told as it should be: with a Retry-After within the claim (F1), or, of one that has been renewed, within the age that its
 * attempt can have (F86). `sinceMs`: for how long the key has been asked for.
 */
export function faultOfInProgress(answer: Answer, claimTtlMs: number, sinceMs = 0): string | null {
  if (answer.status !== 409 || problemCodeOf(answer) !== 'in-progress') {
    return `answered ${answer.status} ${problemCodeOf(answer) ?? answer.body.slice(0, 80)}`;
  }
  const retryAfter = Number(answer.headers.get('retry-after'));
  const most = Math.max(1, claimTtlMs / 1000, Math.ceil(sinceMs / 1000));
  return retryAfter >= 1 && retryAfter <= most ? null : `Retry-After ${retryAfter} is not within 1–${most}`;
}

/** Null when the answer is one that an execution of this key in the ledger gave. */
export function faultOfExecuted(
  answer: Answer,
  lines: readonly LedgerLine[],
  key: string,
  tenant: string,
): string | null {
  const effect = answer.headers.get('x-effect');
  const execution = executionsOf(lines, key, tenant).find((one) => one.effect === effect);
  if (execution === undefined) return `answered with effect ${effect}, which the ledger has not for this key`;
  const said = JSON.parse(answer.body) as { effect: string; tenant: string; key: string; attempt: number };
  const same =
    said.effect === effect &&
    said.tenant === tenant &&
    said.key === key &&
    said.attempt === execution.attempt;
  return same ? null : `body and ledger differ: ${answer.body}`;
}
