/**
 * Listens to the errors of a route's handlers, for what they declare (contract §6.2): Express answers for a handler
 * that throws, so Samekey sees the error page and not the error.
 */

import type { ErrorRequestHandler, IRoute, Request } from 'express';
import { noteDeclared } from '../../http-node/declared.ts';

/** Methods whose handlers are listened to, by route. */
const heard = new WeakMap<object, Set<string>>();

/**
 * Puts `noteDeclared` behind the handlers of the request's route, once. For the method that has matched, so that the
 * route takes the same methods as before; a stack is walked by index, so the request under way meets it too.
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
