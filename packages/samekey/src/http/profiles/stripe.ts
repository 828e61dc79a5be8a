/**
 * The Stripe profile: Stripe's error object, types and headers, for APIs whose clients expect them.
 *
 * Sources: https://docs.stripe.com/api/idempotent_requests (keys per account, parameters compared, replay header),
 * https://docs.stripe.com/api/errors (error object, `idempotency_error`), https://docs.stripe.com/error-low-level
 * (409 for concurrent requests, `Stripe-Should-Retry`), https://docs.stripe.com/error-codes (`idempotency_key_in_use`).
 */

import { helpOf } from '../../core/errors.ts';
import { type HeaderLine, response } from '../../core/response.ts';
import type { Issue } from '../../core/schema.ts';
import { retryAfterSeconds } from '../headers.ts';
import { type Problem, type ProblemCode, PROBLEMS, problemCode, problemOf } from '../problem.ts';
import type { Profile } from '../profile.ts';

interface StripeError {
  readonly type: 'api_error' | 'idempotency_error' | 'invalid_request_error';
  readonly status: number;
  readonly code?: string;
  readonly message: string;
}

/**
 * Makes the Stripe profile. Use it with the policy `stripe`, a scope that names the account, and
 * `keyUniqueFor: 'caller'`: Stripe's keys are unique for the account, and the endpoint is compared with the parameters
 * (api/idempotent_requests).
 */
export function stripe(): Profile {
  return {
    name: 'stripe',
    // api/idempotent_requests: a replayed answer carries this header.
    replayHeaders: [['Idempotent-Replayed', 'true']],
    answerHeaders({ status, isFinal, key }) {
      // api/idempotent_requests: the key comes back. error-low-level: stripe-node and others send 409 and 5xx again
      // unless told otherwise, and what is stored cannot change (F105).
      const retries = status >= 400 && isFinal !== null;
      return retries
        ? [
            ['Idempotency-Key', key],
            ['Stripe-Should-Retry', String(!isFinal)],
          ]
        : [['Idempotency-Key', key]];
    },
    render(outcome, keyHeader) {
      const problem = problemCode(outcome);
      const { type, status, code, message } = stripeError(problem, problemOf(problem, keyHeader));
      const headers: HeaderLine[] = [
        ['Content-Type', 'application/json'],
        ['Cache-Control', 'no-store'],
        // error-low-level: tells Stripe's libraries whether to send the request again.
        ['Stripe-Should-Retry', String(PROBLEMS[problem].retryable)],
      ];
      if ('retryAfterMs' in outcome) headers.push(['Retry-After', retryAfterSeconds(outcome.retryAfterMs)]);
      if (outcome.kind === 'response-not-stored' && outcome.location !== null)
        headers.push(['Location', outcome.location]);
      // An acceptance is no error; Stripe has no object for one.
      const doc_url = helpOf(problem);
      if (status < 400)
        return response(status, headers, `${JSON.stringify({ code: problem, doc_url, message })}\n`);
      // api/errors: the error object; error-codes: `parameter_invalid…`, with the first parameter that is wrong.
      const [issue] = outcome.kind === 'request-invalid' ? outcome.issues : [];
      const error = {
        ...(issue !== undefined ? { code: 'parameter_invalid' } : code === undefined ? {} : { code }),
        doc_url,
        message: issue?.message ?? message,
        ...(issue === undefined || issue.path.length === 0 ? {} : { param: paramOf(issue) }),
        type,
      };
      return response(status, headers, `${JSON.stringify({ error })}\n`);
    },
  };
}

/** A place as Stripe writes it: `items[0][sku]`. */
function paramOf({ path }: Issue): string {
  const [first = '', ...rest] = path;
  return `${first}${rest.map((part) => `[${String(part)}]`).join('')}`;
}

function stripeError(problem: ProblemCode, { status, detail }: Problem): StripeError {
  if (problem === 'key-reused') {
    return {
      // api/errors: idempotency_error is for a key used with other parameters or another endpoint; it is a 400.
      type: 'idempotency_error',
      status: 400,
      message:
        'Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than the one you sent if you meant to execute a different request.',
    };
  }
  if (problem === 'in-progress') {
    return {
      type: 'idempotency_error',
      status: 409,
      // error-codes: another request with this key is being worked on.
      code: 'idempotency_key_in_use',
      message:
        'There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through). Please try again later.',
    };
  }
  if (status >= 500) return { type: 'api_error', status, message: detail };
  return { type: 'invalid_request_error', status, code: problem.replaceAll('-', '_'), message: detail };
}
