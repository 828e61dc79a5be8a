/**
 * The GraphQL adapter: wraps the resolver of a mutation's field, for graphql-js and every server on it.
 *
 * Invariants: what is compared are the field's arguments, never the document · what is stored is what the resolver
 * gave, before the selection, so that a retry may select other members of the same object · an error beside data proves
 * nothing, and the outcome is unknown.
 */

import type { GraphQLResolveInfo } from 'graphql';
import type { Attempt } from '../../engine/attempt.ts';
import { OptionsError } from '../../core/errors.ts';
import { aFunction, type Table } from '../../core/options.ts';
import { registered } from '../../core/registered.ts';
import {
  declaredBy,
  type Did,
  type Ended,
  isKept,
  meetCall,
  wrappedCall,
} from '../../http-call/call-exchange.ts';
import { CALL_ROWS, type CallOptions, compileCalls, readCallOptions } from '../../http-call/call-route.ts';
import type { RequestOfCalls } from '../../http-call/request-lines.ts';
import { markProtected, type Protection } from '../../http/marker.ts';
import type { Samekey } from '../../samekey.ts';
import { callOf, type GraphqlCall, nameOf } from './graphql-call.ts';
import {
  errorClassOf,
  type ResolverError,
  statusOfError,
  storedError,
  valueOrThrow,
} from './graphql-errors.ts';

/** What the door knows beside a route's options. */
export interface GraphqlOwnOptions<Args, Context> {
  /** The HTTP request of a field's document, for keys in a header; default none: the key comes by `keyIn`. */
  readonly request?: (call: GraphqlCall<Args, Context>) => RequestOfCalls | null | undefined;
  /**
   * Sets a header line of the response, for marks (`Idempotency-Replayed` …) and `Retry-After`: called where the field
   * is the only one of its document.
   */
  readonly setHeader?: (call: GraphqlCall<Args, Context>, name: string, value: string) => void;
}

/** Options of a protected field. */
export interface GraphqlOptions<Args = unknown, Context = unknown>
  extends CallOptions<GraphqlCall<Args, Context>, ResolverError>,
    GraphqlOwnOptions<Args, Context> {}

/** The rows of {@link GraphqlOwnOptions}. */
export const OWN_ROWS: Table<GraphqlOwnOptions<never, never>> = {
  request: aFunction(),
  setHeader: aFunction(),
};

const ROWS = { ...CALL_ROWS, ...OWN_ROWS } satisfies Table<
  CallOptions<never, never> & GraphqlOwnOptions<never, never>
>;

/** A resolver. */
export type Resolver<Source, Args, Context, Result> = (
  source: Source,
  args: Args,
  context: Context,
  info: GraphQLResolveInfo,
) => Result;

const attempts = registered('attempts', () => new WeakMap<object, Attempt>());

/** The attempt that a resolver runs under, by its info; null when the field is not protected. */
export function attemptOf(info: GraphQLResolveInfo): Attempt | null {
  return attempts.get(info) ?? null;
}

/**
 * Protects the resolver of a mutation's field: same key, same answer. Fields of queries and subscriptions pass.
 *
 * ```ts
 * const pay = idempotent(
 *   samekey,
 *   { policy: 'payments', scope: ({ context }) => context.accountId, keyIn: ({ args }) => args.key },
 *   (_source: unknown, args: Payment, context: Context) => charge(args),
 * );
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent<Source, Args, Context, Result>(
  samekey: Samekey,
  options: GraphqlOptions<Args, Context>,
  resolver: Resolver<Source, Args, Context, Result>,
): Resolver<Source, Args, Context, Promise<Awaited<Result>>> {
  readCallOptions('idempotent', ROWS, options);
  const { request, setHeader, statusOf, ...own } = options;
  const routes = compileCalls(samekey, own);
  if (typeof resolver !== 'function')
    throw new OptionsError(
      'The resolver of idempotent() is no function: pass (source, args, context, info) => …',
    );
  const protectedResolver = async (
    source: Source,
    args: Args,
    context: Context,
    info: GraphQLResolveInfo,
  ): Promise<Awaited<Result>> => {
    if (String(info.operation.operation) !== 'mutation') return await resolver(source, args, context, info);
    const native = { args, context, info };
    const Own = errorClassOf(info.schema);
    const route = routes.of(nameOf(info));
    const call = callOf(native, request?.(native));
    let done: Done<Awaited<Result>> | undefined;
    const run = async (attempt: Attempt): Promise<Did> => {
      attempts.set(info, attempt);
      done = await settle(() => resolver(source, args, context, info));
      if (done.kind === 'error') return failureOf(done.error, statusOf);
      if (done.kind === 'partial') attempt.unknown('partial-data');
      return { status: 200, value: done.value };
    };
    const end = await meetCall(routes.engine, route, call, wrappedCall(route, args, run));
    if (end.kind === 'passed') return await resolver(source, args, context, info);
    if (!call.isOneOfSeveral) mark(end, (name, value) => setHeader?.(native, name, value));
    // What no retry will get is as the resolver gave it.
    if (done?.kind === 'error' && !isKept(route, end)) throw done.error;
    if (done?.kind === 'partial' && end.kind === 'answered') return done.value;
    return valueOrThrow(end, Own, done?.kind === 'error' ? done.error : undefined) as Awaited<Result>;
  };
  return marked(protectedResolver, { ...routes.common, answers: true });
}

/**
 * Marks a resolver as protected, and every copy of it that is bound: builders of schemas (graphql-tools) bind
 * resolvers, and a bound function does not have the marks of the first one.
 */
export function marked<Fn extends (...args: never) => unknown>(resolver: Fn, protection: Protection): Fn {
  const bind = (...args: [unknown]): Fn =>
    marked(Function.prototype.bind.apply(resolver, args) as Fn, protection);
  return Object.defineProperty(markProtected(resolver, protection), 'bind', {
    value: bind,
    configurable: true,
  });
}

/** What a resolver did. */
type Done<Value> =
  | { readonly kind: 'whole' | 'partial'; readonly value: Value }
  | { readonly kind: 'error'; readonly error: unknown };

async function settle<Value>(run: () => Value): Promise<Done<Awaited<Value>>> {
  try {
    const value = await run();
    // Given instead of thrown, it is an error all the same (graphql-js, `completeValue`).
    if (value instanceof Error) return { kind: 'error', error: value };
    return { kind: holdsError(value) ? 'partial' : 'whole', value };
  } catch (error) {
    return { kind: 'error', error };
  }
}

/** Whether errors stand in the place of parts of it: what the others have done is done. */
function holdsError(value: unknown): boolean {
  const seen = new Set<unknown>([value]);
  try {
    // What is added while it is walked through is walked through too.
    for (const each of seen) {
      if (each instanceof Error) return true;
      if (typeof each === 'object' && each !== null) for (const part of Object.values(each)) seen.add(part);
    }
  } catch {
    // A member that cannot be read cannot be stored either: that is told where it is stored.
  }
  return false;
}

function failureOf(
  error: unknown,
  own: ((error: ResolverError) => number | null | undefined) | undefined,
): Did {
  const declared = declaredBy(error);
  const status = declared === undefined && error instanceof Error ? statusOfError(error, own) : null;
  return status === null
    ? { status, error: declared ?? error }
    : { status, value: storedError(error as ResolverError) };
}

/** Tells the marks of an answer. */
export function mark(end: Ended, set: (name: string, value: string) => void): void {
  if ('lines' in end) for (const [name, value] of end.lines) set(name, value);
}
