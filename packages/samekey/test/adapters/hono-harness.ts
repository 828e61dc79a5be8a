/** Hono on its Node server, as the adapter contract drives it. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { stream } from 'hono/streaming';
import { attemptOf, idempotent } from '../../src/adapters/hono/index.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

/** Serves an app. */
export async function listen(app: Hono): Promise<Served> {
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
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

export function seen(c: Context): ContractRequest {
  return { header: (name) => c.req.header(name) };
}

type Bytes = Uint8Array<ArrayBuffer>;

const WAYS: Readonly<Record<string, (c: Context, body: Bytes) => Response>> = {
  'c.body': (c, body) => c.body(body),
  'c.text': (c, body) => c.text(new TextDecoder().decode(body)),
  'c.json': (c, body) => c.json(JSON.parse(new TextDecoder().decode(body))),
  'c.newResponse': (c, body) => c.newResponse(body),
  'a Response of its own': (c, body) =>
    new Response(body, { status: c.newResponse(null).status, headers: [...c.newResponse(null).headers] }),
  'c.res set': (c, body) => {
    c.res = c.body(body);
    return c.res;
  },
  'the streaming helper': (c, body) =>
    stream(c, async (out) => {
      await out.write(body.subarray(0, 3));
      await out.write(body.subarray(3));
    }),
};

// Node 20 has it, the DOM's types do not.
const { from } = ReadableStream as unknown as {
  readonly from: (chunks: AsyncIterable<Uint8Array>) => ReadableStream<Bytes>;
};

function answer(c: Context, given: ContractAnswer): Response {
  c.status(given.status as 200);
  for (const [name, value] of given.headers ?? []) c.header(name, value, { append: true });
  if (given.stream !== undefined) return c.body(from(given.stream));
  const body = new Uint8Array(Buffer.from(given.body ?? ''));
  return body.length === 0 ? c.body(null) : (WAYS[given.way ?? 'c.body']?.(c, body) ?? c.body(null));
}

function handlersOf(route: ContractRoute, protect: MiddlewareHandler): MiddlewareHandler[] {
  return [
    async (c, next) => (route.isAllowed(seen(c)) ? next() : c.text('refused', 403)),
    async (c, next) => {
      if (route.isBodyTaken) await c.req.text();
      await next();
    },
    protect,
    async (c) => {
      const body = new Uint8Array(await c.req.arrayBuffer());
      const call = { ...seen(c), method: c.req.method, body, attempt: attemptOf(c) };
      return answer(c, await route.handler(call));
    },
  ];
}

/** `all` takes its handlers one by one as far as its types go; for a list of them there is `on`. */
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The harness of the Hono adapter. */
export const honoHarness: AdapterHarness = {
  name: 'Hono',
  ways: Object.keys(WAYS),
  hasRoutePatterns: true,
  routing: { foldsCase: false, foldsSlash: false, canFoldSlash: true },
  hasRepeatedLines: false,
  tellsRequestLines: true,
  serve(samekey, routes) {
    const isLoose = routes.some(({ matching }) => matching?.strict === false);
    const make = (): Hono => new Hono({ strict: !isLoose });
    const app = make();
    for (const route of routes) {
      const scope = (c: Context): string[] => route.scope(seen(c)) as string[];
      const inner = make();
      const handlers = handlersOf(route, idempotent(samekey, { ...route.options, scope }));
      if (route.method === 'USE') {
        inner.use('*', ...handlers.slice(0, -1));
        inner.on(METHODS, [route.pattern], ...handlers.slice(-1));
      } else inner.on(route.method === 'ALL' ? METHODS : route.method, [route.pattern], ...handlers);
      const router = (route.within ?? []).reduceRight((within, path) => make().route(path, within), inner);
      app.route(route.mount === '' ? '/' : route.mount, router);
    }
    app.onError((_error, c) => c.text('error', 500));
    return listen(app);
  },
  protect: (samekey, options) => idempotent(samekey, options as never),
};
