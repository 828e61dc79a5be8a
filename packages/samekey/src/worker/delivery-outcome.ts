/** What the end of a delivery means for the attempt that was handed over with its message. Pure. */

import type { TakenMessage } from '../store/message.ts';
import { ANSWER_NOT_STORABLE, type Conclusion } from '../engine/ending/conclude.ts';
import type { Answer } from '../ways/reply.ts';
import { problemResponse } from '../core/response.ts';
import type { FinishRequest } from '../store/store.ts';
import { storable } from '../core/stored-response.ts';

/** When somebody should look at an outcome that nobody knows, in milliseconds. */
const RECONCILE_AFTER_MS = 60_000;

const DEAD = problemResponse(
  500,
  'message-dead',
  'The work was accepted, and could not be done. Nothing happened.',
);

/**
 * The handler's answer is the request's, also where its value cannot be stored: then without its body (F147). Null: the
 * message has no record.
 */
export function recordOfAnswer(message: TakenMessage, { response, error }: Answer): FinishRequest | null {
  return finish(message, {
    to: response.status < 400 ? 'completed' : 'failed',
    proof: null,
    reason: error === undefined ? null : ANSWER_NOT_STORABLE,
    response: storable(response, false),
  });
}

/**
 * The message is given up: the request has failed only if every delivery is proven without effect; else nobody knows.
 * `provenNow`: the delivery that ends now is among them.
 */
export function recordOfDeath(message: TakenMessage, provenNow: boolean): FinishRequest | null {
  const proven = message.proven + (provenNow ? 1 : 0);
  return proven === message.started
    ? finish(message, {
        to: 'failed',
        proof: null,
        reason: 'message-dead',
        response: storable(DEAD, false),
      })
    : finish(message, { to: 'unknown', proof: null, reason: 'message-dead', response: null });
}

/** The handler said that it does not know: somebody asks about it at once. */
export function recordOfUnknown(message: TakenMessage, reason: string): FinishRequest | null {
  const record = finish(message, { to: 'unknown', proof: null, reason, response: null });
  return record === null ? null : { ...record, reconcileAfterMs: 0 };
}

function finish(
  { owner }: TakenMessage,
  end: Pick<Conclusion, 'to' | 'proof' | 'reason' | 'response'>,
): FinishRequest | null {
  if (owner === null) return null;
  return {
    ...owner,
    ...end,
    unbindFingerprint: false,
    extendMs: 0,
    reconcileAfterMs: RECONCILE_AFTER_MS,
    handedOver: true,
  };
}
