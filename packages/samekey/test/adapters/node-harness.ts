/** Plain node:http, with a listener or with middleware, as the adapter contract drives it. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Attempt } from '../../src/engine/attempt.ts';
import { attemptOf, idempotent, noteDeclared } from '../../src/adapters/node/index.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

type Listen = (req: IncomingMessage, res: ServerResponse) => Promise<void> | void;

/** Answers an error: what has begun cannot be answered any more. */
export function answerError(res: ServerResponse): void {
  if (res.headersSent) res.destroy();
  else res.writeHead(500).end('error');
}

/** Serves a listener, its errors answered as the guide shows it. */
export async function listen(listener: Listen): Promise<Served> {
  const server = createServer((req, res) => {
    (async () => listener(req, res))().catch(() => answerError(res));
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

const WAYS: Readonly<Record<string, (res: ServerResponse, body: Buffer) => unknown>> = {
  end: (res, body) => (body.length === 0 ? res.end() : res.end(body)),
  'end with text': (res, body) => res.end(body.toString()),
  'writeHead and end': (res, body) =>
    res.writeHead(res.statusCode, { 'Content-Length': body.length }).end(body),
  'write and end': (res, body) => {
    res.write(body.subarray(0, 3));
    res.end(body.subarray(3));
  },
  'write in later turns': (res, body) => {
    res.write(body.subarray(0, 3));
    setImmediate(() => res.end(body.subarray(3)));
  },
  pipe: (res, body) => Readable.from([body.subarray(0, 3), body.subarray(3)]).pipe(res),
  pipeline: (res, body) => pipeline(Readable.from([body.subarray(0, 3), body.subarray(3)]), res),
};

export function seen(req: IncomingMessage): ContractRequest {
  return { header: (name) => req.headers[name] as string | undefined };
}

async function answer(res: ServerResponse, given: ContractAnswer): Promise<void> {
  res.statusCode = given.status;
  for (const [name, value] of given.headers ?? []) res.appendHeader(name, value);
  if (given.stream === undefined) await WAYS[given.way ?? 'end']?.(res, Buffer.from(given.body ?? ''));
  // Its head comes before its first chunk.
  else {
    res.writeHead(res.statusCode);
    await pipeline(given.stream, res).catch(() => undefined);
  }
}

async function respond(
  route: ContractRoute,
  req: IncomingMessage,
  res: ServerResponse,
  attempt: Attempt | null,
): Promise<void> {
  const body = await buffer(req);
  await answer(res, await route.handler({ ...seen(req), method: req.method ?? '', body, attempt }));
}

/** As connect calls error middleware and answers what is left over. */
function chained(samekey: Parameters<typeof idempotent>[0], route: ContractRoute): Listen {
  const protect = idempotent(samekey, optionsOf(route));
  return (req, res) =>
    protect(req, res, (fault) => {
      if (fault !== undefined) return answerError(res);
      respond(route, req, res, attemptOf(req)).catch((thrown: unknown) =>
        noteDeclared(thrown, req, res, () => answerError(res)),
      );
    });
}

function optionsOf(route: ContractRoute) {
  return { ...route.options, scope: (req: IncomingMessage) => route.scope(seen(req)) as string[] };
}

function matches(route: ContractRoute, req: IncomingMessage): boolean {
  const whole = [route.mount, ...(route.within ?? []), route.pattern].join('');
  const path = (req.url ?? '').replace(/^[a-z]+:\/\/[^/?]*/, '').split('?')[0] ?? '';
  return new RegExp(`^${whole.replaceAll(/:\w+/g, '[^/]+')}$`).test(path);
}

function harnessOf(
  name: string,
  made: (samekey: Parameters<typeof idempotent>[0], route: ContractRoute) => Listen,
  protect: AdapterHarness['protect'],
): AdapterHarness {
  return {
    name,
    ways: Object.keys(WAYS),
    hasRoutePatterns: false,
    routing: { foldsCase: false, foldsSlash: false, canFoldSlash: false },
    hasRepeatedLines: true,
    tellsRequestLines: true,
    serve(samekey, routes) {
      const listeners = routes.map((route) => ({ route, listener: made(samekey, route) }));
      return listen(async (req, res) => {
        const found = listeners.find(({ route }) => matches(route, req));
        if (found === undefined) res.writeHead(404).end('not found');
        else if (!found.route.isAllowed(seen(req))) res.writeHead(403).end('refused');
        else {
          if (found.route.isBodyTaken) await buffer(req);
          await found.listener(req, res);
        }
      });
    },
    protect,
  };
}

/** The harness of the listener. */
export const nodeHarness: AdapterHarness = harnessOf(
  'node:http',
  (samekey, route) =>
    idempotent(samekey, optionsOf(route), (req, res, attempt) => respond(route, req, res, attempt)),
  (samekey, options) => idempotent(samekey, options as never, () => undefined),
);

/** The harness of the middleware. */
export const nodeMiddlewareHarness: AdapterHarness = harnessOf(
  'node:http as middleware',
  chained,
  (samekey, options) => idempotent(samekey, options as never),
);
