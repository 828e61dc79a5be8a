/** Fastify's request and reply, as an exchange on `node:http`. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { MatchedRoute } from '../../core/operation.ts';
import { handle, readsBody } from '../../http/handle.ts';
import type { Route } from '../../http/route.ts';
import type { Wrapped } from '../../http/wrapped.ts';
import { NodeExchange } from '../../http-node/node-exchange.ts';

/** What protects a route of Fastify. */
export interface Door {
  readonly engine: Engine;
  readonly route: Route<FastifyRequest>;
  /** Null: the route's own handler runs. */
  readonly wrapped: Wrapped<FastifyRequest> | null;
}

/** How a hook or a handler of Fastify goes on. */
interface GoOn {
  readonly next: () => void;
  readonly fail: (error: unknown) => void;
}

/** Reads the body before Fastify's parsers do; one that cannot be read is answered here. */
export async function readAhead(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  go: GoOn,
): Promise<void> {
  const { engine, route, wrapped } = door;
  const exchange = exchangeOf(door, request, reply, go);
  try {
    const reads = readsBody(route, exchange);
    if (reads === false || !(await reads)) return go.next();
    const { kind } = await exchange.readBody(route.requestSizeMaxBytes);
    if (kind === 'body') {
      exchange.lendBody();
      return go.next();
    }
  } catch (error) {
    return go.fail(error);
  }
  await handle(engine, route, exchange, wrapped);
}

/** One request, from the hook or handler that asks. */
export function exchangeOf(
  { engine, route }: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  go: GoOn,
): NodeExchange<FastifyRequest> {
  return new NodeExchange(request.raw, reply.raw, route, engine, {
    native: request,
    route: matchedRoute(request),
    // What hooks have set so far (CORS, a request's id), as on the response of other frameworks.
    headers: reply.getHeaders(),
    next: go.next,
    fail: go.fail,
    take: () => void reply.hijack(),
  });
}

interface Routing {
  readonly caseSensitive?: boolean;
  readonly routerOptions?: { readonly caseSensitive?: boolean };
}

function matchedRoute({ raw, routeOptions, server }: FastifyRequest): MatchedRoute {
  const { url = '', method } = routeOptions;
  const { caseSensitive, routerOptions } = server.initialConfig as Routing;
  const { originalUrl = raw.url } = raw as { readonly originalUrl?: string };
  return {
    pattern: url,
    mount: '',
    // `rewriteUrl` leaves the client's own beside the one that is routed.
    fitsPath: originalUrl === raw.url,
    foldsCase: (routerOptions?.caseSensitive ?? caseSensitive) === false,
    isForMethod: ![method].flat().includes('GET'),
  };
}
