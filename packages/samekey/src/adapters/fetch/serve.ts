/**
 * Serves an operation as a handler `Request → Response`: the request becomes the operation's input, its reply the
 * answer.
 */

import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { FetchExchange, toResponse } from '../../http-fetch/fetch-exchange.ts';
import type { FetchContext } from '../../http-fetch/keep-alive.ts';

/**
 * The handler of what `samekey.transactional` and its like have defined. Requests that are not protected (GET) answer
 * 405. Pass the runtime's context where it ends work with the answer (Workers). Throws `OptionsError`.
 */
export function serve<Input>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<Request, Input>,
): (request: Request, context?: FetchContext) => Promise<Response> {
  const { engine, route, wrapped } = compileServed<Request, Input>(operation, options);
  const answer = (request: Request, context: FetchContext = {}): Promise<Response> => {
    const exchange = new FetchExchange(request, route, engine, () => methodNotAllowed(route.methods));
    const done = handle(engine, route, exchange, wrapped);
    context.waitUntil?.(done);
    return exchange.response;
  };
  return markProtected(answer, { ...route, answers: true });
}

function methodNotAllowed(methods: ReadonlySet<string>): Response {
  return new Response(null, { status: 405, headers: { Allow: [...methods].join(', ') } });
}

/**
 * The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's.
 */
export function serveStatus(
  operation: Operation<never, unknown>,
  options: StatusOptions<Request>,
): (request: Request) => Promise<Response> {
  const status = createStatus<Request>(operation, options);
  return async (request) => toResponse(await status(request));
}
