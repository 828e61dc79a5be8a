/**
 * One event and its answer, on the exchange of Fetch.
 *
 * Invariants: an attempt ends, and its record is written, before the function's own deadline · what was begun for an
 * event is over when its answer is given.
 */

import { type Attempt } from '../../engine/attempt.ts';
import type { Engine } from '../../engine/engine.ts';
import { handle } from '../../http/handle.ts';
import type { Route } from '../../http/route.ts';
import type { Wrapped } from '../../http/wrapped.ts';
import type { Below } from '../../http-fetch/below.ts';
import { FetchExchange, noAnswer } from '../../http-fetch/fetch-exchange.ts';
import {
  bodyOf,
  type Bytes,
  type LambdaContext,
  type LambdaEvent,
  type LambdaResult,
  linesOf,
  methodOf,
  responseOf,
  resultOf,
  routeOf,
  targetOf,
} from './event.ts';

/** How long before the function's deadline an attempt ends at the latest, unless that is more than half of its time. */
const MARGIN_MS = 2_500;

/** Answers an event: `run` is the handler, for an attempt or for none. */
export async function answerEvent<Event extends LambdaEvent>(
  engine: Engine,
  route: Route<Event>,
  wrapped: Wrapped<Event> | null,
  event: Event,
  context: LambdaContext | undefined,
  run: (attempt: Attempt | null) => unknown,
): Promise<LambdaResult> {
  const own = within(route, context);
  const known = new WeakMap<Response, Bytes>();
  const request = new Request(`http://lambda${targetOf(event)}`, {
    method: methodOf(event),
    headers: codings(event),
  });
  const handler = async (_own: Request, attempt: Attempt | null): Promise<Response> => {
    const given = responseOf(await run(attempt), event);
    if (given === null) throw noAnswer('The handler has answered nothing: it must return { statusCode, … }.');
    known.set(given.response, given.bytes);
    return given.response;
  };
  const exchange = new FetchExchange<Event>(request, own, engine, handler, {
    native: event,
    rawHeaders: linesOf(event),
    route: routeOf(event),
    headers: [],
    below: belowOf(request, event, known),
  });
  const done = handle(engine, own, exchange, wrapped);
  const response = await exchange.response;
  const bytes = known.get(response) ?? new Uint8Array(await response.arrayBuffer());
  await done;
  return resultOf(response, bytes, event);
}

/** The same route for one call, which ends in time to be recorded. */
function within<Event>(route: Route<Event>, context: LambdaContext | undefined): Route<Event> {
  const leftMs = context?.getRemainingTimeInMillis?.();
  if (leftMs === undefined) return route;
  const mostMs = Math.max(1, Math.floor(leftMs - Math.min(MARGIN_MS, leftMs / 2)));
  const { attemptTimeMaxMs, claimTtlMs, waitMaxMs } = route.settings;
  const settings = {
    ...route.settings,
    attemptTimeMaxMs: Math.min(attemptTimeMaxMs, mostMs),
    claimTtlMs: Math.min(claimTtlMs, mostMs),
    waitMaxMs: Math.min(waitMaxMs, mostMs),
  };
  return { ...route, settings };
}

function belowOf(request: Request, event: LambdaEvent, known: WeakMap<Response, Bytes>): Below {
  return {
    async readBody(sizeMaxBytes) {
      const raw = bodyOf(event);
      return raw.length > sizeMaxBytes ? { kind: 'too-large' } : { kind: 'body', raw };
    },
    ownRequest: () => request,
    bytesOf: (answer) => known.get(answer),
  };
}

/** All that is asked of the request itself. */
function codings(event: LambdaEvent): Headers {
  const headers = new Headers();
  const lines = linesOf(event);
  for (let i = 0; i < lines.length; i += 2)
    if (lines[i]?.toLowerCase() === 'content-encoding')
      headers.append('content-encoding', lines[i + 1] ?? '');
  return headers;
}
