/** The Next.js adapter: wraps a route handler of the App Router. */

import type { Attempt } from '../../engine/attempt.ts';
import { OptionsError } from '../../core/errors.ts';
import { aFunction, readOptions, type Table } from '../../core/options.ts';
import { registered } from '../../core/registered.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, ROUTE_ROWS, type RouteOptions } from '../../http/route.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';
import { answerCall, type NextCall, type NextContext, type RouteParams } from './next-exchange.ts';

/** Options of a protected route handler. */
export interface NextOptions<Call extends NextCall = NextCall> extends RouteOptions<Call> {
  /**
   * Keeps the function alive until the record is written, where the platform stops it at the answer: pass
   * `(work) => after(work)`, with `after` of `next/server`. The edge runtime is refused without it.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

/** The application's handler. `attempt` is null for requests that are not protected (GET, or no key required). */
export type NextHandler<Incoming extends Request, Params extends RouteParams> = (
  request: Incoming,
  context: NextContext<Params>,
  attempt: Attempt | null,
) => Response | Promise<Response>;

const ROWS = { ...ROUTE_ROWS, waitUntil: aFunction() } satisfies Table<
  RouteOptions<never> & Pick<NextOptions, 'waitUntil'>
>;

const attempts = registered('attempts', () => new WeakMap<object, Attempt>());

/** The attempt that a request's handler runs under; null when the request is not protected. */
export function attemptOf(request: Request): Attempt | null {
  return attempts.get(request) ?? null;
}

/**
 * Protects a route handler: same key, same answer.
 *
 * ```ts
 * export const POST = idempotent(samekey, { policy: 'payments', scope: accountOf }, async (request: NextRequest) =>
 *   NextResponse.json(await charge(await request.json()), { status: 201 }),
 * );
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent<Incoming extends Request = Request, Params extends RouteParams = RouteParams>(
  samekey: Samekey,
  options: NextOptions<NextCall<Incoming, Params>>,
  handler: NextHandler<Incoming, Params>,
): (request: Incoming, context: NextContext<Params>) => Promise<Response> {
  const { engine, defaults } = internalsOf(samekey);
  readOptions('idempotent', ROWS, options);
  const { waitUntil, ...routeOptions } = options;
  const route = compileRoute<NextCall<Incoming, Params>>(
    defaults,
    routeOptions,
    engine.world,
    engine.fingerprintSecrets,
  );
  if (typeof handler !== 'function')
    throw new OptionsError('The handler of idempotent() is no function: pass async (request, context) => …');
  const answer = async (request: Incoming, context: NextContext<Params>): Promise<Response> => {
    const call = { request, params: await context.params };
    return answerCall(engine, route, null, call, waitUntil, (own, attempt) => {
      if (attempt !== null) attempts.set(own, attempt);
      return handler(own as Incoming, context, attempt);
    });
  };
  return markProtected(answer, { ...route, answers: true });
}
