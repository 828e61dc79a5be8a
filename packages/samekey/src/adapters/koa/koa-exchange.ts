/** Koa's context, as an exchange on `node:http`. */

import type { Engine } from '../../engine/engine.ts';
import type { MatchedRoute } from '../../core/operation.ts';
import type { Route } from '../../http/route.ts';
import { rememberRawBody } from '../../http-node/body.ts';
import { NodeExchange } from '../../http-node/node-exchange.ts';
import type { KoaContext } from './koa-context.ts';
import type { Turn } from './koa-turn.ts';

/** One request. `protect` is the middleware that asks. */
export function exchangeOf<C extends KoaContext>(
  engine: Engine,
  route: Route<C>,
  ctx: C,
  protect: unknown,
  turn: Turn,
): NodeExchange<C> {
  const { req, res, request, originalUrl } = ctx;
  // A parser that ran before keeps the text here (koa-bodyparser, @koa/bodyparser).
  const { rawBody } = request as { readonly rawBody?: unknown };
  if (typeof rawBody === 'string' || rawBody instanceof Uint8Array)
    rememberRawBody(req, null, Buffer.from(rawBody as string));
  // What is mounted sees a shorter `url`.
  (req as { originalUrl?: string }).originalUrl ??= originalUrl;
  return new NodeExchange(req, res, route, engine, {
    native: ctx,
    route: matchedRoute(ctx, protect),
    next: () => turn.next(),
    fail: (error) => turn.fail(error),
    give: (answer) => turn.give(answer),
    hold: (hold) => turn.hold(hold),
    hasEnded: () => turn.hasEnded(),
  });
}

/** A route of @koa/router, or middleware of one (`use`, without methods). */
interface Layer {
  readonly path: string | RegExp;
  readonly methods: readonly string[];
  readonly stack: readonly unknown[];
}

/** What @koa/router and koa-mount leave in a context. */
interface Placed {
  /** Layers of this path, for every method. */
  readonly matched?: readonly Layer[];
  /** The pattern of the layer that runs. */
  readonly routerPath?: string | RegExp;
  readonly mountPath?: string;
}

/**
 * The route at which the middleware stands; null in `use`. Source: @koa/router 15.7 (`_buildMiddlewareChain`),
 * koa-mount 4.2.
 */
function matchedRoute(ctx: KoaContext, protect: unknown): MatchedRoute | null {
  const { matched = [], routerPath, mountPath } = ctx as Placed;
  const here = matched.filter(
    ({ path, methods }) => path === routerPath && (methods.length === 0 || methods.includes(ctx.method)),
  );
  // Where tracing has wrapped the middleware, the layer that runs is one of these all the same.
  const layer = here.find(({ stack }) => stack.includes(protect)) ?? here.at(-1);
  if (layer === undefined || layer.methods.length === 0) return null;
  const asked = ctx.originalUrl.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '').split('?')[0] ?? '';
  const cut = mountOf(asked, ctx.path);
  const isKnown = cut === '' || cut === mountPath;
  return {
    pattern: `${isKnown && cut !== null ? cut : ''}${String(layer.path)}`,
    mount: isKnown || cut === null ? '' : cut,
    fitsPath: typeof layer.path === 'string' && cut !== null,
    // A router may be told that it counts, and a deploy may change that: twins that differ in case meet in one name.
    foldsCase: true,
    isForMethod: !layer.methods.includes('GET'),
  };
}

/** What has been cut off a path on its way to the router; null if it was changed otherwise. */
function mountOf(asked: string, path: string): string | null {
  if (asked.endsWith(path)) return asked.slice(0, asked.length - path.length);
  return path === '/' ? asked : null;
}
