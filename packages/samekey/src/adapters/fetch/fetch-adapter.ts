/**
 * The Fetch adapter: wraps a handler `Request → Response`.
 *
 * Invariants: the handler gets the whole body, as if nobody had read it · its work goes on when the client is gone (the
 * request's own signal is not passed on, the attempt's is) · where the runtime ends work once an answer is given, the
 * record's writing is handed to `waitUntil`, and without one nothing runs.
 */

import type { Attempt } from '../../engine/attempt.ts';
import { readOptions, type Table, trueOrFalse } from '../../core/options.ts';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, ROUTE_ROWS, type RouteOptions } from '../../http/route.ts';
import { FetchExchange } from '../../http-fetch/fetch-exchange.ts';
import { type FetchContext, noContext, runtimeEndsWithAnswer } from '../../http-fetch/keep-alive.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';

/** The application's handler. `attempt` is null for requests that are not protected (GET, or no key required). */
export type FetchHandler<Context> = (
  request: Request,
  context: Context,
  attempt: Attempt | null,
) => Response | Promise<Response>;

/** Options of a protected handler. */
export interface FetchOptions extends RouteOptions<Request> {
  /**
   * Whether the runtime ends work once the answer is given, so that `waitUntil` is required. Default: true on
   * Cloudflare Workers and Vercel Edge, which are recognised, else false.
   */
  readonly endsWithAnswer?: boolean;
}

const ROWS = { ...ROUTE_ROWS, endsWithAnswer: trueOrFalse() } satisfies Table<
  RouteOptions<never> & Pick<FetchOptions, 'endsWithAnswer'>
>;

/**
 * Protects a handler: same key, same answer.
 *
 * ```ts
 * const pay = idempotent(samekey, { policy: 'payments', scope: (request) => accountOf(request) }, async (request) => {
 *   return Response.json(await charge(await request.json()), { status: 201 });
 * });
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent<Context extends FetchContext = FetchContext>(
  samekey: Samekey,
  options: FetchOptions,
  handler: FetchHandler<Context>,
): (request: Request, context?: Context) => Promise<Response> {
  const { engine, defaults } = internalsOf(samekey);
  readOptions('idempotent', ROWS, options);
  const { endsWithAnswer = runtimeEndsWithAnswer(), ...routeOptions } = options;
  const route = compileRoute<Request>(defaults, routeOptions, engine.world, engine.fingerprintSecrets);
  const answer = (request: Request, context: Context = {} as Context): Promise<Response> => {
    const exchange = new FetchExchange(request, route, engine, (own, attempt) =>
      handler(own, context, attempt),
    );
    const protects = route.methods.has(request.method.toUpperCase());
    if (endsWithAnswer && protects && context.waitUntil === undefined) {
      return Promise.reject(noContext());
    }
    const done = handle(engine, route, exchange);
    context.waitUntil?.(done);
    return exchange.response;
  };
  return markProtected(answer, { ...route, answers: true });
}
