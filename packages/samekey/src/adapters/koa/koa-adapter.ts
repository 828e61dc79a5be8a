/**
 * The Koa adapter: middleware of a route, a router or an application. It goes behind authentication.
 *
 * Invariants: what the middleware behind `idempotent` has answered is taken at its place in the onion, and given to the
 * middleware in front when its record stands for it · what is thrown goes out as it came, and is recorded as whoever
 * stands in front answers it.
 */

import type { Context } from 'koa';
import type { Attempt } from '../../engine/attempt.ts';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, type RouteOptions } from '../../http/route.ts';
import { protectedTwice } from '../../http/twice.ts';
import { attemptOf as attemptOfNode } from '../../http-node/node-exchange.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';
import type { KoaContext } from './koa-context.ts';
import { exchangeOf } from './koa-exchange.ts';
import { Turn } from './koa-turn.ts';

/** The attempt that a request's handler runs under; null when the request is not protected. */
export function attemptOf(ctx: Pick<KoaContext, 'req'>): Attempt | null {
  return attemptOfNode(ctx.req);
}

/**
 * Protects a route: same key, same answer.
 *
 * ```ts
 * router.post(
 *   '/payments',
 *   idempotent(samekey, { policy: 'payments', scope: (ctx) => [ctx.state.accountId] }),
 *   async (ctx) => {
 *     ctx.status = 201;
 *     ctx.body = await charge(ctx.request.body);
 *   },
 * );
 * ```
 *
 * It fits contexts of every `State`; `idempotent<MyContext>(…)` types the context in its options. Throws `OptionsError`
 * at once for options that cannot work.
 */
export function idempotent<C extends KoaContext = Context>(
  samekey: Samekey,
  options: RouteOptions<C>,
): (ctx: C, next: () => Promise<unknown>) => Promise<void> {
  const { engine, defaults } = internalsOf(samekey);
  const route = compileRoute<C>(defaults, options, engine.world, engine.fingerprintSecrets);
  const protect = async (ctx: C, next: () => Promise<unknown>): Promise<void> => {
    if (!route.methods.has(ctx.method.toUpperCase())) return void (await next());
    const outer = attemptOf(ctx);
    if (outer !== null) throw protectedTwice(engine, outer);
    const turn = new Turn(ctx, next, (message) => engine.misuse('answered-in-front', message));
    turn.follow(handle(engine, route, exchangeOf(engine, route, ctx, protect, turn)));
    return turn.ended;
  };
  return markProtected(protect, { ...route, answers: false });
}
