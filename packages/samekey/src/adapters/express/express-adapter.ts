/**
 * The Express adapter: middleware of one route. It goes after authentication and before the body parser.
 */

import type { Request, RequestHandler } from 'express';
import type { Engine } from '../../engine/engine.ts';
import { OptionsError } from '../../core/errors.ts';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, type RouteOptions } from '../../http/route.ts';
import { attemptOf, NodeExchange } from '../../http-node/node-exchange.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';
import { hearErrors } from './declared.ts';
import { matchedRoute } from './matched-route.ts';

/**
 * Protects a route: same key, same answer.
 *
 * ```ts
 * app.post(
 *   '/payments',
 *   authenticate,
 *   idempotent(samekey, { policy: 'payments', scope: (req) => [req.user.accountId] }),
 *   express.json(),
 *   async (req, res) => {
 *     res.status(201).json(await charge(req.body));
 *   },
 * );
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent(samekey: Samekey, options: RouteOptions<Request>): RequestHandler {
  const { engine, defaults } = internalsOf(samekey);
  const route = compileRoute<Request>(defaults, options, engine.world, engine.fingerprintSecrets);
  const protect: RequestHandler = (req, res, next) => {
    const outer = attemptOf(req);
    if (outer !== null && route.methods.has(req.method.toUpperCase())) {
      // It would meet its own claim, or hold an answer that is held already. Nothing has run yet.
      outer.notExecuted();
      return next(protectedTwice(engine));
    }
    hearErrors(req);
    const exchange = new NodeExchange<Request>(req, res, route, engine, {
      route: matchedRoute(req, next, protect),
      next: () => next(),
      fail: next,
    });
    void handle(engine, route, exchange);
  };
  return markProtected(protect, { ...route, answers: false });
}

function protectedTwice(engine: Engine): OptionsError {
  const error = new OptionsError(
    'This request went through idempotent() twice: use it in app.use or on the route, not in both.',
  );
  engine.misuse('protected-twice', error.message);
  return error;
}
