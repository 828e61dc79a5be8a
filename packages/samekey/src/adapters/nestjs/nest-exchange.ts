/** Nest's execution context, on either platform, as an exchange on `node:http`. */

import type { ExecutionContext } from '@nestjs/common';
import type { Attempt } from '../../engine/attempt.ts';
import type { Engine } from '../../engine/engine.ts';
import { OptionsError } from '../../core/errors.ts';
import type { MatchedRoute } from '../../core/operation.ts';
import type { Route } from '../../http/route.ts';
import { rememberRawBody } from '../../http-node/body.ts';
import { attemptOf as attemptOfNode, NodeExchange } from '../../http-node/node-exchange.ts';
import { askForContext, isForAll } from './metadata.ts';

type Request = ConstructorParameters<typeof NodeExchange>[0];
type Response = ConstructorParameters<typeof NodeExchange>[1];

/** A request of Express, which is Node's own, or of Fastify, which has it. */
interface PlatformRequest {
  readonly raw?: Request;
  readonly rawBody?: Uint8Array;
  readonly baseUrl?: string;
  readonly path?: string;
  readonly route?: { readonly path?: unknown };
  readonly routeOptions?: { readonly url?: string };
  readonly server?: { readonly initialConfig?: Routing & { readonly routerOptions?: Routing } };
}

interface Routing {
  readonly caseSensitive?: boolean;
}

interface PlatformReply {
  readonly raw?: Response;
  getHeaders(): Readonly<Record<string, string | number | readonly string[] | undefined>>;
}

/** Node's request and response under a context. Throws `OptionsError` for what is not HTTP. */
export function nodeOf(context: ExecutionContext): {
  readonly req: Request;
  readonly res: Response;
  readonly request: PlatformRequest;
  readonly reply: PlatformReply;
} {
  if (context.getType() !== 'http')
    throw new OptionsError(
      `@Idempotent() is for HTTP, and this is ${context.getType()}: use samekey.run there.`,
    );
  const http = context.switchToHttp();
  const request = http.getRequest<PlatformRequest>();
  const reply = http.getResponse<PlatformReply>();
  return { req: request.raw ?? (request as Request), res: reply.raw ?? (reply as Response), request, reply };
}

/** One request, as it comes to the method of a controller. */
export function exchangeOf(
  context: ExecutionContext,
  engine: Engine,
  route: Route<ExecutionContext>,
  flow: { next(): void; fail(error: unknown): void },
): NodeExchange<ExecutionContext> {
  const { req, res, request, reply } = nodeOf(context);
  // Fastify's parsers have kept it on Fastify's own request (`rawBody: true`).
  if (request.raw !== undefined && request.rawBody !== undefined) rememberRawBody(req, null, request.rawBody);
  return new NodeExchange(req, res, route, engine, {
    native: context,
    route: matchedRoute(context, request, req),
    headers: reply.getHeaders(),
    // Nest goes on with what the method gives back, and answers.
    isAnsweredAnyway: true,
    asksRequestSocket: true,
    next: () => flow.next(),
    fail: (error) => flow.fail(error),
  });
}

function matchedRoute(context: ExecutionContext, request: PlatformRequest, req: Request): MatchedRoute {
  const isForMethod = !isForAll(context.getHandler());
  const { originalUrl = req.url } = req as { readonly originalUrl?: string };
  const { routeOptions, route, baseUrl = '', path = '' } = request;
  const config = request.server?.initialConfig;
  if (routeOptions !== undefined)
    return {
      pattern: routeOptions.url ?? '',
      mount: '',
      fitsPath: originalUrl === req.url,
      foldsCase: (config?.routerOptions?.caseSensitive ?? config?.caseSensitive) === false,
      isForMethod,
    };
  const asked = originalUrl?.split('?')[0];
  return {
    pattern: typeof route?.path === 'string' ? route.path : [route?.path].flat().join(','),
    mount: baseUrl,
    fitsPath: typeof route?.path === 'string' && asked === baseUrl + path,
    foldsCase: true,
    isForMethod,
  };
}

/** The attempt that a request's handler runs under; null when the request is not protected. */
export function attemptOf(context: ExecutionContext): Attempt | null {
  return attemptOfNode(nodeOf(context).req);
}

/** Gives a parameter of a method the execution context: for `attemptOf`, and for what `serve` returns. */
export function Exchange(): ParameterDecorator {
  return (prototype, method, index) => void askForContext(prototype, String(method), index);
}
