/**
 * Serves an operation on a Fastify route: the request becomes the operation's input, its reply the answer. Nothing of
 * the route's serializers runs, so nothing can leave before the record stands for it.
 */

import type {
  FastifyReply,
  FastifyRequest,
  preParsingHookHandler,
  RouteHandlerMethod,
  RouteShorthandOptionsWithHandler,
} from 'fastify';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import { sendAnswer } from '../../http-node/send-held.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { DOOR } from './fastify-adapter.ts';
import { type Door, exchangeOf, readAhead } from './fastify-exchange.ts';

/**
 * The options and the handler of a route, for what `samekey.transactional` and its like have defined. Requests that are
 * not protected are answered with 405.
 *
 * ```ts
 * app.post('/orders', { ...serve(placeOrder, { scope: (request) => request.user.id }), onRequest: authenticate });
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function serve<Input>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<FastifyRequest, Input>,
): RouteShorthandOptionsWithHandler {
  const door: Door = compileServed<FastifyRequest, Input>(operation, options);
  const { engine, route, wrapped } = door;
  const preParsing: preParsingHookHandler = (request, reply, payload, done) =>
    void readAhead(door, request, reply, {
      next: () => done(null, payload),
      fail: (error) => done(error as Error),
    });
  const handler: RouteHandlerMethod = (request, reply) => {
    const next = (): void =>
      void reply
        .code(405)
        .header('Allow', [...route.methods].join(', '))
        .send();
    const exchange = exchangeOf(door, request, reply, { next, fail: (error) => void reply.send(error) });
    void handle(engine, route, exchange, wrapped);
  };
  return {
    config: { [DOOR]: door } as NonNullable<RouteShorthandOptionsWithHandler['config']>,
    preParsing,
    handler: markProtected(handler, { ...route, answers: true }),
  };
}

/** The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's. */
export function serveStatus(
  operation: Operation<never, unknown>,
  options: StatusOptions<FastifyRequest>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const status = createStatus<FastifyRequest>(operation, options);
  return async (request, reply) => {
    const answer = await status(request);
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    sendAnswer(reply.raw, answer);
  };
}
