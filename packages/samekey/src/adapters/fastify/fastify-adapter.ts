/**
 * The Fastify adapter: a plugin that protects the routes of the context it is registered in.
 *
 * Invariants: the body is read before Fastify's parsers and compared as it came · the key is claimed after every
 * hook, parser and schema of the route, by whoever calls its handler, so that what they refuse claims nothing · a route
 * that the plugin should protect and could not runs nothing.
 *
 * Sources: fastify 5.12 docs/Reference/{Hooks,Lifecycle,Reply,Plugins}.md, lib/route.js (`onRoute`, order of hooks).
 */

import type { FastifyPluginCallback, FastifyRequest, RouteOptions as Declared } from 'fastify';
import type { Attempt } from '../../engine/attempt.ts';
import { OptionsError } from '../../core/errors.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, type RouteOptions } from '../../http/route.ts';
import { attemptOf as attemptOfNode } from '../../http-node/node-exchange.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';
import { type Door, readAhead } from './fastify-exchange.ts';
import { behindClaim } from './fastify-handler.ts';

/** What a route says in its `config`: false, it is not protected; or the options in which it differs. */
export type FastifyRouteConfig = false | Partial<RouteOptions<FastifyRequest>>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Samekey: false, or the options in which this route differs. */
    idempotent?: FastifyRouteConfig;
  }
}

/** Where a route's door is kept, in its `config`. */
export const DOOR: unique symbol = Symbol.for('samekey.fastify.door');

interface Config {
  readonly idempotent?: FastifyRouteConfig;
  readonly [DOOR]?: Door;
}

/**
 * Protects routes: same key, same answer. All routes of the context that are declared behind it, and in contexts
 * within.
 *
 * ```ts
 * await app.register(
 *   idempotent(samekey, { policy: 'payments', scope: (request) => [request.user.accountId] }),
 * );
 * app.post('/payments', async (request, reply) => reply.code(201).send(await charge(request.body)));
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent(samekey: Samekey, options: RouteOptions<FastifyRequest>): FastifyPluginCallback {
  const { engine, defaults } = internalsOf(samekey);
  const doorOf = (own: RouteOptions<FastifyRequest>): Door => ({
    engine,
    route: compileRoute(defaults, own, engine.world, engine.fingerprintSecrets),
    wrapped: null,
  });
  const common = doorOf(options);
  const plugin: FastifyPluginCallback = (instance, _none, done) => {
    if ((instance.initialConfig as { readonly http2?: boolean }).http2 === true)
      return done(new OptionsError(NO_HTTP2));
    instance.addHook('onRoute', (declared) => {
      const { idempotent: own, ...config } = (declared.config ?? {}) as Config;
      if (own === false || config[DOOR]?.wrapped) return;
      const door = own === undefined ? common : doorOf({ ...options, ...own });
      const isAround = config[DOOR] !== undefined;
      declared.config = { ...declared.config, [DOOR]: door } as NonNullable<Declared['config']>;
      // A context within has the last word.
      if (isAround) return;
      checkConstraints(declared, door);
      protect(declared, door);
    });
    instance.addHook('preParsing', (request, reply, payload, go) => {
      const { idempotent: own, [DOOR]: door } = request.routeOptions.config as Config;
      const next = (): void => go(null, payload);
      const fail = go as (error: unknown) => void;
      if (door !== undefined && door.wrapped === null)
        return void readAhead(door, request, reply, { next, fail });
      if (door !== undefined || own === false || request.is404 || !common.route.methods.has(request.method))
        return next();
      fail(new OptionsError(tooEarly(request)));
    });
    done();
  };
  return Object.assign(plugin, {
    // What a plugin does in a context of its own is nobody else's.
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: 'samekey',
  });
}

/** The attempt that a request's handler runs under; null when the request is not protected. */
export function attemptOf(request: FastifyRequest): Attempt | null {
  return attemptOfNode(request.raw);
}

function doorOfRoute({ routeOptions: { config } }: FastifyRequest): Door {
  return (config as Config)[DOOR] as Door;
}

/** Puts the claim before a route's handler. */
function protect(declared: Declared, { route }: Door): void {
  declared.handler = markProtected(behindClaim(declared.handler, doorOfRoute), { ...route, answers: true });
}

/** One path and method may be several routes, which nothing of a request tells apart. */
function checkConstraints({ url, constraints }: Declared, door: Door): void {
  if (door.route.operation !== null || Object.keys(constraints ?? {}).length === 0) return;
  throw new OptionsError(
    `${url} has constraints (a host, a version): other routes may have the same path. Name the operation of each: config: { idempotent: { operation: 'a-name' } }.`,
  );
}

const NO_HTTP2 =
  'samekey/fastify protects servers of HTTP/1.1: answers of HTTP/2 are of another class. End HTTP/2 in front of it.';

function tooEarly({ method, routeOptions: { url } }: FastifyRequest): string {
  return `${method} ${url ?? ''} was declared before the plugin of idempotent() was loaded, and is not protected: await app.register(idempotent(…)) first, or say config: { idempotent: false } on the route.`;
}
