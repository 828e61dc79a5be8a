/** Serves an operation as a mutation of tRPC: the call's input becomes the operation's, its reply the answer. */

import type { Table } from '../../core/options.ts';
import {
  CALL_SERVE_ROWS,
  type CallServeOptions,
  type CallStatus,
  type CallStatusOptions,
  compileServedCalls,
  compileStatusCalls,
  readCallOptions,
} from '../../http-call/call-route.ts';
import { markProtected } from '../../http/marker.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { bothWays, callOf, OWN_ROWS, type TrpcCall, type TrpcOwnOptions } from './trpc-adapter.ts';
import { valueOrThrow } from './trpc-errors.ts';
import { mark } from './trpc-http.ts';

/** Options of a served operation. */
export interface TrpcServeOptions<Ctx, Input>
  extends CallServeOptions<TrpcCall<Ctx, Input>, Input>,
    TrpcOwnOptions<Ctx, Input> {}

/** Options of the status of an operation's calls. */
export type TrpcStatusOptions<Ctx, Input> = CallStatusOptions<TrpcCall<Ctx, Input>>;

/** A call, as a resolver gets it. */
interface ServedCall<Ctx, Input> extends TrpcCall<Ctx, Input> {
  /**
   * The input as the client sent it. tRPC 11 gives it to resolvers, and its types do not say so: what a validator adds
   * (a default, a new id) would make each retry another request.
   */
  readonly getRawInput?: () => Promise<unknown>;
}

const ROWS = { ...CALL_SERVE_ROWS, ...OWN_ROWS } satisfies Table<
  CallServeOptions<never, never> & TrpcOwnOptions<never, never>
>;

/**
 * The resolver, for `mutation`, of what `samekey.transactional` and its like have defined. Throws `OptionsError` at
 * once for options that cannot work.
 */
export function serve<Ctx, Input, Value>(
  operation: Operation<Input, Value>,
  options: TrpcServeOptions<Ctx, Input>,
): (call: ServedCall<Ctx, Input>) => Promise<Value> {
  readCallOptions('serve', ROWS, options);
  const { http: httpOf, transformer, ...own } = options;
  const { input } = bothWays(transformer);
  const { route, meet } = compileServedCalls<TrpcCall<Ctx, Input>, Input>(
    operation,
    (call) => call.input,
    own,
  );
  const resolver = async (native: ServedCall<Ctx, Input>): Promise<Value> => {
    const http = httpOf?.(native) ?? null;
    const raw = native.getRawInput === undefined ? native.input : await native.getRawInput();
    const end = await meet(callOf(native, input.serialize(raw), http));
    mark(http, native.path, end);
    return valueOrThrow(end) as Value;
  };
  return markProtected(resolver, { ...route, answers: true });
}

/**
 * The resolver, for `query`, of how a call of an operation stands: unfinished, or done with its value. Throws its error
 * where it failed, and `NOT_FOUND` for anybody else's key.
 */
export function serveStatus<Ctx, Input, Value>(
  operation: Operation<never, Value>,
  options: TrpcStatusOptions<Ctx, Input>,
): (call: TrpcCall<Ctx, Input>) => Promise<CallStatus<Value>> {
  const ask = compileStatusCalls<TrpcCall<Ctx, Input>>(operation, options);
  return async (call) => valueOrThrow(await ask(call)) as CallStatus<Value>;
}
