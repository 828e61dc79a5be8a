/**
 * From how a handler ended to what its record becomes, by the operation's policy (contract §6). Pure.
 */

import { responseBytes } from '../../core/response.ts';
import type { Ending, RunningAttempt } from '../attempt.ts';
import { isNotExecutedError } from '../../core/errors.ts';
import { classOfStatus, type EndingClass, proofOf } from '../../core/policy.ts';
import { isLeftToCode, LEFT_TO_CODE_MS, type Proof } from '../../core/record.ts';
import type { FinishRequest } from '../../store/store.ts';
import { storable, type StorableResponse } from '../../core/stored-response.ts';

/** What the record becomes. */
export interface Conclusion {
  readonly to: FinishRequest['to'];
  readonly proof: Proof | null;
  readonly reason: string | null;
  readonly response: StorableResponse | null;
  /** Forget the fingerprint: the client may correct its request. */
  readonly unbind: boolean;
}

/** An end that the policy decides. */
export type OpenEnding = Extract<Ending, { kind: 'answered' | 'threw' }>;

/** Concludes an attempt. An answer larger than `recordSizeMaxBytes` is stored without its body. */
export function conclude(
  attempt: Pick<RunningAttempt, 'declared' | 'saidUnknown' | 'settings'>,
  ending: OpenEnding,
  recordSizeMaxBytes: number | null,
): Conclusion {
  // Nobody knows: neither a policy, nor a rollback, nor another word of the handler proves anything then.
  if (attempt.saidUnknown !== null)
    return { to: 'unknown', proof: null, reason: attempt.saidUnknown, response: null, unbind: false };
  const declared = declaration(attempt, ending);
  if (declared !== null) {
    return {
      to: 'retryable',
      proof: 'declared',
      reason: 'not-executed',
      response: null,
      unbind: declared.correctable,
    };
  }
  const ended = classOf(ending);
  const verdict = attempt.settings.policy.verdicts[ended];
  // Rolled back there is nothing nobody knows: what is not kept may run again.
  const isSilent = ending.kind === 'threw' && ending.isSilent === true;
  const to =
    ending.rolledBack === true
      ? verdict === 'unknown'
        ? 'retryable'
        : verdict
      : isSilent && verdict === 'retryable'
        ? 'unknown'
        : verdict;
  const keep = to === 'completed' || to === 'failed';
  const reason =
    ended === 'success'
      ? null
      : ending.kind === 'threw'
        ? isSilent
          ? 'no-answer'
          : 'handler-threw'
        : // An owner that is perhaps at work must not pass for one that is gone (`owner-gone.ts`).
          `${ending.isPerhapsAnothers === true && to === 'unknown' ? 'perhaps-answered-for: ' : ''}status-${ending.response.status}`;
  const answer = keep && ending.response !== null ? ending.response : null;
  return {
    to,
    proof: ending.rolledBack === true && to === 'retryable' ? 'rolledBack' : proofOf(ended, to),
    reason: isLost(ending) && keep ? ANSWER_NOT_STORABLE : reason,
    response:
      answer === null ? null : fitting(storable(answer, attempt.settings.storeSetCookie), recordSizeMaxBytes),
    unbind: false,
  };
}

/** A 5xx or throw whose transaction was rolled back is a class of its own; refusals are what they are. */
function classOf(ending: OpenEnding): EndingClass {
  const ended = ending.kind === 'threw' ? 'threw' : classOfStatus(ending.response.status);
  if (ending.rolledBack !== true) return ended;
  return ended === 'threw' || ended === 'serverError' || ended === 'gatewayError' ? 'rolledBack' : ended;
}

function declaration(
  attempt: Pick<RunningAttempt, 'declared'>,
  ending: OpenEnding,
): { readonly correctable: boolean } | null {
  if (attempt.declared !== null) return attempt.declared;
  if (ending.kind === 'threw' && ending.mayDeclare !== false && isNotExecutedError(ending.error))
    return { correctable: ending.error.correctable };
  return null;
}

/** The reason of a record whose handler answered with what cannot be stored (F66): it is final, and has no body. */
export const ANSWER_NOT_STORABLE = 'answer-not-storable';

/** Whether the handler answered, and its value cannot be stored. */
export function isLost(ending: OpenEnding): boolean {
  return ending.kind === 'answered' && ending.error !== undefined;
}

function fitting(response: StorableResponse, mostBytes: number | null): StorableResponse {
  if (mostBytes === null || responseBytes(response) <= mostBytes) return response;
  return { ...response, body: null };
}

function reconcileAfterOf({ saidUnknown, settings }: RunningAttempt, { to, reason }: Conclusion): number {
  if (isLeftToCode({ state: to, reason })) return Math.max(LEFT_TO_CODE_MS, settings.reconcileAfterMs);
  // Whoever said so knows of nothing to wait for.
  return saidUnknown === null ? settings.reconcileAfterMs : 0;
}

/** The conclusion as a write under the attempt's fence. */
export function finishRequest(attempt: RunningAttempt, conclusion: Conclusion): FinishRequest {
  return {
    scope: attempt.id.scope,
    key: attempt.id.key,
    claimId: attempt.fence.claimId,
    attempt: attempt.fence.attempt,
    to: conclusion.to,
    proof: conclusion.proof,
    reason: conclusion.reason,
    response: conclusion.response,
    unbindFingerprint: conclusion.unbind,
    extendMs: attempt.extendMs,
    reconcileAfterMs: reconcileAfterOf(attempt, conclusion),
    handedOver: false,
  };
}
