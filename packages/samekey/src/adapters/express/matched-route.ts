/**
 * The route at which a middleware of Express stands. Express tells the route's own pattern and the path of its mounts
 * as the client spelt it; the patterns of the mounts are looked for in the stacks of the application.
 *
 * Invariants: a mount's pattern is believed only if it is the only one of this route that fits the path · what was
 * rewritten on its way to the route is compared as the client sent it · a route that was passed before does not count
 * for what `use` has put behind it.
 */

import type { NextFunction, Request } from 'express';
import type { MatchedRoute } from '../../core/operation.ts';
import { fitsMount } from '../../core/operation.ts';
import { requestTarget } from '../../http-node/node-request.ts';
import { type ExpressRoute, expressStack, type Layer, mountsOf } from './layers.ts';

/** Null for middleware that stands at no route (`app.use`). `protect` is the middleware, `next` what it was given. */
export function matchedRoute(req: Request, next: NextFunction, protect: unknown): MatchedRoute | null {
  const route = req.route as ExpressRoute | undefined;
  // Express leaves the last route in the request: what a router has put behind it is given the router's own `next`.
  if (route?.path === undefined || next === req.next) return null;
  const { path, methods } = route;
  const isText = typeof path === 'string';
  // The text of an expression or a list names the operation as well as a pattern does.
  const own = isText ? path : [path].flat().join(',');
  const mounted = req.baseUrl === '' ? '' : mountPatternOf(req, route);
  const tail = own === '/' ? '' : own;
  return {
    pattern: mounted === null ? tail : `${mounted}${tail}` || '/',
    mount: mounted === null ? req.baseUrl : '',
    fitsPath: isText && isAsSent(req),
    // Of a router's own options nothing is told here, and a deploy may change them: twins that differ in case meet in
    // one name.
    foldsCase: true,
    isForMethod: isPutForMethod(route, protect, methods),
  };
}

/**
 * Whether mount and rest make up what the client sent. Express gives a mount that is the whole path a slash to route
 * by.
 */
function isAsSent(req: Request): boolean {
  const { path } = requestTarget(req);
  return path === req.baseUrl + req.path || (req.path === '/' && path === req.baseUrl);
}

function isPutForMethod(route: ExpressRoute, protect: unknown, methods: ExpressRoute['methods']): boolean {
  const layer = route.stack.find(({ handle }) => handle === protect);
  // Where somebody has wrapped it, the route as a whole says it.
  return layer === undefined ? methods['_all'] !== true : layer.method !== undefined;
}

interface App {
  readonly parent?: App;
  readonly mountpath?: string | readonly string[];
}

/** The mounts at which a route can be reached, once found: each a pattern, or null for one that cannot be read. */
const known = new WeakMap<ExpressRoute, readonly (string | null)[]>();

/** The pattern of the mounts through which a request has come to its route; null if it cannot be told. */
function mountPatternOf(req: Request, route: ExpressRoute): string | null {
  const before = known.get(route);
  let fit = before === undefined ? [] : fitting(before, req.baseUrl);
  if (fit.length === 0) {
    // Not looked for yet, or mounted once more since. Where several fit already, another look finds no fewer.
    const places = placesOf(req, route);
    known.set(route, places);
    fit = fitting(places, req.baseUrl);
  }
  return fit.length === 1 ? (fit[0] ?? null) : null;
}

/** The mounts that fit the path; null among them is one that cannot be read, and may. */
function fitting(places: readonly (string | null)[], path: string): readonly (string | null)[] {
  return places.filter((place) => place === null || fitsMount(place, path));
}

function placesOf(req: Request, route: ExpressRoute): readonly (string | null)[] {
  const places = new Set<string | null>();
  const app = req.app as (Request['app'] & App) | undefined;
  if (app === undefined) return [];
  for (const prefix of prefixesOf(app, 0)) collect(expressStack(app) ?? [], prefix, route, places, 0);
  return [...places];
}

/** Routers within routers deeper than this are taken for a circle. */
const DEPTH_MAX = 20;

/** Where an application is mounted in others. */
function prefixesOf(app: App, depth: number): readonly string[] {
  if (app.parent === undefined || depth > DEPTH_MAX) return [''];
  const own = [app.mountpath ?? ''].flat();
  return prefixesOf(app.parent, depth + 1).flatMap((prefix) => own.map((mount) => under(prefix, mount)));
}

function collect(
  stack: readonly Layer[],
  prefix: string | null,
  route: ExpressRoute,
  places: Set<string | null>,
  depth: number,
): void {
  if (depth > DEPTH_MAX) return;
  for (const layer of stack) {
    if (layer.route === route) places.add(prefix);
    const inner = layer.route === undefined ? layer.handle?.stack : undefined;
    if (inner === undefined) continue;
    for (const mount of mountsOf(layer)) {
      const place = prefix === null || mount === null ? null : under(prefix, mount);
      collect(inner, place, route, places, depth + 1);
    }
  }
}

function under(prefix: string, mount: string): string {
  const path = mount.endsWith('/') ? mount.slice(0, -1) : mount;
  return prefix + path;
}
