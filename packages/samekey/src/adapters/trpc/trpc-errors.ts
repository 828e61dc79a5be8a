/** Errors of tRPC and the statuses that they stand for, in both directions. */

import type { TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server';
import type { Ended, Refusal } from '../../http-call/call-exchange.ts';

/** An error of a procedure. */
export type TrpcError = TRPCError;

/** An error as it is stored. */
export interface StoredError {
  readonly code: TRPC_ERROR_CODE_KEY;
  readonly message: string;
  readonly data?: unknown;
}

/** What clients are to know of an error beside its code: for the router's `errorFormatter`. */
export interface IdempotencyData {
  /** Why the call was not run: the problem, whether to retry, and when. */
  readonly idempotency?: Refusal;
  /** What `errorData` has kept of the procedure's error, or the value of an operation's refusal. */
  readonly details?: unknown;
}

/** The one table. Null: whatever was thrown, which is no answer. */
const STATUSES: Readonly<Record<TRPC_ERROR_CODE_KEY, number | null>> = {
  BAD_REQUEST: 400,
  PARSE_ERROR: 400,
  UNAUTHORIZED: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_SUPPORTED: 405,
  TIMEOUT: 408,
  // It says that somebody stopped waiting, and nothing of the work.
  CLIENT_CLOSED_REQUEST: 408,
  CONFLICT: 409,
  // A 410 is told as this one, too (`codeOf`): tRPC has no code for it.
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UNPROCESSABLE_CONTENT: 422,
  PRECONDITION_REQUIRED: 428,
  TOO_MANY_REQUESTS: 429,
  INTERNAL_SERVER_ERROR: null,
  NOT_IMPLEMENTED: 501,
  BAD_GATEWAY: 502,
  SERVICE_UNAVAILABLE: 503,
  GATEWAY_TIMEOUT: 504,
};

/** The status that an error ends an attempt with; null: it was thrown. `own` is asked first. */
export function statusOfError(
  error: TrpcError,
  own: ((error: TrpcError) => number | null | undefined) | undefined,
): number | null {
  const status = own?.(error);
  return status === undefined ? (STATUSES[error.code] ?? null) : status;
}

function codeOf(status: number): TRPC_ERROR_CODE_KEY {
  if (status === 410) return 'PRECONDITION_FAILED';
  // A call that is accepted: the client's own call has not failed, and has no answer yet.
  if (status < 400) return 'CONFLICT';
  const [code] = Object.entries(STATUSES).find(([, each]) => each === status) ?? [];
  if (code !== undefined) return code as TRPC_ERROR_CODE_KEY;
  return status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR';
}

const DATA: unique symbol = Symbol.for('samekey.trpc.data');

/** What tells clients of an error: nothing unless Samekey has made it. */
export function idempotencyData(error: { readonly cause?: unknown }): IdempotencyData {
  return (error.cause as { readonly [DATA]?: IdempotencyData } | undefined)?.[DATA] ?? {};
}

/** tRPC takes by its name what another copy of it has made: https://github.com/trpc/trpc/pull/4848. */
class CallError extends Error {
  override readonly name = 'TRPCError';
  readonly code: TRPC_ERROR_CODE_KEY;

  constructor(code: TRPC_ERROR_CODE_KEY, message: string, data: IdempotencyData, original?: unknown) {
    super(message, { cause: Object.assign(new Error(message, { cause: original }), { [DATA]: data }) });
    this.code = code;
  }
}

/** The value that a call is answered with. Throws for what is an error to its caller; `original`: made by this call. */
export function valueOrThrow(end: Ended, original?: TrpcError): unknown {
  if (end.kind === 'threw') throw end.error;
  if (end.kind === 'refused') {
    const { refusal } = end;
    throw new CallError(codeOf(refusal.status), refusal.detail, { idempotency: refusal });
  }
  const { status, value } = end;
  if (status < 400) return value;
  const { code, message, data } = (value ?? {}) as Partial<StoredError>;
  if (code !== undefined && code in STATUSES)
    throw new CallError(code, String(message), data === undefined ? {} : { details: data }, original);
  throw new CallError(codeOf(status), codeOf(status), value === undefined ? {} : { details: value });
}
