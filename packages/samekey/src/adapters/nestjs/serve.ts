/**
 * Serves an operation in a method of a Nest controller: the request becomes the operation's input, its reply the
 * answer, which passes by interceptors.
 */

import type { ExecutionContext } from '@nestjs/common';
import { handle } from '../../http/handle.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { exchangeOf } from './nest-exchange.ts';

/**
 * What a method calls with its context, for what `samekey.transactional` and its like have defined. Requests that are
 * not protected are answered with 405.
 *
 * ```ts
 * readonly #place = serve(placeOrder, { scope: accountOf });
 *
 * @Post('orders')
 * place(@Exchange() context: ExecutionContext) {
 *   return this.#place(context);
 * }
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function serve<Input>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<ExecutionContext, Input>,
): (context: ExecutionContext) => Promise<void> {
  const { engine, route, wrapped } = compileServed<ExecutionContext, Input>(operation, options);
  const headers = [['Allow', [...route.methods].join(', ')]] as const;
  return (context) =>
    new Promise((resolve, reject) => {
      const next = (): void => exchange.replace({ status: 405, headers, body: null });
      const exchange = exchangeOf(context, engine, route, { next, fail: reject });
      void handle(engine, route, exchange, wrapped).then(resolve);
    });
}

/** The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's. */
export function serveStatus(
  operation: Operation<never, unknown>,
  options: StatusOptions<ExecutionContext>,
): (context: ExecutionContext) => Promise<void> {
  const { engine, route } = compileServed<ExecutionContext, never>(operation, { scope: options.scope });
  const status = createStatus<ExecutionContext>(operation, options);
  return async (context) => {
    const answer = await status(context);
    exchangeOf(context, engine, route, { next: () => undefined, fail: () => undefined }).replace(answer);
  };
}
