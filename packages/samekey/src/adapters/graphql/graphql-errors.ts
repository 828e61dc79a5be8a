/** Errors of GraphQL and the statuses that their codes stand for, in both directions. */

import type { GraphQLError, GraphQLScalarType, GraphQLSchema } from 'graphql';
import { OptionsError } from '../../core/errors.ts';
import type { Ended, Refusal } from '../../http-call/call-exchange.ts';

/** An error of a resolver, as far as it says what it is. */
export interface ResolverError extends Error {
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** An error as it is stored. */
interface StoredError {
  readonly message: string;
  readonly extensions: object;
}

/** What an error of this door says in `extensions`. */
export interface IdempotencyExtensions {
  readonly code: string;
  /** Why the field was not resolved: the problem, whether to retry, and when. */
  readonly idempotency?: Refusal;
  /** The value of an operation's refusal. */
  readonly details?: unknown;
}

/** The one table: codes as servers use them, the first of each status for errors of our own. */
const STATUSES: Readonly<Record<string, number>> = {
  BAD_USER_INPUT: 400,
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  UNAUTHORIZED: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  TIMEOUT: 408,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  GONE: 410,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNPROCESSABLE_CONTENT: 422,
  UNPROCESSABLE_ENTITY: 422,
  TOO_MANY_REQUESTS: 429,
  RATE_LIMITED: 429,
  BAD_GATEWAY: 502,
  SERVICE_UNAVAILABLE: 503,
  GATEWAY_TIMEOUT: 504,
};

/** The status that an error ends an attempt with; null: it was thrown. `own` is asked first. */
export function statusOfError(
  error: ResolverError,
  own: ((error: ResolverError) => number | null | undefined) | undefined,
): number | null {
  const said = own?.(error);
  if (said !== undefined) return said;
  const { code, http } = error.extensions ?? {};
  // As Yoga and Apollo take it.
  const { status } = (http ?? {}) as { readonly status?: unknown };
  if (Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599) return Number(status);
  return typeof code === 'string' && Object.hasOwn(STATUSES, code) ? (STATUSES[code] ?? null) : null;
}

/** What is stored of an error: what clients are told, and the status of its response but no header lines. */
export function storedError({ message, extensions = {} }: ResolverError): StoredError {
  const { http, ...rest } = extensions;
  const { status } = (http ?? {}) as { readonly status?: unknown };
  return { message, extensions: status === undefined ? rest : { ...rest, http: { status } } };
}

function codeOf(status: number): string {
  if (status < 400) return 'CONFLICT';
  const [code] = Object.entries(STATUSES).find(([, each]) => each === status) ?? [];
  return code ?? (status < 500 ? 'BAD_USER_INPUT' : 'INTERNAL_SERVER_ERROR');
}

/** The application's class of errors. */
type ErrorClass = typeof GraphQLError;

const classes = new WeakMap<GraphQLSchema, ErrorClass>();

/**
 * The application's own class of errors, by which servers tell those that are for clients from those that they hide:
 * taken from what its scalars throw, as there may be other copies of graphql. Throws `OptionsError` if they throw none.
 */
export function errorClassOf(schema: GraphQLSchema): ErrorClass {
  let found = classes.get(schema);
  if (found === undefined) {
    try {
      (schema.getType('Boolean') as GraphQLScalarType).serialize({});
    } catch (error) {
      const { name, constructor } = error as Error;
      if (name === 'GraphQLError') found = constructor as unknown as ErrorClass;
    }
    if (found === undefined) throw new OptionsError(NO_CLASS);
    classes.set(schema, found);
  }
  return found;
}

const NO_CLASS =
  'samekey/graphql needs graphql 16 or newer, and its own scalar Boolean: errors for clients are of its class.';

/** The value of a field. Throws for what is an error to its caller; `original`: what this very call has thrown. */
export function valueOrThrow(end: Ended, Own: ErrorClass, original?: unknown): unknown {
  if (end.kind === 'threw') throw end.error;
  const raise = (message: string, extensions: object): never => {
    const error = new Own(message, { extensions: { ...extensions } });
    // Not as the `originalError`, which servers look into when they decide what to hide.
    throw original === undefined ? error : Object.defineProperty(error, 'cause', { value: original });
  };
  if (end.kind === 'refused') {
    const { refusal } = end;
    return raise(refusal.detail, { code: codeOf(refusal.status), idempotency: refusal });
  }
  const { status, value } = end;
  if (status < 400) return value;
  const { message, extensions } = (value ?? {}) as Partial<StoredError>;
  if (extensions !== undefined) return raise(String(message), extensions);
  const code = codeOf(status);
  return raise(code, value === undefined ? { code } : { code, details: value });
}
