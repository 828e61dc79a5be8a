/** AWS Lambda behind API Gateway, as the adapter contract drives it: a gateway of our own, on a listening server. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import {
  idempotent,
  type LambdaContext,
  type LambdaEvent,
  type LambdaHandler,
  type LambdaResult,
} from '../../src/adapters/lambda/index.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

export type Form = 'a REST API' | 'an HTTP API' | 'a load balancer';

/** What the contract's clock does not move. */
export const CONTEXT: LambdaContext = { getRemainingTimeInMillis: () => 900_000 };

/** The event that AWS makes of a request. `route` is its pattern, with `{…}` for parameters. */
export function eventOf(
  form: Form,
  req: IncomingMessage,
  body: Buffer,
  route: string,
  isForAll = false,
): LambdaEvent {
  const { pathname, search, searchParams } = new URL(req.url ?? '/', 'http://gateway');
  const method = req.method ?? '';
  const text = body.toString();
  const isText = Buffer.from(text).equals(body);
  const sent = { body: isText ? text : body.toString('base64'), isBase64Encoded: !isText };
  const lines: [string, string][] = [];
  for (let i = 0; i < req.rawHeaders.length; i += 2)
    lines.push([req.rawHeaders[i] ?? '', req.rawHeaders[i + 1] ?? '']);
  const many: Record<string, string[]> = {};
  for (const [name, value] of lines) (many[name] ??= []).push(value);
  const joined: Record<string, string> = {};
  for (const [name, value] of lines) {
    const field = name.toLowerCase();
    joined[field] = joined[field] === undefined ? value : `${joined[field]},${value}`;
  }
  if (form === 'an HTTP API')
    return {
      ...sent,
      routeKey: `${isForAll ? 'ANY' : method} ${route}`,
      rawPath: pathname,
      rawQueryString: search.slice(1),
      headers: joined,
      requestContext: { stage: '$default', http: { method } },
    };
  const query: Record<string, string[]> = {};
  for (const [name, value] of searchParams) (query[name] ??= []).push(value);
  if (form === 'a REST API')
    return {
      ...sent,
      httpMethod: method,
      path: pathname,
      resource: route,
      multiValueHeaders: many,
      multiValueQueryStringParameters: query,
      requestContext: { stage: 'prod' },
    };
  // With multi-value headers enabled; what it has of a query is as it was sent.
  const pairs = search.slice(1).split('&').filter(Boolean);
  const raw: Record<string, string[]> = {};
  for (const pair of pairs) (raw[pair.split('=')[0] ?? ''] ??= []).push(pair.split('=')[1] ?? '');
  return {
    ...sent,
    httpMethod: method,
    path: pathname,
    multiValueHeaders: many,
    multiValueQueryStringParameters: raw,
    requestContext: { elb: { targetGroupArn: 'arn' } },
  };
}

/** The answer that AWS makes of a result. */
export function send(res: ServerResponse, result: LambdaResult): void {
  const { headers = {}, multiValueHeaders = {}, cookies = [] } = result;
  const lines = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  for (const [name, values] of Object.entries(multiValueHeaders))
    for (const value of values) lines.push([name, String(value)]);
  for (const cookie of cookies) lines.push(['set-cookie', cookie]);
  const body = Buffer.from(result.body ?? '', result.isBase64Encoded === true ? 'base64' : 'utf8');
  res.writeHead(result.statusCode, lines.flat());
  res.end(body);
}

const WAYS: Readonly<Record<string, (body: Buffer) => Partial<LambdaResult>>> = {
  Base64: (body) => ({ body: body.toString('base64'), isBase64Encoded: true }),
  text: (body) => ({ body: body.toString() }),
};

export function seen(event: LambdaEvent): ContractRequest {
  const { headers, multiValueHeaders } = event;
  const all = { ...headers, ...multiValueHeaders };
  return {
    header(name) {
      const found = Object.entries(all).find(([given]) => given.toLowerCase() === name);
      return found?.[1] === undefined ? undefined : [found[1]].flat().join(', ');
    },
  };
}

async function answer(given: ContractAnswer): Promise<LambdaResult> {
  const chunks: Uint8Array[] = [];
  if (given.stream !== undefined) for await (const chunk of given.stream) chunks.push(chunk);
  const body = given.stream === undefined ? Buffer.from(given.body ?? '') : Buffer.concat(chunks);
  const multiValueHeaders: Record<string, string[]> = {};
  for (const [name, value] of given.headers ?? []) (multiValueHeaders[name] ??= []).push(value);
  return { statusCode: given.status, multiValueHeaders, ...WAYS[given.way ?? 'Base64']?.(body) };
}

function handlerOf(route: ContractRoute): LambdaHandler<LambdaEvent, LambdaContext> {
  return async (event, _context, attempt) => {
    const body = Buffer.from(event.body ?? '', event.isBase64Encoded === true ? 'base64' : 'utf8');
    const method = event.httpMethod ?? event.requestContext?.http?.method ?? '';
    return answer(await route.handler({ ...seen(event), method, body, attempt }));
  };
}

function wholeOf(route: ContractRoute): string {
  return [route.mount, ...(route.within ?? []), route.pattern].join('');
}

/** Listens as a gateway does. */
export async function listen(
  answerTo: (req: IncomingMessage, body: Buffer, res: ServerResponse) => Promise<void>,
): Promise<Served> {
  const server = createServer((req, res) => {
    void (async () => {
      try {
        await answerTo(req, await buffer(req), res);
      } catch {
        if (!res.headersSent) res.writeHead(500).end('error');
      }
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The harness of the Lambda adapter. */
export function lambdaHarness(form: Form): AdapterHarness {
  return {
    name: `Lambda behind ${form}`,
    ways: Object.keys(WAYS),
    hasRoutePatterns: form !== 'a load balancer',
    routing: { foldsCase: false, foldsSlash: false, canFoldSlash: false },
    hasRepeatedLines: false,
    tellsRequestLines: form !== 'an HTTP API',
    ...(form === 'an HTTP API' && { joinsLinesWith: ',' as const }),
    tellsRouteMethods: form === 'an HTTP API',
    hasStreams: false,
    hasWholeBodies: true,
    serve(samekey, routes) {
      const functions = routes.map((route) => ({
        route,
        run: idempotent(
          samekey,
          { ...route.options, scope: (event) => route.scope(seen(event)) as string[] },
          handlerOf(route),
        ),
      }));
      return listen(async (req, body, res) => {
        const { pathname } = new URL(req.url ?? '/', 'http://gateway');
        const found = functions.find(({ route }) =>
          new RegExp(`^${wholeOf(route).replaceAll(/:\w+/g, '[^/]+')}$`).test(pathname),
        );
        if (found === undefined) {
          res.writeHead(404).end('not found');
          return;
        }
        const { route, run } = found;
        const pattern = wholeOf(route).replaceAll(/:(\w+)/g, '{$1}');
        const isForAll = route.method === 'ALL' || route.method === 'USE';
        const event = eventOf(form, req, body, pattern, isForAll);
        if (route.isAllowed(seen(event))) send(res, await run(event, CONTEXT));
        else res.writeHead(403).end('refused');
      });
    },
    protect: (samekey, options) => idempotent(samekey, options as never, () => undefined),
  };
}
