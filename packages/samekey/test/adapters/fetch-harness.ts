/** A Fetch handler on a real server, by a bridge as small as a bridge can be, as the adapter contract drives it. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { type FetchContext, type FetchHandler, idempotent } from '../../src/adapters/fetch/index.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

export type FetchApp = (request: Request) => Response | Promise<Response>;

function requestOf(req: IncomingMessage): Request {
  const headers = new Headers();
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    headers.append(req.rawHeaders[i] as string, req.rawHeaders[i + 1] as string);
  }
  const { method = 'GET' } = req;
  const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(req);
  const init = { method, headers, body, duplex: 'half' } as RequestInit;
  return new Request(new URL(req.url ?? '/', 'http://samekey.test'), init);
}

async function send(response: Response, res: ServerResponse): Promise<void> {
  const lines = [...response.headers].flat();
  if (response.body === null) {
    res.writeHead(response.status, lines).end();
    return;
  }
  res.writeHead(response.status, lines);
  const reader = response.body.getReader();
  res.on('close', () => void reader.cancel().catch(() => undefined));
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!res.write(value)) await once(res, 'drain');
  }
  res.end();
}

/** Serves a Fetch handler; what it throws is answered with 500. */
export async function listen(app: FetchApp): Promise<Served> {
  const server = createServer((req, res) => {
    (async () => send(await app(requestOf(req)), res))().catch(() => {
      if (res.headersSent) res.destroy();
      else res.writeHead(500).end('error');
    });
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

export function seen(request: Request): ContractRequest {
  return { header: (name) => request.headers.get(name) ?? undefined };
}

export const WAYS: Readonly<Record<string, (body: Uint8Array<ArrayBuffer>) => BodyInit>> = {
  bytes: (body) => body,
  text: (body) => new TextDecoder().decode(body),
  'a blob': (body) => new Blob([body]),
  'a stream': (body) =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(body.subarray(0, 3));
        controller.enqueue(body.subarray(3));
        controller.close();
      },
    }),
};

// Node 20 has it, the DOM's types do not.
const { from } = ReadableStream as unknown as {
  readonly from: (chunks: AsyncIterable<Uint8Array>) => ReadableStream<Uint8Array<ArrayBuffer>>;
};

export function responseOf(given: ContractAnswer): Response {
  const headers = new Headers();
  for (const [name, value] of given.headers ?? []) headers.append(name, value);
  const init = { status: given.status, headers };
  if (given.stream !== undefined) {
    return new Response(from(given.stream), init);
  }
  const body = new Uint8Array(Buffer.from(given.body ?? ''));
  return new Response(body.length === 0 ? null : (WAYS[given.way ?? 'bytes']?.(body) ?? null), init);
}

function handlerOf(route: ContractRoute): FetchHandler<FetchContext> {
  return async (request, _context, attempt) => {
    const body = new Uint8Array(await request.arrayBuffer());
    return responseOf(await route.handler({ ...seen(request), method: request.method, body, attempt }));
  };
}

/** Whether a path is one of a route. */
export function matches(route: ContractRoute, path: string): boolean {
  const whole = [route.mount, ...(route.within ?? []), route.pattern].join('');
  return new RegExp(`^${whole.replaceAll(/:\w+/g, '[^/]+')}$`).test(path);
}

/** The harness of the Fetch adapter on a server. */
export const fetchHarnessOn = (serve: (app: FetchApp) => Promise<Served>): AdapterHarness => ({
  name: 'Fetch',
  ways: Object.keys(WAYS),
  hasRoutePatterns: false,
  routing: { foldsCase: false, foldsSlash: false, canFoldSlash: false },
  hasRepeatedLines: false,
  tellsRequestLines: false,
  serve(samekey, routes) {
    const apps = routes.map((route) => ({
      route,
      app: idempotent(
        samekey,
        { ...route.options, scope: (request) => route.scope(seen(request)) as string[] },
        handlerOf(route),
      ),
    }));
    return serve(async (request) => {
      const found = apps.find(({ route }) => matches(route, new URL(request.url).pathname));
      if (found === undefined) return new Response('not found', { status: 404 });
      if (!found.route.isAllowed(seen(request))) return new Response('refused', { status: 403 });
      if (found.route.isBodyTaken) await request.text();
      return found.app(request);
    });
  },
  protect: (samekey, options) => idempotent(samekey, options as never, () => new Response()),
});

/** The harness of the Fetch adapter, on Node. */
export const fetchHarness: AdapterHarness = fetchHarnessOn(listen);
