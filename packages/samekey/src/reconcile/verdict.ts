/**
 * What somebody has learned about an outcome that nobody knew. Checked before anything is written.
 */

import { OptionsError } from '../core/errors.ts';
import { toResponse } from '../ways/reply.ts';
import type { StoredResponse } from '../core/response.ts';
import { storableByHand, type StorableResponse } from '../core/stored-response.ts';

/**
 * The answer that retries get: any JSON value or `reply(status, value)`, as a handler returns it; or the bytes
 * themselves.
 */
export type VerdictAnswer =
  | { readonly answer: unknown; readonly response?: never }
  | { readonly response: StoredResponse; readonly answer?: never };

/** What became of an attempt. `reason` is for people: it stands in the record and in the audit. */
export type Verdict =
  /** The operation is done, and this is its answer, of a status below 400. */
  | ({ readonly kind: 'completed'; readonly reason?: string } & VerdictAnswer)
  /** It was refused for good, and this is its answer, of 400 and more. */
  | ({ readonly kind: 'failed'; readonly reason?: string } & VerdictAnswer)
  /**
   * The open effect of a phased operation did happen, and this is what its call would have given. The operation goes on
   * behind it with the next attempt.
   */
  | { readonly kind: 'took-effect'; readonly result: unknown; readonly reason?: string }
  /** It had no effect: the key may run again. Counts only when nothing of it can still happen. */
  | { readonly kind: 'no-effect'; readonly reason?: string }
  /** Ask again, after `afterMs` milliseconds if that is known. */
  | { readonly kind: 'not-known'; readonly afterMs?: number; readonly reason?: string };

/** A verdict that decides. */
export interface FinalVerdict {
  readonly says: 'completed' | 'failed' | 'took-effect' | 'no-effect';
  readonly to: 'completed' | 'failed' | 'retryable';
  readonly response: StorableResponse | null;
  /** Of an effect that happened. */
  readonly result: unknown;
  readonly reason: string | null;
}

/** A verdict that was checked. */
export type CheckedVerdict =
  | FinalVerdict
  | { readonly says: 'not-known'; readonly afterMs: number | null; readonly reason: string | null };

const REASON_LENGTH_MAX = 500;

/** Checks what was said. Throws `OptionsError` for what is no verdict. */
export function checkVerdict(given: Verdict): CheckedVerdict {
  const reason = reasonOf(given);
  switch (given?.kind) {
    case 'completed':
    case 'failed':
      return { says: given.kind, to: given.kind, response: responseOf(given), result: null, reason };
    case 'took-effect':
      return { says: 'took-effect', to: 'retryable', response: null, result: given.result ?? null, reason };
    case 'no-effect':
      return { says: 'no-effect', to: 'retryable', response: null, result: null, reason };
    case 'not-known': {
      const { afterMs = null } = given;
      if (afterMs !== null && !(Number.isFinite(afterMs) && afterMs >= 0))
        throw new OptionsError(`afterMs of a verdict is a number of milliseconds; it is ${String(afterMs)}.`);
      return { says: 'not-known', afterMs: afterMs === null ? null : Math.ceil(afterMs), reason };
    }
    default:
      given satisfies never;
      throw new OptionsError(
        'A verdict is { kind: "completed" | "failed" | "took-effect" | "no-effect" | "not-known", … }: return one of these.',
      );
  }
}

function reasonOf(given: Verdict | undefined): string | null {
  const { reason = null } = given ?? {};
  if (reason !== null && (typeof reason !== 'string' || reason.length > REASON_LENGTH_MAX))
    throw new OptionsError(`The reason of a verdict is a text of ${REASON_LENGTH_MAX} characters at most.`);
  return reason === '' ? null : reason;
}

function responseOf(given: Extract<Verdict, { kind: 'completed' | 'failed' }>): StorableResponse {
  const { kind, answer, response } = given;
  if (response === undefined && !('answer' in given)) {
    throw new OptionsError(
      `A verdict "${kind}" needs an answer, a JSON value or reply(status, value), or a response: it is what retries will get.`,
    );
  }
  const stored = storableByHand('The response of a verdict', response ?? toResponse(answer));
  const { status, body } = stored;
  if (body === null) throw new OptionsError('The response of a verdict has its body as bytes (Uint8Array).');
  const fits = kind === 'completed' ? status < 400 : status >= 400;
  if (!fits) {
    throw new OptionsError(
      `The answer of a verdict "${kind}" has a status from ${kind === 'completed' ? '200 to 399' : '400 to 599'}, and it has ${String(status)}: give it with reply(status, value).`,
    );
  }
  return stored;
}
