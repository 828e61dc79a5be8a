/**
 * The tRPC adapter: a middleware for procedures that change something (mutations).
 *
 * Invariants: what is compared is the input as the client sent it · a key in a header counts for the one call of its
 * request, and for no other · what a client is given is what was read back, be it the first time or a retry.
 *
 * Sources: @trpc/server 11.25 unstable-core-do-not-import/{middleware,procedureBuilder,http/contentType}.ts.
 */

import type { TRPCMiddlewareFunction } from '@trpc/server';
import type { Attempt } from '../../engine/attempt.ts';
import { OptionsError } from '../../core/errors.ts';
import { aFunction, anything, type Table } from '../../core/options.ts';
import {
  type Call,
  declaredBy,
  type Did,
  isKept,
  meetCall,
  wrappedCall,
} from '../../http-call/call-exchange.ts';
import { CALL_ROWS, type CallOptions, compileCalls, readCallOptions } from '../../http-call/call-route.ts';
import { markProtected } from '../../http/marker.ts';
import type { Samekey } from '../../samekey.ts';
import { statusOfError, type StoredError, type TrpcError, valueOrThrow } from './trpc-errors.ts';
import { headerLinesOf, mark, type TrpcHttp } from './trpc-http.ts';

/** A call of a procedure: what scope functions and their like get. */
export interface TrpcCall<Ctx = unknown, Input = unknown> {
  readonly ctx: Ctx;
  /** As the validators in front have left it. */
  readonly input: Input;
  readonly path: string;
}

/** A data transformer, such as superjson, or one for each direction. */
export type Transformer = OneWay | { readonly input: OneWay; readonly output: OneWay };

interface OneWay {
  // Methods: what other libraries type may be any.
  serialize(value: unknown): unknown;
  deserialize(value: unknown): unknown;
}

/** What the door knows beside a route's options. */
export interface TrpcOwnOptions<Ctx, Input> {
  /**
   * The HTTP request of a call, for keys in headers and marks on the response: what `createContext` was given, kept in
   * the context. Default none: the key comes by `keyIn`.
   */
  readonly http?: (call: TrpcCall<Ctx, Input>) => TrpcHttp | null | undefined;
  /**
   * That of `initTRPC.create`: inputs are compared, and answers stored, as it writes them. Without it an answer is what
   * plain JSON makes of it.
   */
  readonly transformer?: Transformer;
}

/** Options of protected procedures. */
export interface TrpcOptions<Ctx = unknown, Input = unknown>
  extends CallOptions<TrpcCall<Ctx, Input>, TrpcError>,
    TrpcOwnOptions<Ctx, Input> {
  /** What of an error is stored beside its code and message, as JSON; default nothing. */
  readonly errorData?: (error: TrpcError) => unknown;
}

/** The rows of {@link TrpcOwnOptions}. */
export const OWN_ROWS: Table<TrpcOwnOptions<never, never>> = {
  http: aFunction(),
  transformer: anything(),
};

const ROWS = { ...CALL_ROWS, ...OWN_ROWS, errorData: aFunction() } satisfies Table<
  CallOptions<never, never> & TrpcOwnOptions<never, never> & Pick<TrpcOptions, 'errorData'>
>;

type Result = Awaited<ReturnType<TRPCMiddlewareFunction<object, object, object, object, unknown>>>;

/** A middleware, for `use`: of tRPC's own type, with a context that can be inferred. */
export type TrpcMiddleware<Ctx, Input> = (
  opts: TrpcCall<Ctx, Input> & {
    readonly type: string;
    readonly getRawInput: () => Promise<unknown>;
    readonly next: {
      (): Promise<Result>;
      (options: { readonly ctx: object }): Promise<Result>;
    };
  },
) => Promise<Result>;

const ATTEMPT: unique symbol = Symbol.for('samekey.trpc.attempt');

/** The attempt that a call runs under, by its context; null when the call is not protected. */
export function attemptOf(ctx: object): Attempt | null {
  return (ctx as { readonly [ATTEMPT]?: Attempt | null })[ATTEMPT] ?? null;
}

