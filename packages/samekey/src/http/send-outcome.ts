/**
 * What the client is sent for an outcome: the handler's own answer, the stored one, or what the profile makes of it.
 *
 * Invariant: an answer that no retry will get says so (`Idempotency-Stored: false`); what every retry gets says until
 * when.
 */

import { notStored } from '../engine/meeting.ts';
import { type Executed, type Outcome, retryAfter } from '../core/outcome.ts';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import type { Exchange } from './exchange.ts';
import { httpDate } from './headers.ts';
import type { Route } from './route.ts';
import type { Wrapped } from './wrapped.ts';

/** Ends the exchange. `key` is null for a request that never got as far as one. */
export async function sendOutcome<Native>(
  route: Route<Native>,
  exchange: Exchange<Native>,
  outcome: Outcome,
  wrapped: Wrapped<Native> | null,
  key: string | null,
): Promise<void> {
  if (outcome.kind === 'executed') {
    if (outcome.error === null) {
      if (exchange.isBroken) return sendBroken(route, exchange, outcome);
      // A wrapped handler has answered nobody yet.
      const { response: answer } = outcome;
      const lines = [...executedHeaders(outcome), ...profileHeaders(route, outcome, answer, key)];
      if (wrapped === null || answer === null) return exchange.release(lines);
      if (outcome.state === 'pending')
        lines.push(...acceptedHeaders(answer, locationOf(exchange, wrapped, key)));
      return exchange.replace(withHeaders(wrapped.firstAnswer?.() ?? answer, lines));
    }
    // A throw whose answer is stored is answered with what every retry will get; any other is the framework's to
    // answer.
    if (outcome.state !== 'failed' || outcome.response === null) return exchange.fail(outcome.error.thrown);
    const lines = [...executedHeaders(outcome), ...profileHeaders(route, outcome, outcome.response, key)];
    return exchange.replace(withHeaders(outcome.response, lines));
  }
  if (outcome.kind === 'replay') {
    const expires: HeaderLine = ['Idempotency-Key-Expires', httpDate(outcome.expiresAt)];
    const lines = [...route.profile.replayHeaders, expires];
    return exchange.replace(
      withHeaders(outcome.response, [...lines, ...profileHeaders(route, outcome, outcome.response, key)]),
    );
  }
  const location = outcome.kind === 'pending' ? locationOf(exchange, wrapped, key) : null;
  const rendered = route.profile.render(outcome, route.headerName);
  // Whether to send it again is said by the rendering itself.
  const echoed = profileHeaders(route, null, rendered, key);
  const lines: HeaderLine[] = location === null ? [...echoed] : [...echoed, ['Location', location]];
  return exchange.replace(lines.length === 0 ? rendered : withHeaders(rendered, lines));
}

/** What the profile adds to an answer, less what the answer says itself. */
function profileHeaders<Native>(
  { profile }: Route<Native>,
  outcome: Extract<Outcome, { kind: 'executed' | 'replay' }> | null,
  answer: StoredResponse | null,
  key: string | null,
): readonly HeaderLine[] {
  if (profile.answerHeaders === undefined || key === null) return [];
  const isFinal = outcome === null ? null : outcome.kind === 'replay' || isFinalEnd(outcome);
  return unsaid(profile.answerHeaders({ status: answer?.status ?? 500, isFinal, key }), answer);
}

/** Whether every retry gets this answer; null: nobody knows yet. */
function isFinalEnd({ state, stored }: Executed): boolean | null {
  if (!stored || state === 'unknown' || state === 'pending') return null;
  return state !== 'retryable';
}

/** The status resource of a request that is left to a worker; null for none. */
function locationOf<Native>(
  exchange: Exchange<Native>,
  wrapped: Wrapped<Native> | null,
  key: string | null,
): string | null {
  return wrapped === null || key === null ? null : wrapped.location(exchange.native, key);
}

/** What a retry of handed-over work is told, the first caller is told too. */
function acceptedHeaders(answer: StoredResponse, location: string | null): readonly HeaderLine[] {
  const lines: HeaderLine[] = [['Retry-After', '1']];
  if (location !== null) lines.push(['Location', location]);
  return unsaid(lines, answer);
}

/** Lines that the answer does not have itself. */
function unsaid(lines: readonly HeaderLine[], answer: StoredResponse | null): readonly HeaderLine[] {
  const own = new Set(answer?.headers.map(([name]) => name.toLowerCase()));
  return lines.filter(([name]) => !own.has(name.toLowerCase()));
}

/**
 * The body broke off: its client is told what a retry is told, or sees the connection end if the head has left already.
 */
function sendBroken<Native>(
  route: Route<Native>,
  exchange: Exchange<Native>,
  { state, response: given, expiresAt }: Executed,
): void | Promise<void> {
  if (state !== 'completed' && state !== 'failed') {
    const retryAfterMs = retryAfter(state === 'unknown' ? route.settings.reconcileAfterMs : 0);
    const kind = state === 'unknown' ? 'unknown' : 'in-progress';
    return exchange.replace(route.profile.render({ kind, retryAfterMs }, route.headerName));
  }
  return exchange.replace(route.profile.render(notStored(state, given, expiresAt ?? 0), route.headerName));
}

function executedHeaders(outcome: Executed): HeaderLine[] {
  if (!outcome.stored) return [['Idempotency-Stored', 'false']];
  const isFinal = outcome.state === 'completed' || outcome.state === 'failed';
  return isFinal && outcome.expiresAt !== null
    ? [['Idempotency-Key-Expires', httpDate(outcome.expiresAt)]]
    : [];
}

function withHeaders(stored: StoredResponse, extra: readonly HeaderLine[]): StoredResponse {
  return { ...stored, headers: [...stored.headers, ...extra] };
}
