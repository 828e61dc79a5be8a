/** Serves an operation as a listener of `node:http`: the request becomes its input, its reply the answer. */

import type { IncomingMessage } from 'node:http';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import { NodeExchange } from '../../http-node/node-exchange.ts';
import { sendAnswer } from '../../http-node/send-held.ts';
import type { Operation } from '../../ways/define-operation.ts';
import type { NodeListener } from './node-adapter.ts';

/**
 * The listener of what `samekey.transactional` and its like have defined. Requests that are not protected (GET) are
 * answered with 405. Throws `OptionsError`.
 */
export function serve<Input, Req extends IncomingMessage = IncomingMessage>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<Req, Input>,
): NodeListener<Req> {
  const { engine, route, wrapped } = compileServed<Req, Input>(operation, options);
  const notAllowed = {
    status: 405,
    headers: [['Allow', [...route.methods].join(', ')]],
    body: null,
  } as const;
  const answer: NodeListener<Req> = (req, res) =>
    new Promise((resolve, reject) => {
      const flow = { native: req, route: null, next: () => sendAnswer(res, notAllowed), fail: reject };
      void handle(engine, route, new NodeExchange<Req>(req, res, route, engine, flow), wrapped).then(resolve);
    });
  return markProtected(answer, { ...route, answers: true });
}

/** The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's. */
export function serveStatus<Req extends IncomingMessage = IncomingMessage>(
  operation: Operation<never, unknown>,
  options: StatusOptions<Req>,
): NodeListener<Req> {
  const status = createStatus<Req>(operation, options);
  return async (req, res) => sendAnswer(res, await status(req));
}