/**
 * Protects mutations: same key, same answer. Queries and subscriptions pass.
 *
 * ```ts
 * const payments = t.procedure.input(NewPayment).use(
 *   idempotent(samekey, { policy: 'payments', scope: ({ ctx }) => [ctx.accountId], http: ({ ctx }) => ctx.http }),
 * );
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent<Ctx, Input = unknown>(
  samekey: Samekey,
  options: TrpcOptions<Ctx, Input>,
): TrpcMiddleware<Ctx, Input> {
  readCallOptions('idempotent', ROWS, options);
  const { http: httpOf, transformer, statusOf, errorData, ...own } = options;
  const { input, output } = bothWays(transformer);
  const routes = compileCalls(samekey, own, {
    // Of an error its data are plain.
    read: (status, value) => ({ value: status < 400 ? output.deserialize(value) : value }),
    write: (status, value) => (status < 400 ? output.serialize(value) : value),
  });
  const didOf = (result: Result): Did => {
    if (result.ok) return { status: 200, value: lazily(() => output.serialize(result.data)) };
    const { error } = result;
    const declared = declaredBy(error);
    const status = declared === undefined ? statusOfError(error, statusOf) : null;
    if (status === null) return { status, error: declared ?? error };
    const data = errorData === undefined ? undefined : lazily(() => errorData(error));
    return { status, value: { code: error.code, message: error.message, data } satisfies StoredError };
  };
  const middleware: TrpcMiddleware<Ctx, Input> = async (opts) => {
    const { type, path, next } = opts;
    if (type !== 'mutation') return next();
    const http = httpOf?.(opts) ?? null;
    const raw = await opts.getRawInput();
    const route = routes.of(path);
    if (raw !== undefined && opts.input === undefined && route.schema === null)
      routes.engine.misuse('input-unchecked', UNCHECKED, path);
    let result: Result | undefined;
    const run = async (attempt: Attempt): Promise<Did> =>
      didOf((result = await next({ ctx: { [ATTEMPT]: attempt } })));
    const call = callOf(opts, input.serialize(raw), http);
    const end = await meetCall(routes.engine, route, call, wrappedCall(route, raw, run));
    if (end.kind === 'passed') return next({ ctx: { [ATTEMPT]: null } });
    mark(http, path, end);
    const failed = result?.ok === false ? result : undefined;
    // What no retry will get is as the procedure gave it.
    if (failed !== undefined && !isKept(route, end)) return failed;
    const value = valueOrThrow(end, failed?.error);
    return { ok: true, data: output.deserialize(value), marker: MARKER };
  };
  return markProtected(middleware, { ...routes.common, answers: false });
}

const UNCHECKED =
  'idempotent() was given an input that no .input(…) in front of it has checked. What a validator behind it refuses is stored as an answer: put idempotent() behind .input(…), or give it the schema. Of a procedure without .input(…) a client sends an input that nobody reads.';

/** What tRPC knows results of middleware by. */
const MARKER = 'middlewareMarker' as Result['marker'];

/** A call as its flow sees it. */
export function callOf<Ctx, Input>(
  native: TrpcCall<Ctx, Input>,
  input: unknown,
  http: TrpcHttp | null,
): Call<TrpcCall<Ctx, Input>> {
  return {
    native,
    input,
    headerLines: (name) => headerLinesOf(http, native.path, name),
    isOneOfSeveral: (http?.info.calls.length ?? 0) > 1,
  };
}

const AS_IT_IS: OneWay = { serialize: (value) => value, deserialize: (value) => value };

/** The transformer of each direction. Throws `OptionsError`. */
export function bothWays(transformer: Transformer = AS_IT_IS): {
  readonly input: OneWay;
  readonly output: OneWay;
} {
  const both = 'input' in transformer ? transformer : { input: transformer, output: transformer };
  // Met when an answer is to be stored, it would be a fault of work that is done.
  for (const way of [both.input, both.output] as readonly (Partial<OneWay> | undefined)[])
    if (typeof way?.serialize !== 'function' || typeof way.deserialize !== 'function')
      throw new OptionsError(
        'transformer is that of initTRPC.create, such as superjson: { serialize, deserialize }, or { input, output } of two such.',
      );
  return both;
}

/**
 * A value that is made when it is stored. Where that throws, the answer is not stored, and its work is done. JSON asks
 * what `toJSON` gives for no `toJSON` of its own, which may be all that hides a member.
 */
function lazily(make: () => unknown): unknown {
  return {
    toJSON(name: string): unknown {
      const made = make() as { toJSON?(name: string): unknown } | null | undefined;
      return typeof made?.toJSON === 'function' ? made.toJSON(name) : made;
    },
  };
}
