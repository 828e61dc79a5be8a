/**
 * What is stored and what may run again (contract §6). A policy is plain data: from the class of an ending to the
 * state the record gets. Two classes are not a policy's to decide: a handler that declares it did nothing
 * (`retryable`), and an effect with an intent but no result (its rule).
 */

import { OptionsError } from './errors.ts';
import { nested, oneOf, required, type Row, type Table, text } from './options.ts';
import type { Proof } from './record.ts';

/**
 * How a handler ended, as far as a policy cares: 2xx and 3xx · a refusal that will not change (400, 402, 403, 404, 409,
 * 410, 422 …) · a refusal that may (401, 407, 425, 429) · 408 · 500, 503 and other 5xx · 502 and 504, which speak for
 * somebody behind the handler · a throw · a 5xx or throw whose transaction was rolled back.
 */
export type EndingClass =
  | 'success'
  | 'finalRefusal'
  | 'passingRefusal'
  | 'requestTimeout'
  | 'serverError'
  | 'gatewayError'
  | 'threw'
  | 'rolledBack';

/** What a record becomes. */
export type Verdict = 'completed' | 'failed' | 'retryable' | 'unknown';

/** A named table from class of ending to verdict. */
export interface Policy {
  readonly name: string;
  readonly verdicts: Readonly<Record<EndingClass, Verdict>>;
}

/** The policies that come with Samekey. */
export type PolicyName = 'standard' | 'payments' | 'stripe';

/**
 * `standard`: a 5xx means that nothing happened. `payments`: a 5xx means that nobody knows. `stripe`: every answer that
 * the handler began to work on is kept, 5xx included (https://docs.stripe.com/api/idempotent_requests).
 */
export const POLICIES: Readonly<Record<PolicyName, Policy>> = {
  standard: {
    name: 'standard',
    verdicts: {
      success: 'completed',
      finalRefusal: 'failed',
      passingRefusal: 'retryable',
      requestTimeout: 'unknown',
      serverError: 'retryable',
      gatewayError: 'unknown',
      threw: 'retryable',
      rolledBack: 'retryable',
    },
  },
  payments: {
    name: 'payments',
    verdicts: {
      success: 'completed',
      finalRefusal: 'failed',
      passingRefusal: 'retryable',
      requestTimeout: 'unknown',
      serverError: 'unknown',
      gatewayError: 'unknown',
      threw: 'unknown',
      rolledBack: 'retryable',
    },
  },
  stripe: {
    name: 'stripe',
    verdicts: {
      success: 'completed',
      finalRefusal: 'failed',
      passingRefusal: 'retryable',
      requestTimeout: 'failed',
      serverError: 'failed',
      gatewayError: 'failed',
      threw: 'failed',
      rolledBack: 'failed',
    },
  },
};

/** The class of an answer by its status. */
export function classOfStatus(status: number): EndingClass {
  if (status < 400) return 'success';
  if (status >= 500) return status === 502 || status === 504 ? 'gatewayError' : 'serverError';
  if (status === 408) return 'requestTimeout';
  return status === 401 || status === 407 || status === 425 || status === 429
    ? 'passingRefusal'
    : 'finalRefusal';
}

/** Why a `retryable` verdict may run again. */
export function proofOf(ending: EndingClass, verdict: Verdict): Proof | null {
  if (verdict !== 'retryable') return null;
  return ending === 'rolledBack' ? 'rolledBack' : 'policy';
}

/** Finds a policy by name, or checks one of the caller's own. Throws `OptionsError`. */
export function resolvePolicy(policy: PolicyName | Policy, path = 'policy'): Policy {
  if (typeof policy === 'string') {
    const found = Object.hasOwn(POLICIES, policy) ? POLICIES[policy] : undefined;
    if (found === undefined) {
      throw new OptionsError(
        `Unknown policy "${String(policy)}": use "standard", "payments", "stripe" or a Policy object.`,
      );
    }
    return found;
  }
  return nested(POLICY_ROWS).read(policy, path);
}

const success: Row<'completed', 'completed'> = required(oneOf(['completed']));
const ended: Row<'failed' | 'retryable' | 'unknown', 'failed' | 'retryable' | 'unknown'> = required(
  oneOf(['failed', 'retryable', 'unknown']),
);

/**
 * 408, 502 and 504: they say that somebody stopped waiting, and never that nothing happened (contract §6.3). No policy
 * may run them again.
 */
const noProof: typeof ended = {
  ...ended,
  read(given, path) {
    if (given !== 'retryable') return ended.read(given, path);
    throw new OptionsError(
      `${path} is retryable: 408, 502 and 504 speak for somebody who stopped waiting, so the work may have been done. Map it to ` +
        'unknown or failed; after a rollback it is retryable by itself.',
    );
  },
};

const POLICY_ROWS = {
  name: required(text()),
  verdicts: required(
    nested({
      success,
      finalRefusal: ended,
      passingRefusal: ended,
      requestTimeout: noProof,
      serverError: ended,
      gatewayError: noProof,
      threw: ended,
      rolledBack: ended,
    } satisfies Table<Policy['verdicts']>),
  ),
} satisfies Table<Policy>;
