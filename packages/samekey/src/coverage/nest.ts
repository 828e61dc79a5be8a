/**
 * Routes of NestJS 11 and 12: those of the Express or Fastify application beneath, which know the whole path, and what
 * decorators say of the methods behind them.
 *
 * Middleware of `consumer.apply(…)` counts if it is a class whose `use` is what `idempotent` returned. A function is
 * wrapped by Nest and carries no mark: its routes are shown as not protected. Source: @nestjs/core 12.5
 * middleware/{utils,container}.js, nest-application.js.
 */

import { protectionOf } from '../http/marker.ts';
import { exemptionOf } from './exempt.ts';
import { expressRoutes } from './express.ts';
import { fastifyRoutes, isFastify } from './fastify.ts';
import { covers, joined, judge, type Route, type Routes } from './listed-route.ts';

interface NestApp {
  getHttpAdapter(): { getInstance(): unknown };
  readonly isInitialized?: boolean;
  readonly config?: { getGlobalPrefix?(): string };
  readonly container?: { getModules(): ReadonlyMap<string, NestModule> };
  readonly middlewareContainer?: {
    getConfigurations(): ReadonlyMap<string, Iterable<NestMiddleware>>;
    getMiddlewareCollection(
      module: string,
    ): ReadonlyMap<unknown, { readonly instance?: { readonly use?: unknown } }>;
  };
}

/** What `consumer.apply(middleware).forRoutes(…)` has said. */
interface NestMiddleware {
  readonly middleware: unknown;
  readonly forRoutes: readonly { readonly path: string; readonly method: number }[];
}

interface NestModule {
  readonly controllers: ReadonlyMap<unknown, { readonly metatype?: Controller | null }>;
}

type Controller = { readonly prototype: object } & object;

/** Nest's own numbers of methods (`RequestMethod`). */
const METHOD_NAMES: readonly string[] = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'ALL'];

/** Whether it is an application of Nest. */
export function isNest(app: unknown): app is NestApp {
  return typeof (app as { readonly getHttpAdapter?: unknown } | null)?.getHttpAdapter === 'function';
}

/** Lists them. */
export function nestRoutes(app: NestApp, mounted: readonly unknown[]): Routes {
  if (app.isInitialized === false) {
    const why = 'Nest registers its routes when it is initialised: await app.init() first.';
    return { routes: [], unseen: [{ where: 'the application', why }] };
  }
  const beneath: unknown = app.getHttpAdapter().getInstance();
  const { routes, unseen } = isFastify(beneath)
    ? fastifyRoutes(beneath)
    : expressRoutes(beneath, mounted, false);
  const prefix = joined('', app.config?.getGlobalPrefix?.() ?? '');
  const declared = controllersOf(app).flatMap((controller) => declaredBy(controller, prefix));
  const applied = appliedIn(app);
  const all = routes
    .map((route) => ({ ...route, path: trimmed(route.path) }))
    .map((route) => withExemption(behind(route, applied, prefix), declared));
  return { unseen, routes: withoutOwn(all, applied, prefix) };
}

/**
 * Nest registers routes of its own: one for each middleware that is for a method, in front of that of the controller,
 * and one for what nobody answers. As many as it has registered are left out, and no more.
 */
function withoutOwn(routes: readonly Route[], applied: readonly Applied[], prefix: string): readonly Route[] {
  const byPlace = new Map<string, Route[]>();
  for (const route of routes) {
    const place = `${route.method} ${route.path}`;
    byPlace.set(place, [...(byPlace.get(place) ?? []), route]);
  }
  return [...byPlace.values()].flatMap((same) => {
    const [{ method, path }] = same as [Route, ...Route[]];
    const own = applied.filter(
      (each) => isRouteOf(each, method) && joined(prefix, each.path) === path,
    ).length;
    return same.slice(own + (path === joined(prefix, NOT_FOUND) ? 1 : 0));
  });
}

function isRouteOf(applied: Applied, method: string): boolean {
  return METHOD_NAMES[applied.method] === 'ALL' || METHOD_NAMES[applied.method] === method;
}

/** Middleware of a module, and what it is for. */
interface Applied {
  readonly use: unknown;
  readonly path: string;
  readonly method: number;
}

