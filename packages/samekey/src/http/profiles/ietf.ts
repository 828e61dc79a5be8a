/**
 * The IETF profile: problem documents (RFC 9457) and the status codes of draft-ietf-httpapi-idempotency-key-header-07.
 */

import { helpOf } from '../../core/errors.ts';
import { oneOf, readOptions, type Table, text } from '../../core/options.ts';
import { type HeaderLine, response, type StoredResponse } from '../../core/response.ts';
import { pointerOf } from '../../core/schema.ts';
import { httpDate, retryAfterSeconds } from '../headers.ts';
import { type Problem, type ProblemCode, problemCode, problemOf, type ProblemOutcome } from '../problem.ts';
import type { Profile } from '../profile.ts';

/** Choices of the IETF profile. */
export interface IetfOptions {
  /** Status for a request that meets a running attempt: 409 (default; draft §2.7), 202, or 425 (RFC 8470 §5.2). */
  readonly inProgressStatus?: 409 | 202 | 425;
  /** Status for a key that was used with another request: 422 (default; draft §2.7), 409, or 400. */
  readonly mismatchStatus?: 422 | 409 | 400;
  /** Status for a key kept as a tombstone: 410 (default), or 404. */
  readonly expiredStatus?: 410 | 404;
  /**
   * Status for input that its schema refuses: 400 (default), or 422 (RFC 9110 §15.5.21), which a reused key has too.
   */
  readonly invalidStatus?: 400 | 422;
  /** The page that explains the codes, one anchor each: the base of `type` and `Link`. Default: where `docsAt` says. */
  readonly helpUrl?: string;
}

const IETF_ROWS = {
  inProgressStatus: oneOf([409, 202, 425], 409),
  mismatchStatus: oneOf([422, 409, 400], 422),
  expiredStatus: oneOf([410, 404], 410),
  invalidStatus: oneOf([400, 422], 400),
  helpUrl: text(),
} satisfies Table<IetfOptions>;

/** Makes the IETF profile. Throws `OptionsError`. */
export function ietf(options: IetfOptions = {}): Profile {
  const { inProgressStatus, mismatchStatus, expiredStatus, invalidStatus, helpUrl } = readOptions(
    'ietf',
    IETF_ROWS,
    options,
  );
  return {
    name: 'ietf',
    // Not in the draft; the name that gateways and SDKs of the field use.
    replayHeaders: [['Idempotency-Replayed', 'true']],
    render(outcome, keyHeader) {
      const code = problemCode(outcome);
      const problem = problemOf(code, keyHeader);
      const status =
        {
          'in-progress': inProgressStatus,
          'key-reused': mismatchStatus,
          'key-expired': expiredStatus,
          'request-invalid': invalidStatus,
        }[code as string] ?? problem.status;
      return render(
        outcome,
        code,
        { ...problem, status },
        helpUrl === undefined ? helpOf(code) : `${helpUrl}#${code}`,
      );
    },
  };
}

function render(outcome: ProblemOutcome, code: ProblemCode, problem: Problem, type: string): StoredResponse {
  const headers: HeaderLine[] = [
    // RFC 9457 §3: the media type of a problem document. An acceptance is no problem: clients that parse it as one
    // would fail (F94).
    ['Content-Type', problem.status < 400 ? 'application/json' : 'application/problem+json'],
    // The draft's §2.7 asks for a link to documentation in each error.
    ['Link', `<${type}>; rel="help"`],
    // RFC 9111 §5.2.2.5: none of these answers may be kept by a cache.
    ['Cache-Control', 'no-store'],
  ];
  // RFC 9110 §10.2.3.
  if ('retryAfterMs' in outcome) headers.push(['Retry-After', retryAfterSeconds(outcome.retryAfterMs)]);
  const document: Record<string, unknown> = {
    type,
    title: problem.title,
    status: problem.status,
    detail: 'detail' in outcome ? outcome.detail : problem.detail,
    code,
    retryable: problem.retryable,
  };
  if (outcome.kind === 'request-too-large') document['sizeMaxBytes'] = outcome.sizeMaxBytes;
  // RFC 9457 §3: several things wrong at once, each with its place.
  if (outcome.kind === 'request-invalid') {
    document['errors'] = outcome.issues.map((issue) => ({
      detail: issue.message,
      pointer: pointerOf(issue),
    }));
  }
  if (outcome.kind === 'request-time-invalid') document['fault'] = outcome.fault;
  if (outcome.kind === 'request-too-old') document['windowMs'] = outcome.windowMs;
  if (outcome.kind === 'response-not-stored') {
    document['originalStatus'] = outcome.originalStatus;
    if (outcome.location !== null) headers.push(['Location', outcome.location]);
    headers.push(['Idempotency-Key-Expires', httpDate(outcome.expiresAt)]);
  }
  return response(problem.status, headers, `${JSON.stringify(document)}\n`);
}
