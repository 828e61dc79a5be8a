/**
 * Is an answer legal? Checks what a request was told against the answers that stood while it was under way.
 */

import type { Outcome } from 'samekey/internals/core/outcome';
import { sameResponse } from 'samekey/internals/core/response';
import type { AuditedRequest, KeyFacts, RunFacts } from './facts.ts';

/** A request that has been told its outcome. */
export interface Answer {
  readonly request: AuditedRequest;
  readonly outcome: Outcome;
  readonly now: number;
  /** How much older than the request's start the reply may be that it shares with another request of its process. */
  readonly slackMs: number;
  /** Whether the store's clock jumps: then a key may run again earlier than others know. */
  readonly clockJumps: boolean;
  /** The run of its own handler, if there was one. */
  readonly run: RunFacts | null;
  /** The body that a digest stands for, as far as it is known. */
  readonly bodyOf: (digest: string) => number | undefined;
}

/** What is wrong with an answer; null when it is legal. */
export function faultOfAnswer(facts: KeyFacts, answer: Answer): string | null {
  const { outcome, run } = answer;
  if (run !== null && outcome.kind === 'unavailable')
    return `the handler ran, and the caller was told "${outcome.kind}"`;
  switch (outcome.kind) {
    case 'executed':
      return faultOfExecuted(facts, answer, outcome);
    case 'replay':
      return faultOfReplay(facts, answer, outcome);
    case 'expired':
      return facts.current === null || facts.current.tombstoneMs > 0 ? null : '"expired" without a tombstone';
    case 'unknown':
    case 'in-progress':
    case 'response-not-stored':
      return boundToAnother(facts, answer) ? `another request's key answered "${outcome.kind}"` : null;
    default:
      return null;
  }
}

function faultOfExecuted(
  facts: KeyFacts,
  { run }: Answer,
  outcome: Outcome & { readonly kind: 'executed' },
): string | null {
  if (run === null) return '"executed" without a run';
  const { attempt } = run;
  if (attempt === null || attempt.attempt !== outcome.attempt) return '"executed" as another attempt';
  if (!outcome.stored || attempt.wrote.has(outcome.state)) return null;
  const settled = facts.finals.some(
    ({ record }) =>
      record.claimId === attempt.claimId &&
      record.attempt === attempt.attempt &&
      record.state === outcome.state &&
      sameResponse(record.response, outcome.response),
  );
  return settled ? null : `"executed, stored" as ${outcome.state}, which was never written`;
}

function faultOfReplay(
  facts: KeyFacts,
  answer: Answer,
  outcome: Outcome & { readonly kind: 'replay' },
): string | null {
  const { request, slackMs } = answer;
  const since = request.startedAt - slackMs;
  const stood = facts.finals.filter(
    ({ record, to, nextAt }) =>
      // Given from memory it may have been opened or forgotten a while ago, but nothing has run since (F62).
      (to >= since || (to >= since - TRUST_MS && (nextAt >= since || answer.clockJumps))) &&
      record.attempt === outcome.attempt &&
      sameResponse(record.response, outcome.response),
  );
  if (stood.length === 0)
    return unsaved(facts, answer, outcome) ? null : 'a replay of an answer that never stood';
  const bodies = stood.map(({ record }) => record.fingerprint && answer.bodyOf(record.fingerprint.digest));
  if (bodies.every((body) => typeof body === 'number' && body !== request.body))
    return "a replay of another request's answer";
  return null;
}

/** How long a process may answer from what it read (contract §8.6). */
const TRUST_MS = 5_000;

/** The answer left before it was stored: duplicates in its process get it too (F3). */
function unsaved(
  facts: KeyFacts,
  { request }: Answer,
  outcome: Outcome & { readonly kind: 'replay' },
): boolean {
  return [...facts.attempts.values()].some(
    ({ attempt, saveDelayed, run }) =>
      saveDelayed &&
      attempt === outcome.attempt &&
      run.some(
        (one) =>
          one.request.process === request.process &&
          one.request.body === request.body &&
          one.ended !== null &&
          sameResponse(one.ended.response, outcome.response),
      ),
  );
}

/** Whether the key belonged to another request from before this one began until now: then 422 comes first (F12). */
function boundToAnother(facts: KeyFacts, { request, now, slackMs, bodyOf }: Answer): boolean {
  const binding = facts.bindings.at(-1);
  if (binding === undefined || binding.digest === null || facts.current === null) return false;
  if (binding.to < now || binding.from > request.startedAt - slackMs) return false;
  const body = bodyOf(binding.digest);
  if (body === undefined || body === request.body) return false;
  const { state, expiresAt } = facts.current;
  return state === 'in_progress' || state === 'unknown' || expiresAt > now;
}
