/** What the end of a delivery means for the attempt that was handed over with its message. Pure. */

import type { TakenMessage } from '../core/message.ts';
import { problemResponse, type StoredResponse } from '../core/response.ts';
import type { FinishRequest } from '../core/store.ts';

/** When somebody should look at an outcome that nobody knows, in milliseconds. */
const RECONCILE_AFTER_MS = 60_000;

/** The handler's answer is the request's. Null: the message has no record. */
export function recordOfAnswer(message: TakenMessage, response: StoredResponse): FinishRequest | null {
  return finish(message, {
    to: response.status < 400 ? 'completed' : 'failed',
    proof: null,
    reason: null,
    response,
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
        response: problemResponse(
          500,
          'message-dead',
          'The work was accepted, and could not be done. Nothing happened.',
        ),
      })
    : finish(message, { to: 'unknown', proof: null, reason: 'message-dead', response: null });
}

function finish(
  { owner }: TakenMessage,
  end: Pick<FinishRequest, 'to' | 'proof' | 'reason' | 'response'>,
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
