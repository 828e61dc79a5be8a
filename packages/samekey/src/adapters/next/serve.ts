/** Serves an operation as a route handler of Next.js: the request becomes its input, its reply the answer. */

import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { aFunction, readOptions } from '../../core/options.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import { toResponse } from '../../http-fetch/fetch-exchange.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { answerCall, type NextCall, type NextContext, type RouteParams } from './next-exchange.ts';

/** Options of a served operation. */
export interface NextServeOptions<Call extends NextCall, Input> extends ServeOptions<Call, Input> {
  /** As in {@link NextOptions}: keeps the function alive until the record is written. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

const OWN_ROWS = { waitUntil: aFunction<(work: Promise<unknown>) => void>() };

/**
 * The route handler of what `samekey.transactional` and its like have defined. Requests that are not protected (GET)
 * answer 405. Throws `OptionsError`.
 */
export function serve<Input, Incoming extends Request = Request, Params extends RouteParams = RouteParams>(
  operation: Operation<Input, unknown>,
  options: NextServeOptions<NextCall<Incoming, Params>, Input>,
): (request: Incoming, context: NextContext<Params>) => Promise<Response> {
  const { waitUntil, ...common } = options;
  readOptions('serve', OWN_ROWS, { waitUntil });
  const { engine, route, wrapped } = compileServed<NextCall<Incoming, Params>, Input>(operation, common);
  const Allow = [...route.methods].join(', ');
  const notAllowed = (): Response => new Response(null, { status: 405, headers: { Allow } });
  const answer = async (request: Incoming, context: NextContext<Params>): Promise<Response> => {
    const call = { request, params: await context.params };
    return answerCall(engine, route, wrapped, call, waitUntil, notAllowed);
  };
  return markProtected(answer, { ...route, answers: true });
}

/** The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's. */
export function serveStatus<Incoming extends Request = Request, Params extends RouteParams = RouteParams>(
  operation: Operation<never, unknown>,
  options: StatusOptions<NextCall<Incoming, Params>>,
): (request: Incoming, context: NextContext<Params>) => Promise<Response> {
  const status = createStatus<NextCall<Incoming, Params>>(operation, options);
  return async (request, context) => toResponse(await status({ request, params: await context.params }));
}
