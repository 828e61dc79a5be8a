/**
 * How a record may be said to have ended, checked before a store writes it. No verb leads out of a state that the table
 * does not have (F145), and no server sends an answer that has not passed the gate (F144).
 */

import { OptionsError, StoreError } from '../core/errors.ts';
import { shown } from '../core/options.ts';
import type { SamekeyRecord } from '../core/record.ts';
import { sameResponse, type StoredResponse } from '../core/response.ts';
import { SEALED_LINE } from './seal-marks.ts';
import type { FinishRequest, SettleRequest } from './store.ts';
import { storableByHand, type StorableResponse } from '../core/stored-response.ts';

/** How an outcome that nobody knew may be settled. */
export const SETTLED_TO = ['completed', 'failed', 'retryable'] as const;

const ENDS: ReadonlySet<string> = new Set<FinishRequest['to']>([...SETTLED_TO, 'unknown']);

/** Throws `StoreError` (nothing applied) unless each is an end that the state table has. */
export function checkEnds(requests: readonly Pick<FinishRequest, 'to'>[]): void {
  for (const { to } of requests) {
    if (!ENDS.has(to))
      throw new StoreError(
        `An attempt ends as ${[...ENDS].join(', ')}; it was to end as ${shown(to)}. Nothing was written.`,
        { applied: 'no', transient: false },
      );
  }
}

/**
 * Requests to settle, as a store may write them: states of the table, answers that have passed the gate. Throws
 * `OptionsError`.
 */
export function settlements(requests: readonly SettleRequest[]): readonly SettleRequest[] {
  return requests.map(settlement);
}

/** The same for one. */
export function settlement(request: SettleRequest): SettleRequest {
  const { to, response } = request;
  if (!isSealed(response)) return { ...request, response: settledAnswer('A settlement', to, response) };
  // The sealed store in front has looked at it while it was clear.
  settledAnswer('A settlement', to, { ...response, headers: [] });
  return request;
}

function isSealed(response: StoredResponse | null): response is StoredResponse {
  return Array.isArray(response?.headers) && response.headers[0]?.[0] === SEALED_LINE;
}

/** The answer of a settlement, checked against its state; `what` begins the message. Throws `OptionsError`. */
export function settledAnswer(
  what: string,
  to: SettleRequest['to'],
  given: StoredResponse | null,
): StorableResponse | null {
  if (!SETTLED_TO.includes(to))
    throw new OptionsError(
      `${what} is to ${SETTLED_TO.map((each) => `"${each}"`).join(' or ')}; it is to ${shown(to)}.`,
    );
  if (given === null || given === undefined) return null;
  if (to === 'retryable')
    throw new OptionsError(`${what} to "retryable" has no answer: the next request runs. Leave it out.`);
  const answer = storableByHand(`The answer of ${lowered(what)}`, given);
  if (answer.status < 400 !== (to === 'completed')) {
    throw new OptionsError(
      `${what} to "${to}" has an answer with a status from ${to === 'completed' ? '200 to 399' : '400 to 599'}; it has ${answer.status}.`,
    );
  }
  return answer;
}

function lowered(what: string): string {
  return what.charAt(0).toLowerCase() + what.slice(1);
}

/**
 * Whether the record was settled before, and just so: a request that is repeated, or a second person who says the same.
 */
export function isSettledAs(record: SamekeyRecord, request: SettleRequest): boolean {
  return (
    record.state === request.to &&
    record.proof === 'settled' &&
    sameResponse(record.response, request.response) &&
    (request.newSteps === undefined || request.newSteps === record.steps)
  );
}