/** In the order in which Nest registers them. */
function appliedIn({ middlewareContainer }: NestApp): readonly Applied[] {
  if (middlewareContainer === undefined) return [];
  return [...middlewareContainer.getConfigurations()].flatMap(([module, configurations]) => {
    const instances = middlewareContainer.getMiddlewareCollection(module);
    return [...configurations].flatMap(({ middleware, forRoutes }) =>
      [middleware].flat().flatMap((each) => {
        const use = instances.get(each)?.instance?.use;
        return forRoutes.map(({ path, method }) => ({ use, path: trimmed(path), method }));
      }),
    );
  });
}

/** The same route with what modules have put in front of it. */
function behind(route: Route, applied: readonly Applied[], prefix: string): Route {
  if (route.protectedBy !== null) return route;
  const chain = applied.filter((each) => isFor(each, route, prefix));
  const own = chain.filter((each) => METHOD_NAMES[each.method] === route.method).map(({ use }) => use);
  const judged = judge(route.method, route.path, [...chain.map(({ use }) => use), null], own);
  return judged.reason === null && judged.protectedBy === null ? route : judged;
}

/**
 * A text in `forRoutes` stands for all that is below it (its method is none), a route or a controller for its very
 * path.
 */
function isFor(applied: Applied, route: Route, prefix: string): boolean {
  const { path, method } = applied;
  const whole = joined(prefix, path);
  const mount = whole.replace(/\/\{?\*\w*\}?$/, '');
  const isBelow = method === NO_METHOD || mount !== whole;
  if (isBelow ? !covers(mount, route.path) : whole !== route.path) return false;
  return method === NO_METHOD || isRouteOf(applied, route.method);
}

const NO_METHOD = -1;

/** Nest spells the path of a controller itself with a slash at its end where middleware is for it. */
function trimmed(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Nest's own answer to what nobody answers, for all methods. */
const NOT_FOUND = '/*path';

/** A method of a controller. */
interface Declared {
  readonly method: string;
  readonly path: string;
  readonly fn: unknown;
  /** Why it is exempt; null if it is not. */
  readonly reason: string | null;
}

function isAt({ method, path }: Declared, route: Route): boolean {
  return path === route.path && (method === route.method || method === 'ALL');
}

function withExemption(route: Route, declared: readonly Declared[]): Route {
  if (route.protectedBy !== null) return route;
  const found = declared.find((each) => isAt(each, route));
  if (found === undefined) return route;
  // `@Idempotent()` stands for the very method.
  if (protectionOf(found.fn) !== null) return judge(route.method, route.path, [found.fn], [found.fn]);
  if (found.reason === null) return route;
  return { ...route, protectedBy: 'exempt', reason: found.reason };
}

function controllersOf({ container }: NestApp): readonly Controller[] {
  return [...(container?.getModules().values() ?? [])].flatMap((module) =>
    [...module.controllers.values()].flatMap(({ metatype }) => (metatype ? [metatype] : [])),
  );
}

function declaredBy(controller: Controller, prefix: string): readonly Declared[] {
  const found: Declared[] = [];
  for (const name of Object.getOwnPropertyNames(controller.prototype)) {
    const fn: unknown = Object.getOwnPropertyDescriptor(controller.prototype, name)?.value;
    const method = METHOD_NAMES[Number(metadata('method', fn) ?? Number.NaN)];
    if (method === undefined) continue;
    const reason = exemptionOf(fn) ?? exemptionOf(controller);
    for (const head of texts(metadata('path', controller))) {
      for (const tail of texts(metadata('path', fn))) {
        found.push({ method, path: joined(joined(prefix, head), tail), fn, reason });
      }
    }
  }
  return found;
}

/** `reflect-metadata`, which every application of Nest has loaded. */
function metadata(key: string, target: unknown): unknown {
  const reflect = Reflect as { getMetadata?(key: string, target: unknown): unknown };
  return typeof target === 'function' ? reflect.getMetadata?.(key, target) : undefined;
}

function texts(value: unknown): readonly string[] {
  return [value ?? ''].flat().map(String);
}
