/**
 * Serves an operation on an Express route: the request becomes the operation's input, its reply the answer. Nothing of
 * the framework's handlers runs, so nothing can leave before the record stands for it.
 */

import type { Request, RequestHandler } from 'express';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import { asError, asTables, NodeExchange } from '../../http-node/node-exchange.ts';
import { sendAnswer } from '../../http-node/send-held.ts';
import type { Operation } from '../../ways/define-operation.ts';

/**
 * The handler of a route, for what `samekey.transactional` and its like have defined. It goes after authentication; no
 * body parser is needed.
 *
 * ```ts
 * app.post('/orders', authenticate, serve(placeOrder, { scope: (req) => [req.user.accountId] }));
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function serve<Input>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<Request, Input>,
): RequestHandler {
  const { engine, route, wrapped } = compileServed<Request, Input>(operation, options);
  const answer: RequestHandler = (req, res, next) => {
    if (route.methods.has(req.method.toUpperCase())) asTables(req, res);
    const exchange = new NodeExchange<Request>(req, res, route, engine, {
      native: req,
      route: null,
      next: () => next(),
      fail: next,
    });
    void handle(engine, route, exchange, wrapped);
  };
  return markProtected(answer, { ...route, answers: true });
}

/**
 * The status resource of an operation, for a GET route: 202 while it is unfinished, then the stored answer; 404 for
 * anybody else's.
 *
 * ```ts
 * app.get(
 *   '/reports/status/:key',
 *   serveStatus(report, { scope: (req) => [req.user.accountId], key: (req) => req.params.key }),
 * );
 * ```
 */
export function serveStatus(
  operation: Operation<never, unknown>,
  options: StatusOptions<Request>,
): RequestHandler {
  const status = createStatus<Request>(operation, options);
  return async (req, res, next) => {
    try {
      sendAnswer(res, await status(req));
    } catch (error) {
      next(asError(error));
    }
  };
}
