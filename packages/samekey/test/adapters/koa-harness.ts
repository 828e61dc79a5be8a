/** Koa, 2 or 3, with @koa/router, as the adapter contract drives it. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Router } from '@koa/router';
import type Koa from 'koa';
import type { Context, Next } from 'koa';
import { attemptOf, idempotent } from '../../src/adapters/koa/index.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

type Handler = (ctx: Context, next: Next) => unknown;

/** Serves an app. */
export async function listen(app: Koa): Promise<Served> {
  const listener = app.callback();
  const server = createServer((req, res) => void listener(req, res));
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

export function seen(ctx: Context): ContractRequest {
  return { header: (name) => ctx.get(name) || undefined };
}

const halves = (body: Buffer): Readable => Readable.from([body.subarray(0, 3), body.subarray(3)]);

const WAYS: Readonly<Record<string, (ctx: Context, body: Buffer) => unknown>> = {
  'a buffer': (ctx, body) => (ctx.body = body),
  'a text': (ctx, body) => (ctx.body = body.toString()),
  'a value': (ctx, body) => (ctx.body = JSON.parse(body.toString())),
  'a stream': (ctx, body) => (ctx.body = halves(body)),
  'a web stream': (ctx, body) => (ctx.body = Readable.toWeb(halves(body))),
  'a Blob': (ctx, body) => (ctx.body = new Blob([new Uint8Array(body)])),
  'res.end': (ctx, body) => ctx.res.end(body),
  'res alone, later': (ctx, body) => {
    ctx.respond = false;
    setImmediate(() => {
      ctx.res.write(body.subarray(0, 3));
      ctx.res.end(body.subarray(3));
    });
  },
};

function answer(ctx: Context, given: ContractAnswer): void {
  const type = given.headers?.some(([name]) => name.toLowerCase() === 'content-type');
  ctx.status = given.status;
  for (const [name, value] of given.headers ?? []) ctx.res.appendHeader(name, value);
  const body = Buffer.from(given.body ?? '');
  if (given.stream !== undefined) ctx.body = Readable.from(given.stream, { objectMode: false });
  else if (body.length === 0) ctx.body = null;
  else WAYS[given.way ?? 'a buffer']?.(ctx, body);
  // A framework's guess is none of the contract's.
  if (type !== true && !ctx.headerSent) ctx.remove('Content-Type');
  ctx.status = given.status;
}

function handlersOf(samekey: Parameters<typeof idempotent>[0], route: ContractRoute): Handler[] {
  return [
    async (ctx, next) => {
      if (route.isAllowed(seen(ctx))) await next();
      else {
        ctx.status = 403;
        ctx.body = 'refused';
      }
    },
    async (ctx, next) => {
      if (route.isBodyTaken) await buffer(ctx.req);
      await next();
    },
    idempotent(samekey, { ...route.options, scope: (ctx: Context) => route.scope(seen(ctx)) as string[] }),
    async (ctx) => {
      const body = await buffer(ctx.req);
      const call = { ...seen(ctx), method: ctx.method, body, attempt: attemptOf(ctx) };
      answer(ctx, await route.handler(call));
    },
  ];
}

/** A mount that nobody can see: it cuts the path off by itself. */
function hidden(mount: string, inner: Koa.Middleware): Koa.Middleware {
  const head = new RegExp(`^${mount.replaceAll(/:\w+/g, '[^/]+')}(?=/|$)`, 'i');
  return async (ctx, next) => {
    const { path } = ctx;
    if (!head.test(path)) await next();
    else {
      ctx.path = path.replace(head, '') || '/';
      await inner(ctx, async () => undefined);
      ctx.path = path;
    }
  };
}

const METHODS = { POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete', ALL: 'all' } as const;

/** The harness of one version of Koa. */
export function koaHarness(name: string, Application: typeof Koa): AdapterHarness {
  return {
    name,
    ways: Object.keys(WAYS),
    hasRoutePatterns: true,
    // A pattern with a slash at its end is not reached without one.
    routing: { foldsCase: true, foldsSlash: true, stripsSlash: true, canFoldSlash: true },
    hasRepeatedLines: true,
    tellsRequestLines: true,
    serve(samekey, routes) {
      const app = new Application();
      app.silent = true;
      app.use(async (ctx, next) => {
        try {
          await next();
        } catch (error) {
          ctx.app.emit('error', error, ctx);
          ctx.status = 500;
          ctx.body = 'error';
        }
      });
      for (const route of routes) {
        const { caseSensitive: sensitive = false, strict = false } = route.matching ?? {};
        const made = (): Router => new Router({ sensitive, strict });
        const handlers = handlersOf(samekey, route);
        const inner = made();
        if (route.method === 'USE') {
          for (const handler of handlers.slice(0, -1)) app.use(handler as Koa.Middleware);
          inner.all(route.pattern, ...(handlers.slice(-1) as never[]));
        } else inner[METHODS[route.method]](route.pattern, ...(handlers as never[]));
        const within = route.within ?? [];
        const router = within.reduceRight<Router>((below, path) => made().use(path, below.routes()), inner);
        if (route.mounted === 'function') app.use(hidden(route.mount, router.routes() as never));
        else if (route.mount === '') app.use(router.routes() as never);
        else app.use(made().use(route.mount, router.routes()).routes() as never);
      }
      return listen(app);
    },
    protect: (samekey, options) => idempotent(samekey, options as never),
  };
}
