/**
 * From how a handler ended to what its record becomes, by the operation's policy (semantics §6). Pure.
 */

import type { Ending, RunningAttempt } from './attempt.ts';
import { responseBytes } from './dispatch.ts';
import { isNotExecutedError } from './errors.ts';
import { classOfStatus, type EndingClass, proofOf } from './policy.ts';
import type { Proof } from './record.ts';
import type { StoredResponse } from './response.ts';
import type { FinishRequest } from './store.ts';

/** What the record becomes. */
export interface Conclusion {
  readonly to: FinishRequest['to'];
  readonly proof: Proof | null;
  readonly reason: string | null;
  readonly response: StoredResponse | null;
  /** Forget the fingerprint: the client may correct its request. */
  readonly unbind: boolean;
}

/** Concludes an attempt. An answer larger than `recordSizeMaxBytes` is stored without its body. */
export function conclude(
  attempt: Pick<RunningAttempt, 'declared' | 'settings'>,
  ending: Ending,
  recordSizeMaxBytes: number | null,
): Conclusion {
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
  const ended: EndingClass = ending.kind === 'threw' ? 'threw' : classOfStatus(ending.response.status);
  const to = attempt.settings.policy.verdicts[ended];
  const keep = to === 'completed' || to === 'failed';
  const reason =
    ended === 'success'
      ? null
      : ending.kind === 'threw'
        ? 'handler-threw'
        : `status-${ending.response.status}`;
  return {
    to,
    proof: proofOf(ended, to),
    reason,
    response: keep ? fitting(ending.response, recordSizeMaxBytes) : null,
    unbind: false,
  };
}

function declaration(
  attempt: Pick<RunningAttempt, 'declared'>,
  ending: Ending,
): { readonly correctable: boolean } | null {
  if (attempt.declared !== null) return attempt.declared;
  if (ending.kind === 'threw' && isNotExecutedError(ending.error))
    return { correctable: ending.error.correctable };
  return null;
}

function fitting(response: StoredResponse | null, mostBytes: number | null): StoredResponse | null {
  if (response === null || mostBytes === null || responseBytes(response) <= mostBytes) return response;
  return { ...response, body: null };
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
    reconcileAfterMs: attempt.settings.reconcileAfterMs,
  };
}
