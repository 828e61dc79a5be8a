/**
 * Routes of Fastify, which tells of each when it is registered and lists none later: so it has to be listened to from
 * the beginning.
 * Source: fastify 5.12 docs/Reference/Hooks.md (`onRoute`, encapsulated: a hook on the root hears every plugin).
 */

import { OptionsError } from '../core/errors.ts';
import { judge, type Routes } from './listed-route.ts';

/** What is used of a Fastify instance. */
export interface FastifyLike {
  readonly addHook: (...args: never[]) => unknown;
}

/** What is used of a route's options. */
interface FastifyRoute {
  readonly method: string | readonly string[];
  readonly url: string;
  readonly handler?: unknown;
  readonly onRequest?: unknown;
  readonly preParsing?: unknown;
  readonly preValidation?: unknown;
  readonly preHandler?: unknown;
}

type Watched = readonly FastifyRoute[] & { readonly isLate?: true };

// Registered: the instance may be watched by one copy of this package and listed by another.
const WATCHED: unique symbol = Symbol.for('samekey.coverage.watched');

/**
 * Listens to a Fastify instance, so that its routes can be listed. Call it on the root, before any route and any
 * plugin; returns the instance. Throws `OptionsError` for anything else.
 */
export function watchRoutes<App extends FastifyLike>(app: App): App {
  if (!isFastify(app)) throw new OptionsError('watchRoutes takes a Fastify instance, before its routes.');
  if (watchedRoutes(app) !== null) return app;
  const routes: FastifyRoute[] & { isLate?: true } = [];
  if (hasRoutes(app)) routes.isLate = true;
  const listening = app as { addHook(name: 'onRoute', listener: (route: FastifyRoute) => void): unknown };
  listening.addHook('onRoute', (route) => void routes.push(route));
  return Object.defineProperty(app, WATCHED, { value: routes });
}

/** Whether it is a Fastify instance. */
export function isFastify(app: unknown): app is FastifyLike {
  const { addHook, printRoutes } = (app ?? {}) as {
    readonly addHook?: unknown;
    readonly printRoutes?: unknown;
  };
  return typeof addHook === 'function' && typeof printRoutes === 'function';
}

/** Lists them; hooks that are added to the instance itself are not known, only those of routes. */
export function fastifyRoutes(app: FastifyLike): Routes {
  const watched = watchedRoutes(app);
  if (watched === null) {
    const why = 'Fastify does not list its routes later: call watchRoutes(app) before the first of them.';
    return { routes: [], unseen: [{ where: 'the application', why }] };
  }
  const routes = watched.flatMap(({ method, url, handler, ...hooks }) => {
    const { onRequest, preParsing, preValidation, preHandler } = hooks;
    const chain = [onRequest, preParsing, preValidation, preHandler, handler].flat().filter(Boolean);
    return [...new Set([method].flat())].map((each) => judge(each.toUpperCase(), url, chain));
  });
  return { routes, unseen: watched.isLate === true ? [{ where: 'the application', why: LATE }] : [] };
}

const LATE =
  'It had routes before it was watched, and those cannot be listed: call watchRoutes(app) before the first of them.';

/** Whether a route is there already: its tree is printed as it grows. */
function hasRoutes(app: FastifyLike): boolean {
  return /[├└]/.test((app as unknown as { printRoutes(): string }).printRoutes());
}

function watchedRoutes(app: FastifyLike): Watched | null {
  return (app as { readonly [WATCHED]?: Watched })[WATCHED] ?? null;
}
