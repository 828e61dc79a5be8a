/**
 * The Express adapter: middleware of one route. It goes after authentication and before the body parser.
 */

import type { Request, RequestHandler } from 'express';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, type RouteOptions } from '../../http/route.ts';
import { protectedTwice } from '../../http/twice.ts';
import { asTables, attemptOf, NodeExchange } from '../../http-node/node-exchange.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';
import { hearErrors } from './hear-errors.ts';
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
    const protects = route.methods.has(req.method.toUpperCase());
    const outer = attemptOf(req);
    if (outer !== null && protects) return next(protectedTwice(engine, outer));
    // Before anything looks at them.
    if (protects) asTables(req, res);
    hearErrors(req);
    const exchange = new NodeExchange<Request>(req, res, route, engine, {
      native: req,
      route: matchedRoute(req, next, protect),
      next: () => next(),
      fail: next,
    });
    void handle(engine, route, exchange);
  };
  return markProtected(protect, { ...route, answers: false });
}
