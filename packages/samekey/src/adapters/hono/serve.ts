/** Serves an operation on a Hono route: the request becomes the operation's input, its reply the answer. */

import type { Context } from 'hono';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import { FetchExchange, toResponse } from '../../http-fetch/fetch-exchange.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { executionOf, type HonoContext, outerHeaders, rawHeadersOf } from './hono-context.ts';
import { belowOf } from './node-server.ts';

/**
 * The handler of a route, for what `samekey.transactional` and its like have defined. Requests that are not protected
 * (GET) answer
 * 405. Throws `OptionsError`.
 *
 * ```ts
 * app.post('/orders', authenticate, serve(placeOrder, { scope: (c) => c.get('accountId') }));
 * ```
 */
export function serve<Input, C extends HonoContext = Context>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<C, Input>,
): (c: C) => Promise<Response> {
  const { engine, route, wrapped } = compileServed<C, Input>(operation, options);
  const notAllowed = { status: 405, headers: { Allow: [...route.methods].join(', ') } };
  const refuse = (): Response => new Response(null, notAllowed);
  const answer = (c: C): Promise<Response> => {
    const rawHeaders = rawHeadersOf(c);
    const place = { native: c, rawHeaders, route: null, headers: outerHeaders(c), below: belowOf(c) };
    const exchange = new FetchExchange<C>(c.req.raw, route, engine, refuse, place);
    const done = handle(engine, route, exchange, wrapped);
    if (rawHeaders === null) executionOf(c)?.waitUntil(done);
    return exchange.response;
  };
  return markProtected(answer, { ...route, answers: true });
}

/** The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's. */
export function serveStatus<C extends HonoContext = Context>(
  operation: Operation<never, unknown>,
  options: StatusOptions<C>,
): (c: C) => Promise<Response> {
  const status = createStatus<C>(operation, options);
  return async (c) => toResponse(await status(c));
}
