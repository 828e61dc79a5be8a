/**
 * Routes of Hono: `app.routes`, which holds middleware and handlers in the order in which they are gone through.
 *
 * Hono does not say which is which; as its own listing does (`hono/dev`), what takes two parameters is taken for
 * middleware. A chain that is registered for a method is a route whatever it takes. Sources: hono 4.13 hono-base,
 * helper/dev, utils/handler.
 */

import { protectionOf } from '../http/marker.ts';
import { exemptionOf } from './exempt.ts';
import { CHANGING, judge, mayAnswerItself, type Route, type Routes } from './listed-route.ts';

interface HonoRoute {
  readonly method: string;
  readonly path: string;
  readonly handler: HonoHandler;
}

/** Hono's name for it (`utils/constants`). */
const COMPOSED = '__COMPOSED_HANDLER';

interface HonoHandler {
  readonly length: number;
  /** What `app.route` has put a wrapper around. */
  readonly [COMPOSED]?: HonoHandler;
}

/** The list of an application; null for anything else. */
export function honoList(app: unknown): readonly HonoRoute[] | null {
  const { routes, fetch } = (app ?? {}) as { readonly routes?: unknown; readonly fetch?: unknown };
  return Array.isArray(routes) && typeof fetch === 'function' ? (routes as HonoRoute[]) : null;
}

/** Lists them. */
export function honoRoutes(list: readonly HonoRoute[]): Routes {
  const routes: Route[] = [];
  const told = new Set<string>();
  for (const { method, path, handler } of list) {
    const isAll = method === 'ALL';
    if (isAll && inner(handler).length >= 2) continue;
    for (const each of isAll ? CHANGING : [method]) {
      const name = `${each} ${path}`;
      if (told.has(name)) continue;
      told.add(name);
      const chain = chainOf(list, each, path);
      const own = chain.filter((route) => route.method !== 'ALL');
      routes.push(judge(each, path, chain.map(functionOf), own.map(functionOf), mayGoOn));
    }
  }
  const unseen = list.flatMap((route, i) => {
    if (!isMiddleware(route)) return [];
    const fn = inner(route.handler);
    const isEverywhere = route.path === '*' || route.path === '/*';
    if (!isEverywhere && !leadsOn(list, i)) return [{ where: route.path, why: ANSWERS, fn }];
    return [mayAnswerItself(fn, isEverywhere ? '' : route.path)];
  });
  return { routes, unseen };
}

const ANSWERS =
  'A function stands here with no route behind it: what it answers cannot be seen. Exempt its path, or make it a route.';

/** Middleware, as far as can be told; or an application that was put there by `app.mount`. */
function isMiddleware({ method, handler }: HonoRoute): boolean {
  const fn = inner(handler);
  const isSaid = protectionOf(fn) !== null || exemptionOf(fn) !== null;
  return method === 'ALL' && fn.length >= 2 && !isSaid;
}

function leadsOn(list: readonly HonoRoute[], at: number): boolean {
  const pattern = list[at]?.path ?? '';
  return list
    .slice(at + 1)
    .some(
      (route) =>
        reaches(pattern, route.path) && !(route.method === 'ALL' && inner(route.handler).length >= 2),
    );
}

/** What a request goes through before and with the last handler of this very path. */
function chainOf(list: readonly HonoRoute[], method: string, path: string): readonly HonoRoute[] {
  const isFor = (route: HonoRoute): boolean => route.method === method || route.method === 'ALL';
  const last = list.findLastIndex((route) => isFor(route) && route.path === path);
  return list.slice(0, last + 1).filter((route) => isFor(route) && reaches(route.path, path));
}

/** What takes no `next` cannot pass a request on: it answers, and nothing behind it is reached. */
function mayGoOn(fn: unknown): boolean {
  return (fn as HonoHandler).length >= 2;
}

function functionOf({ handler }: HonoRoute): unknown {
  return inner(handler);
}

/** Whether what is registered for a pattern sees all requests of a path: the same text, or a wildcard at its end. */
function reaches(pattern: string, path: string): boolean {
  if (pattern === path || pattern === '*' || pattern === '/*') return true;
  if (!pattern.endsWith('/*')) return false;
  const head = pattern.slice(0, -2);
  return path === head || path.startsWith(`${head}/`);
}

function inner(handler: HonoHandler): HonoHandler {
  let found = handler;
  // As deep as applications are nested.
  for (let deeper = found[COMPOSED]; deeper !== undefined; deeper = found[COMPOSED]) found = deeper;
  return found;
}
