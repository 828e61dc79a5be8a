/**
 * Every case in which Samekey answers in the handler's place: its code, status, words, and whether retrying can help.
 * Codes are held equal to docs/reference/errors.md by tools/check-errors.
 *
 * Sources: RFC 9457 (problem details), draft-ietf-httpapi-idempotency-key-header §2.7 (400, 422, 409).
 */

import type { KeyFault } from '../core/errors.ts';
import type { Outcome, UnavailableReason } from '../core/outcome.ts';

/** One case. */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Whether the same request under the same key may succeed later. */
  readonly retryable: boolean;
}

/** The code of a case, in the order of precedence of contract §4.1. */
export type ProblemCode =
  | 'anonymous'
  | 'key-missing'
  | 'key-empty'
  | 'key-blank'
  | 'key-too-short'
  | 'key-too-long'
  | 'key-control-character'
  | 'key-not-ascii'
  | 'key-several'
  | 'key-grammar'
  | 'key-not-uuid'
  | 'key-personal-data'
  | 'body-unreadable'
  | 'body-malformed'
  | 'body-too-large'
  | 'request-time-invalid'
  | 'request-too-old'
  | 'store-unavailable'
  | 'store-full'
  | 'closing'
  | 'record-newer'
  | 'limiter-unavailable'
  | 'request-moved'
  | 'kept-elsewhere'
  | 'bridge-unfit'
  | 'body-too-large-now'
  | 'replay-unavailable'
  | 'record-sealed'
  | 'key-expired'
  | 'key-reused'
  | 'response-not-stored'
  | 'outcome-unknown'
  | 'pending'
  | 'in-progress'
  | 'attempts-exhausted'
  | 'request-invalid'
  | 'limited';

/** All cases by code, in the same order. */
export const PROBLEMS: Readonly<Record<ProblemCode, Problem>> = {
  anonymous: {
    status: 403,
    title: 'The caller is not known',
    detail: 'An idempotency key belongs to a caller, and this request names none: authenticate first.',
    retryable: false,
  },
  'key-missing': {
    status: 400,
    title: 'Idempotency-Key is missing',
    detail:
      'This operation needs an Idempotency-Key header: send a new UUID for each intended operation and the same one when you retry it.',
    retryable: false,
  },
  'key-empty': keyProblem('is empty'),
  'key-blank': keyProblem('is blank'),
  'key-too-short': keyProblem('is too short'),
  'key-too-long': keyProblem('is too long'),
  'key-control-character': keyProblem('has a control character'),
  'key-not-ascii': keyProblem('has a character that is not ASCII'),
  'key-several': keyProblem('was sent more than once'),
  'key-grammar': keyProblem('is not a valid String'),
  'key-not-uuid': keyProblem('is not a UUID'),
  'key-personal-data': keyProblem('looks like personal data'),
  'body-unreadable': {
    status: 400,
    title: 'The request body could not be read',
    detail: 'The body ended early or its content coding is broken: send the whole request again.',
    retryable: true,
  },
  'body-malformed': {
    status: 400,
    title: 'The request body is not what this operation takes',
    detail:
      'The body arrived whole and cannot be read, such as JSON with a fault: correct it before you send it again.',
    retryable: false,
  },
  'body-too-large': {
    status: 413,
    title: 'The request body is too large',
    detail: 'The body is larger than this operation accepts.',
    retryable: false,
  },
  'request-time-invalid': {
    status: 400,
    title: 'The request does not say when it was sent',
    detail:
      'This operation needs the time of the request, in the header and the form that it documents: send the request again with it.',
    retryable: false,
  },
  'request-too-old': {
    status: 400,
    title: 'The request is too old',
    detail:
      'The time of the request lies too far back. A time that is signed is that of sending: sign the present one, under the same key. Of a first try that is so old, look up what became of it.',
    retryable: false,
  },
  'store-unavailable': unavailableProblem('Keys cannot be checked right now, so nothing was done.'),
  'store-full': unavailableProblem('No more keys can be remembered right now, so nothing was done.'),
  closing: unavailableProblem('This server is stopping and did nothing.'),
  'record-newer': unavailableProblem(
    'This key was used with a newer version of this service; nothing was done.',
  ),
  'limiter-unavailable': unavailableProblem(
    'It cannot be decided right now whether more may be started, so nothing was done.',
  ),
  'request-moved': unavailableProblem(
    'This key was used with the same request at another path, by another method or in another session, and this server cannot tell whether that is the same.',
  ),
  'kept-elsewhere': unavailableProblem(
    'What this key stands for is kept under a former name of this operation and cannot be compared from here.',
  ),
  'bridge-unfit': unavailableProblem(
    'This server is not set up to find keys of this operation that were used before it was changed, so nothing was done.',
  ),
  'body-too-large-now': unavailableProblem(
    'This key is known, and its body is larger than this server takes now, so it was not read and nothing was done.',
  ),
  'replay-unavailable': unavailableProblem(
    'This request was carried out earlier, and nothing ran again; what came of it cannot be told right now.',
  ),
  'record-sealed': unavailableProblem(
    'What this key stands for is sealed, and this server cannot open it, so nothing was done.',
  ),
  'key-expired': {
    status: 410,
    title: 'The key has expired',
    detail:
      'This key was used before and is no longer remembered in full: check what became of the first request before you use a new key.',
    retryable: false,
  },
  'key-reused': {
    status: 422,
    title: 'The key was used for another request',
    detail:
      'This Idempotency-Key belongs to a request with other content: use a new key for a new operation, or send the same request again.',
    retryable: false,
  },
  'response-not-stored': {
    status: 410,
    title: 'The answer was not kept',
    detail: 'The operation was done, but its answer is not available any more: look the result up.',
    retryable: false,
  },
  'outcome-unknown': {
    status: 409,
    title: 'The outcome is not known yet',
    detail:
      'An earlier attempt may have taken effect and is being looked into. It is not run again; ask later with the same key.',
    retryable: true,
  },
  pending: {
    status: 202,
    title: 'Accepted',
    detail: 'The operation is accepted and not finished; ask later with the same key.',
    retryable: true,
  },
  'in-progress': {
    status: 409,
    title: 'The operation is in progress',
    detail: 'A request with this key is being worked on: wait, then send the same request again.',
    retryable: true,
  },
  'attempts-exhausted': {
    status: 409,
    title: 'No attempts are left',
    detail:
      'This operation was attempted as often as allowed without taking effect: use a new key to start over.',
    retryable: false,
  },
  'request-invalid': {
    status: 400,
    title: 'The request is not valid',
    detail:
      'Nothing was done, and the key is still free: correct the request and send it, under the same key or a new one.',
    retryable: false,
  },
  limited: {
    status: 429,
    title: 'Too many new keys',
    detail: 'Too many operations were started: wait, then send the same request again.',
    retryable: true,
  },
};

