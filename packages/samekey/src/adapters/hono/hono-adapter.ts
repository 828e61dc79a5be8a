/**
 * The Hono adapter: middleware of one route, or of an app. It goes after authentication and before whatever reads the
 * body.
 *
 * Invariants: the handler's answer, also the one `onError` makes for it, is taken out of the context and comes back
 * only when its record stands for it · the handler reads a request of its own, whole, which its client's leaving does
 * not cancel · what outer middleware has set stays on every answer.
 */

import type { Context } from 'hono';
import { type Attempt, tellDeclared } from '../../engine/attempt.ts';
import type { Engine } from '../../engine/engine.ts';
import { readOptions, type Table, trueOrFalse } from '../../core/options.ts';
import { registered } from '../../core/registered.ts';
import { handle } from '../../http/handle.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, ROUTE_ROWS, type RouteOptions } from '../../http/route.ts';
import { protectedTwice } from '../../http/twice.ts';
import { FetchExchange, noAnswer } from '../../http-fetch/fetch-exchange.ts';
import { noContext, runtimeEndsWithAnswer } from '../../http-fetch/keep-alive.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';
import {
  executionOf,
  type HonoContext,
  matchedRoute,
  outerHeaders,
  rawHeadersOf,
  setAnswer,
  setError,
} from './hono-context.ts';
import { belowOf } from './node-server.ts';
import { tellsWhoAnswers, Turn } from './turn.ts';

/** Options of a protected route. */
export interface HonoOptions<C = Context> extends RouteOptions<C> {
  /**
   * Whether the runtime ends work once the answer is given, so that `c.executionCtx` is required. Default: true on
   * Cloudflare Workers and Vercel Edge, which are recognised, else false.
   */
  readonly endsWithAnswer?: boolean;
}

const attempts = registered('attempts', () => new WeakMap<object, Attempt>());

/** The attempt that a request's handler runs under; null when the request is not protected. */
export function attemptOf(c: HonoContext): Attempt | null {
  return attempts.get(c) ?? null;
}

const ROWS = { ...ROUTE_ROWS, endsWithAnswer: trueOrFalse() } satisfies Table<HonoOptions<never>>;

/**
 * Protects a route: same key, same answer.
 *
 * ```ts
 * app.post(
 *   '/payments',
 *   authenticate,
 *   idempotent(samekey, { policy: 'payments', scope: (c) => c.get('accountId') }),
 *   async (c) => c.json(await charge(await c.req.json()), 201),
 * );
 * ```
 *
 * It fits apps of every `Env`; `idempotent<Context<MyEnv>>(…)` types the context in its options. Throws `OptionsError`
 * at once for options that cannot work.
 */
export function idempotent<C extends HonoContext = Context>(
  samekey: Samekey,
  options: HonoOptions<C>,
): (c: C, next: () => Promise<void>) => Promise<void> {
  const { engine, defaults } = internalsOf(samekey);
  readOptions('idempotent', ROWS, options);
  const { endsWithAnswer = runtimeEndsWithAnswer(), ...routeOptions } = options;
  const route = compileRoute<C>(defaults, routeOptions, engine.world, engine.fingerprintSecrets);

  const protect = async (c: C, next: () => Promise<void>): Promise<void> => {
    const protects = route.methods.has(c.req.method.toUpperCase());
    if (!protects) return next();
    const outer = attemptOf(c);
    if (outer !== null) throw protectedTwice(engine, outer);
    const rawHeaders = rawHeadersOf(c);
    // Node has none, and asking Hono for it throws.
    const context = rawHeaders === null || endsWithAnswer ? executionOf(c) : null;
    if (endsWithAnswer && context === null) throw noContext();
    const headers = outerHeaders(c);
    const place = {
      native: c,
      rawHeaders,
      route: matchedRoute(c, route.operation !== null),
      headers,
      below: belowOf(c),
    };
    const turn = new Turn(c);
    if (!tellsWhoAnswers()) engine.misuse('answers-not-told', NOT_TOLD);
    const exchange = new FetchExchange<C>(
      c.req.raw,
      route,
      engine,
      async (own, attempt) => {
        // Hono reads bodies through this, also the one of a request that passes after its key was looked for there.
        c.req.raw = own;
        if (attempt !== null) attempts.set(c, attempt);
        const answer = attempt === null ? await passed(c, next) : await turn.run(next);
        // Not an error either, which a policy may take for "nothing happened": the handler counts as not come back.
        if (answer === undefined) return new Promise<never>(() => undefined);
        // What the handler threw has been answered by onError: that is its answer, as in Express.
        if (attempt !== null) tellDeclared(attempt, c.error);
        if (answer === null) throw noAnswer('Nothing behind idempotent() has answered: return a Response.');
        return answer;
      },
      place,
    );
    const done = handle(engine, route, exchange);
    context?.waitUntil(done);
    try {
      const response = await exchange.response;
      if (turn.isRaced) return leave(engine, response);
      turn.setOurs(() => setAnswer(c, response));
    } catch (error) {
      if (turn.isRaced) return leave(engine, null);
      turn.setOurs(() => setError(c, headers));
      throw error;
    }
  };
  return markProtected(protect, { ...route, answers: false });
}

const RACED =
  'Something in front of idempotent() answered while the handler was still at work, as a time-out does. The record is decided by what the handler answers. Use attemptTimeMaxMs and the attempt’s signal instead: they also tell the handler to stop.';
const NOT_TOLD =
  'This runtime has no AsyncLocalStorage, so an answer given in front of idempotent() cannot be told from the handler’s: put no time-out in front of it (on Workers, the flag nodejs_compat provides it).';

/** The client has its answer already. */
function leave(engine: Engine, response: Response | null): void {
  engine.misuse('answered-in-front', RACED);
  response?.body?.cancel().catch(() => undefined);
}

/** A request that is not protected. */
async function passed(c: HonoContext, next: () => Promise<void>): Promise<Response | null> {
  await next();
  return c.finalized ? c.res : null;
}
