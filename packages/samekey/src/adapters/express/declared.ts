/**
 * Express answers for a handler that throws, so Samekey sees the error page and not the error. Two kinds of error must
 * be seen all the same: `NotExecutedError`, by which a handler says that nothing happened, and `OutcomeUnknownError`,
 * by which it says that nobody knows (contract §6.2).
 *
 * Invariant: the error goes on to whatever error middleware the application has; only the attempt is told.
 */

import type { ErrorRequestHandler, IRoute, Request } from 'express';
import { tellDeclared } from '../../engine/attempt.ts';
import { noteThrown } from '../../http-node/capture.ts';
import { attemptOf } from '../../http-node/node-exchange.ts';

/** Methods whose handlers are listened to, by route. */
const heard = new WeakMap<object, Set<string>>();

/**
 * Error middleware that tells the attempt what an error declares (`NotExecutedError`, `OutcomeUnknownError`). Routes
 * get it by themselves; where `idempotent` stands in `app.use`, put it before your own error middleware.
 */
export const noteDeclared: ErrorRequestHandler = (error, req, res, next) => {
  noteThrown(res, error);
  const attempt = attemptOf(req);
  if (attempt !== null) tellDeclared(attempt, error);
  next(error);
};

/**
 * Puts it behind the handlers of the request's route, once. For the method that has matched, so that the route takes
 * the same methods as before; a stack is walked by index, so the request under way meets it too.
 */
export function hearErrors(req: Request): void {
  const route = req.route as (IRoute & Record<string, unknown>) | undefined;
  const method = req.method.toLowerCase();
  if (typeof route?.[method] !== 'function') return;
  let methods = heard.get(route);
  if (methods === undefined) {
    methods = new Set();
    heard.set(route, methods);
  }
  if (methods.has(method)) return;
  methods.add(method);
  (route[method] as (handler: ErrorRequestHandler) => unknown)(noteDeclared);
}