/** The header that carries keys where a route names no other. */
export const KEY_HEADER = 'Idempotency-Key';

/** A case in the words of a route whose keys come in this place, as a profile is told of it. */
export function problemOf(code: ProblemCode, keyHeader: string = KEY_HEADER): Problem {
  const problem = PROBLEMS[code];
  if (keyHeader === KEY_HEADER) return problem;
  const place = placeOf(keyHeader);
  if (place !== null) return { ...problem, ...inPlace(problem, keyHeader, place) };
  const named = (text: string): string => text.replaceAll(KEY_HEADER, () => keyHeader);
  return { ...problem, title: named(problem.title), detail: named(problem.detail) };
}

/** The place in words; null for a header of the key's own, whose name has neither of these letters. */
function placeOf(label: string): string | null {
  if (label.startsWith('/')) return `the member ${label} of its JSON body`;
  if (label.startsWith('?')) return `the parameter ${label.slice(1)} of its query`;
  const [header, member] = label.split('#/');
  return member === undefined ? null : `the member /${member} of its header ${header}`;
}

function inPlace(
  { title, detail }: Problem,
  label: string,
  place: string,
): Pick<Problem, 'title' | 'detail'> {
  const named = (text: string): string =>
    text
      .replaceAll(`an ${KEY_HEADER} header`, () => `a key in ${place}`)
      .replaceAll(KEY_HEADER, () => label)
      .replaceAll('one quoted String (RFC 9651)', 'one text');
  return { title: named(title), detail: named(detail) };
}

/** Outcomes that a problem answers, that is, all but those which give a handler's own answer. */
export type ProblemOutcome = Exclude<Outcome, { kind: 'executed' | 'replay' }>;

/** The code that an outcome is answered with. */
export function problemCode(outcome: ProblemOutcome): ProblemCode {
  switch (outcome.kind) {
    case 'key-malformed':
      return KEY_PROBLEMS[outcome.fault];
    case 'request-unreadable':
      return 'body-unreadable';
    case 'request-malformed':
      return 'body-malformed';
    case 'request-too-large':
      return 'body-too-large';
    case 'unavailable':
      return UNAVAILABLE_PROBLEMS[outcome.because];
    case 'expired':
      return 'key-expired';
    case 'mismatch':
      return 'key-reused';
    case 'unknown':
      return 'outcome-unknown';
    case 'anonymous':
    case 'key-missing':
    case 'request-time-invalid':
    case 'request-too-old':
    case 'response-not-stored':
    case 'pending':
    case 'in-progress':
    case 'attempts-exhausted':
    case 'request-invalid':
    case 'limited':
      return outcome.kind;
    default:
      return outcome satisfies never;
  }
}

const KEY_PROBLEMS: Readonly<Record<KeyFault, ProblemCode>> = {
  missing: 'key-missing',
  empty: 'key-empty',
  blank: 'key-blank',
  'too-short': 'key-too-short',
  'too-long': 'key-too-long',
  'control-character': 'key-control-character',
  'not-ascii': 'key-not-ascii',
  several: 'key-several',
  grammar: 'key-grammar',
  'not-uuid': 'key-not-uuid',
  'personal-data': 'key-personal-data',
};

const UNAVAILABLE_PROBLEMS: Readonly<Record<UnavailableReason, ProblemCode>> = {
  store: 'store-unavailable',
  'store-full': 'store-full',
  closing: 'closing',
  'newer-format': 'record-newer',
  'other-label': 'record-newer',
  limiter: 'limiter-unavailable',
  moved: 'request-moved',
  'kept-elsewhere': 'kept-elsewhere',
  'bridge-unfit': 'bridge-unfit',
  'too-large-now': 'body-too-large-now',
  'replay-hook': 'replay-unavailable',
  unreadable: 'record-sealed',
};

function keyProblem(what: string): Problem {
  return {
    status: 400,
    title: `Idempotency-Key ${what}`,
    detail: `The Idempotency-Key ${what}: send one quoted String (RFC 9651) of printable ASCII, such as a UUID.`,
    retryable: false,
  };
}

function unavailableProblem(detail: string): Problem {
  return {
    status: 503,
    title: 'Temporarily unavailable',
    detail: `${detail} Send the same request again.`,
    retryable: true,
  };
}
