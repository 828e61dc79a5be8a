/**
 * The door of plain `node:http`: wraps a request listener, or is middleware for whatever calls `(req, res, next)`.
 *
 * Invariant: an error is never answered here. The listener's promise rejects with it, as an `async` listener of Node
 * does; whoever answers it answers within the capture, and that answer decides.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Attempt } from '../../engine/attempt.ts';
import { OptionsError } from '../../core/errors.ts';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, type RouteOptions } from '../../http/route.ts';
import { protectedTwice } from '../../http/twice.ts';
import { heard } from '../../http-node/declared.ts';
import { attemptOf, NodeExchange } from '../../http-node/node-exchange.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';

/** The application's handler. `attempt` is null for requests that are not protected (GET, or no key required). */
export type NodeHandler<Req extends IncomingMessage = IncomingMessage> = (
  req: Req,
  res: ServerResponse,
  attempt: Attempt | null,
) => unknown;

/**
 * A listener for `createServer`. Resolves when the request has been answered and the handler has come back; rejects at
 * once with what the handler throws, and with mistakes of set-up: answer them as for any listener.
 */
export type NodeListener<Req extends IncomingMessage = IncomingMessage> = (
  req: Req,
  res: ServerResponse,
) => Promise<void>;

/** Middleware, as connect and its like take it. */
export type NodeMiddleware<Req extends IncomingMessage = IncomingMessage> = (
  req: Req,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * Protects a handler: same key, same answer. Without a handler it is middleware for what stands behind it.
 *
 * ```ts
 * const pay = idempotent(samekey, { policy: 'payments', operation: 'pay', scope: accountOf }, async (req, res) => {
 *   const made = await charge(await json(req));
 *   res.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify(made));
 * });
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent<Req extends IncomingMessage = IncomingMessage>(
  samekey: Samekey,
  options: RouteOptions<Req>,
): NodeMiddleware<Req>;
export function idempotent<Req extends IncomingMessage = IncomingMessage>(
  samekey: Samekey,
  options: RouteOptions<Req>,
  handler: NodeHandler<Req>,
): NodeListener<Req>;
export function idempotent<Req extends IncomingMessage>(
  samekey: Samekey,
  options: RouteOptions<Req>,
  handler?: NodeHandler<Req>,
): NodeMiddleware<Req> | NodeListener<Req> {
  const { engine, defaults } = internalsOf(samekey);
  const route = compileRoute<Req>(defaults, options, engine.world, engine.fingerprintSecrets);
  if (handler !== undefined && typeof handler !== 'function')
    throw new OptionsError(
      'The handler of idempotent() is no function: pass (req, res) => …, or leave it out.',
    );
  const protect = (req: Req, res: ServerResponse, next: (error?: unknown) => void): Promise<void> | void => {
    // Before anything is claimed: as a listener it would hold a key, and nothing would ever run.
    if (typeof next !== 'function') throw new OptionsError(NO_NEXT);
    const outer = attemptOf(req);
    if (outer !== null && route.methods.has(req.method?.toUpperCase() ?? ''))
      return next(protectedTwice(engine, outer));
    const flow = { native: req, route: null, next: () => next(), fail: next };
    return handle(engine, route, new NodeExchange<Req>(req, res, route, engine, flow));
  };
  if (handler === undefined)
    return markProtected(protect as NodeMiddleware<Req>, { ...route, answers: false });
  const listen: NodeListener<Req> = (req, res) =>
    new Promise((resolve, reject) => {
      let ran: Promise<void> | undefined;
      const done = protect(req, res, (fault) => {
        if (fault !== undefined) return reject(fault);
        ran = heard(() => handler(req, res, attemptOf(req)), req, res);
        ran.catch(reject);
      });
      void Promise.resolve(done).then(() => resolve(ran));
    });
  return markProtected(listen, { ...route, answers: true });
}

const NO_NEXT =
  'idempotent() without a handler is middleware and was called without next: give it the handler, as in createServer(idempotent(samekey, options, handler)).';
