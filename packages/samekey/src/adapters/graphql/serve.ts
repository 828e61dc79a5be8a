/** Serves an operation as a field: the field's arguments become the operation's input, its reply the field's value. */

import type { GraphQLResolveInfo } from 'graphql';
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
import type { Operation } from '../../ways/define-operation.ts';
import { type GraphqlOwnOptions, mark, marked, OWN_ROWS, type Resolver } from './graphql-adapter.ts';
import { callOf, type GraphqlCall } from './graphql-call.ts';
import { errorClassOf, valueOrThrow } from './graphql-errors.ts';

/** Options of a served operation. */
export interface GraphqlServeOptions<Args, Context, Input>
  extends CallServeOptions<GraphqlCall<Args, Context>, Input>,
    GraphqlOwnOptions<Args, Context> {}

/** Options of the status of an operation's calls. */
export type GraphqlStatusOptions<Args, Context> = CallStatusOptions<GraphqlCall<Args, Context>>;

const ROWS = { ...CALL_SERVE_ROWS, ...OWN_ROWS } satisfies Table<
  CallServeOptions<never, never> & GraphqlOwnOptions<never, never>
>;

/**
 * The resolver of a mutation's field, of what `samekey.transactional` and its like have defined. The input is the
 * field's arguments, unless `input` makes another. Throws `OptionsError` at once for options that cannot work.
 */
export function serve<Args, Context, Input, Value>(
  operation: Operation<Input, Value>,
  options: GraphqlServeOptions<Args, Context, Input>,
): Resolver<unknown, Args, Context, Promise<Value>> {
  readCallOptions('serve', ROWS, options);
  const { request, setHeader, ...own } = options;
  const { route, meet } = compileServedCalls<GraphqlCall<Args, Context>, Input>(
    operation,
    ({ args }) => args as unknown as Input,
    own,
  );
  const resolver = async (
    _source: unknown,
    args: Args,
    context: Context,
    info: GraphQLResolveInfo,
  ): Promise<Value> => {
    const native = { args, context, info };
    const Own = errorClassOf(info.schema);
    const call = callOf(native, request?.(native));
    const end = await meet(call);
    if (!call.isOneOfSeveral) mark(end, (name, value) => setHeader?.(native, name, value));
    return valueOrThrow(end, Own) as Value;
  };
  return marked(resolver, { ...route, answers: true });
}

/**
 * The resolver of a query's field, of how a call of an operation stands: unfinished, or done with its value. Throws its
 * error where it failed, and `NOT_FOUND` for anybody else's key.
 */
export function serveStatus<Args, Context, Value>(
  operation: Operation<never, Value>,
  options: GraphqlStatusOptions<Args, Context>,
): Resolver<unknown, Args, Context, Promise<CallStatus<Value>>> {
  const ask = compileStatusCalls<GraphqlCall<Args, Context>>(operation, options);
  return async (_source, args, context, info) =>
    valueOrThrow(await ask({ args, context, info }), errorClassOf(info.schema)) as CallStatus<Value>;
}
