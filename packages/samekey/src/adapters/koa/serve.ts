/**
 * Serves an operation on a Koa route: the request becomes the operation's input, its reply the answer. No middleware
 * behind it runs.
 */

import type { Context } from 'koa';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { type KoaContext, putAnswer } from './koa-context.ts';
import { exchangeOf } from './koa-exchange.ts';
import { Turn } from './koa-turn.ts';

/**
 * The middleware of a route, for what `samekey.transactional` and its like have defined. It goes behind authentication;
 * no body parser is needed. Requests that are not protected are answered with 405.
 *
 * ```ts
 * router.post('/orders', authenticate, serve(placeOrder, { scope: (ctx) => [ctx.state.accountId] }));
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function serve<Input, C extends KoaContext = Context>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<C, Input>,
): (ctx: C) => Promise<void> {
  const { engine, route, wrapped } = compileServed<C, Input>(operation, options);
  const Allow = [...route.methods].join(', ');
  const answer = async (ctx: C): Promise<void> => {
    const notAllowed = async (): Promise<void> =>
      putAnswer(ctx, { status: 405, headers: [['Allow', Allow]], body: null });
    const turn = new Turn(ctx, notAllowed);
    turn.follow(handle(engine, route, exchangeOf(engine, route, ctx, answer, turn), wrapped));
    return turn.ended;
  };
  return markProtected(answer, { ...route, answers: true });
}

/** The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's. */
export function serveStatus<C extends KoaContext = Context>(
  operation: Operation<never, unknown>,
  options: StatusOptions<C>,
): (ctx: C) => Promise<void> {
  const status = createStatus<C>(operation, options);
  return async (ctx) => putAnswer(ctx, await status(ctx));
}
