/**
 * Routes of NestJS 11 and 12: those of the Express or Fastify application beneath, which know the whole path, and what decorators say
 * of the methods behind them.
 *
 * What `consumer.apply(…)` puts in front of a route is wrapped by Nest and carries no mark: such routes are shown as not protected.
 * Use `app.use(path, idempotent(…))`. Source: @nestjs/core 12.5 middleware/utils.js, router/router-explorer.js.
 */

import { exemptionOf } from './exempt.ts';
import { expressRoutes } from './express.ts';
import { fastifyRoutes, isFastify } from './fastify.ts';
import { joined, type Route, type Routes } from './route.ts';

interface NestApp {
  getHttpAdapter(): { getInstance(): unknown };
  readonly isInitialized?: boolean;
  readonly config?: { getGlobalPrefix?(): string };
  readonly container?: { getModules(): ReadonlyMap<string, NestModule> };
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
  const { routes, unseen } = isFastify(beneath) ? fastifyRoutes(beneath) : expressRoutes(beneath, mounted);
  const prefix = joined('', app.config?.getGlobalPrefix?.() ?? '');
  const declared = controllersOf(app).flatMap((controller) => declaredBy(controller, prefix));
  const isOwn = ({ path }: Route): boolean =>
    path === joined(prefix, NOT_FOUND) && !declared.some((each) => each.path === path);
  return {
    unseen,
    routes: routes.filter((route) => !isOwn(route)).map((route) => withExemption(route, declared)),
  };
}

/** Nest's own answer to what nobody answers, for all methods. */
const NOT_FOUND = '/*path';

/** A method of a controller. */
interface Declared {
  readonly method: string;
  readonly path: string;
  /** Why it is exempt; null if it is not. */
  readonly reason: string | null;
}

function withExemption(route: Route, declared: readonly Declared[]): Route {
  if (route.protectedBy !== null) return route;
  const found = declared.find(
    ({ method, path }) => path === route.path && (method === route.method || method === 'ALL'),
  );
  if (found === undefined || found.reason === null) return route;
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
        found.push({ method, path: joined(joined(prefix, head), tail), reason });
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
