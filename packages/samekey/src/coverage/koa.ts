/**
 * Routes of Koa with @koa/router: the router behind `router.routes()`, whose stack holds middleware and routes in
 * order. Nested routers are flat in it. Source: @koa/router 15.7, koa 3.3.
 */

import { protectionOf } from '../http/marker.ts';
import { exemptionOf } from './exempt.ts';
import { covers, judge, mayAnswerItself, type Route, type Routes, type UnseenPart } from './listed-route.ts';

interface KoaLayer {
  readonly path: string | RegExp;
  /** None for middleware. */
  readonly methods: readonly string[];
  readonly stack: readonly unknown[];
}

interface KoaRouter {
  readonly stack: readonly KoaLayer[];
}

/** The middleware of an application, or of a router alone; null for anything else. */
export function koaMiddleware(app: unknown): readonly unknown[] | null {
  const { middleware, callback, routes, stack } = (app ?? {}) as {
    readonly middleware?: unknown;
    readonly callback?: unknown;
    readonly routes?: unknown;
    readonly stack?: unknown;
  };
  if (Array.isArray(middleware) && typeof callback === 'function') return middleware as unknown[];
  return Array.isArray(stack) && typeof routes === 'function' ? [{ router: app }] : null;
}

/** Lists them. */
export function koaRoutes(middleware: readonly unknown[]): Routes {
  const routes: Route[] = [];
  const unseen: UnseenPart[] = [];
  const before: unknown[] = [];
  for (const fn of middleware) {
    const { router } = fn as { readonly router?: KoaRouter };
    if (Array.isArray(router?.stack)) routes.push(...routesOfRouter(router.stack, before));
    else before.push(fn);
  }
  if (middleware.every((fn) => (fn as { readonly router?: KoaRouter }).router === undefined)) {
    unseen.push({
      where: 'the application',
      why: 'It has no router whose routes could be listed: use @koa/router, or describe it by an OpenAPI document.',
    });
    return { routes, unseen };
  }
  const beside = before.filter((fn) => protectionOf(fn) === null && exemptionOf(fn) === null);
  return { routes, unseen: beside.map((fn) => mayAnswerItself(fn, '')) };
}

function routesOfRouter(stack: readonly KoaLayer[], before: readonly unknown[]): readonly Route[] {
  const routes: Route[] = [];
  const active: { readonly mount: string; readonly fns: readonly unknown[] }[] = [];
  for (const { path, methods, stack: fns } of stack) {
    if (methods.length === 0) {
      // What is mounted at an expression of your own counts for nothing else.
      if (typeof path === 'string') active.push({ mount: path.replace(/\(\?:\\\/\|\$\)$/, ''), fns });
      continue;
    }
    const whole = String(path);
    const outer = active.filter(({ mount }) => covers(mount, whole)).flatMap((each) => each.fns);
    for (const method of new Set(methods)) routes.push(judge(method, whole, [...before, ...outer, ...fns]));
  }
  return routes;
}
