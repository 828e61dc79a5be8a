/**
 * One request of a route handler, on the exchange of Fetch.
 *
 * Invariants: the handler gets a request of Next's own class · `redirect()`, `notFound()` and their like are answers,
 * as Next itself makes them of what they throw.
 */

import type { Attempt } from '../../engine/attempt.ts';
import type { Engine } from '../../engine/engine.ts';
import { handle } from '../../http/handle.ts';
import type { Route } from '../../http/route.ts';
import type { Wrapped } from '../../http/wrapped.ts';
import type { Below } from '../../http-fetch/below.ts';
import { FetchExchange } from '../../http-fetch/fetch-exchange.ts';
import { addressOf, navigationOf } from './next-errors.ts';
import { noContext, runtimeEndsWithAnswer } from '../../http-fetch/keep-alive.ts';

/** The parameters of a dynamic route. */
export type RouteParams = Record<string, string | string[] | undefined>;

/** What Next gives beside the request. */
export interface NextContext<Params extends RouteParams = RouteParams> {
  readonly params: Promise<Params>;
}

/** A request with the parameters of its route: what scope functions and their like get. */
export interface NextCall<Incoming extends Request = Request, Params extends RouteParams = RouteParams> {
  readonly request: Incoming;
  readonly params: Params;
}

type KeepAlive = ((work: Promise<unknown>) => void) | undefined;

/** Answers a request: `run` is the handler, for an attempt or for none. */
export async function answerCall<Call extends NextCall>(
  engine: Engine,
  route: Route<Call>,
  wrapped: Wrapped<Call> | null,
  call: Call,
  waitUntil: KeepAlive,
  run: (request: Request, attempt: Attempt | null) => Response | Promise<Response>,
): Promise<Response> {
  const { request } = call;
  const protects = route.methods.has(request.method.toUpperCase());
  if (protects && waitUntil === undefined && runtimeEndsWithAnswer()) throw noContext();
  const handler = async (own: Request, attempt: Attempt | null): Promise<Response> => {
    try {
      return await run(own, attempt);
    } catch (error) {
      return thrownAnswer(error) ?? Promise.reject(error);
    }
  };
  const exchange = new FetchExchange<Call>(request, route, engine, handler, {
    native: call,
    rawHeaders: null,
    route: null,
    headers: [],
    below: belowOf(request),
  });
  const done = handle(engine, route, exchange, wrapped);
  waitUntil?.(done);
  return exchange.response;
}

/** Next gives a proxy of its request, which `new Request(…)` does not take on every Node. */
function belowOf(request: Request): Below {
  const Own = request.constructor as typeof Request;
  return {
    readBody: () => undefined,
    ownRequest(raw, { signal }) {
      // A request without a body stays one; a body that is empty was there.
      const body = request.body === null ? null : raw;
      return new Own(request.url, { method: request.method, headers: request.headers, body, signal });
    },
    bytesOf: () => undefined,
  };
}

/** The answer that Next makes of an error of `redirect()`, `notFound()`, `forbidden()` …; null for any other error. */
function thrownAnswer(error: unknown): Response | null {
  const navigation = navigationOf(error);
  if (navigation === null) return null;
  const { status, digest } = navigation;
  const Location = addressOf(digest);
  return new Response(null, Location === null ? { status } : { status, headers: { Location } });
}
