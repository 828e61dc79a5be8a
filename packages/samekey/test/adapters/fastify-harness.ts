/** Fastify, as the adapter contract drives it. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { attemptOf, idempotent } from '../../src/adapters/fastify/index.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

type Way = (reply: FastifyReply, body: Buffer) => unknown;

const halves = (body: Buffer): Readable => Readable.from([body.subarray(0, 3), body.subarray(3)]);

const WAYS: Readonly<Record<string, Way>> = {
  send: (reply, body) => reply.send(body.length === 0 ? undefined : body),
  'send in a later turn': (reply, body) => {
    setImmediate(() => void reply.send(body));
    return reply;
  },
  'send of text': (reply, body) => reply.send(body.toString()),
  'a value returned': (_reply, body) => body,
  'a value through the serializer': (reply, body) => {
    reply.serializer((value: { readonly kept: string }) => value.kept);
    return { kept: body.toString() };
  },
  'a stream': (reply, body) => reply.send(halves(body)),
  'a Response': (reply, body) => reply.send(new Response(new Uint8Array(body), { status: reply.statusCode })),
  hijack: (reply, body) => {
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    reply.raw.write(body.subarray(0, 3));
    reply.raw.end(body.subarray(3));
  },
};

/** Serves an app. */
export async function listen(app: FastifyInstance): Promise<Served> {
  await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    port: (app.server.address() as AddressInfo).port,
    async close() {
      const closed = once(app.server, 'close');
      app.server.closeAllConnections();
      await app.close();
      await closed;
    },
  };
}

export function seen(request: FastifyRequest): ContractRequest {
  return { header: (name) => request.headers[name] as string | undefined };
}

function answer(reply: FastifyReply, given: ContractAnswer): unknown {
  reply.code(given.status);
  for (const [name, value] of given.headers ?? []) {
    const before = reply.getHeader(name);
    if (before === undefined || name.toLowerCase() === 'set-cookie') reply.header(name, value);
    else reply.header(name, [before, value].flat() as never);
  }
  if (given.stream !== undefined) return reply.send(Readable.from(given.stream, { objectMode: false }));
  return WAYS[given.way ?? 'send']?.(reply, Buffer.from(given.body ?? ''));
}

function declare(
  app: FastifyInstance,
  samekey: Parameters<typeof idempotent>[0],
  route: ContractRoute,
): void {
  app.register(idempotent(samekey, { ...route.options, scope: (req) => route.scope(seen(req)) as string[] }));
  app.register(async (inner) => {
    inner.addHook('onRequest', async (request, reply) => {
      if (!route.isAllowed(seen(request))) await reply.code(403).send('refused');
    });
    inner.route({
      method: route.method === 'ALL' || route.method === 'USE' ? METHODS : [route.method],
      url: route.pattern,
      async handler(request, reply) {
        const body = Buffer.isBuffer(request.body) ? request.body : new Uint8Array(0);
        const call = { ...seen(request), method: request.method, body, attempt: attemptOf(request) };
        return answer(reply, await route.handler(call));
      },
    });
  });
}

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** An app that takes every body as it comes. */
export function bare(options: FastifyServerOptions = {}): FastifyInstance {
  const app = fastify({
    bodyLimit: 10_000_000,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    ...options,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  return app;
}

/** The harness of the Fastify adapter. */
export const fastifyHarness: AdapterHarness = {
  name: 'Fastify',
  ways: Object.keys(WAYS),
  hasRoutePatterns: true,
  routing: { foldsCase: false, foldsSlash: false, canFoldSlash: true },
  hasRepeatedLines: true,
  tellsRequestLines: true,
  serve(samekey, routes) {
    const ignoreTrailingSlash = routes.some(({ matching }) => matching?.strict === false);
    const app = bare({ routerOptions: { ignoreTrailingSlash, maxParamLength: 10_000 } });
    app.setErrorHandler((_error, _request, reply) => reply.code(500).send('error'));
    for (const route of routes) {
      const prefixes = [route.mount, ...(route.within ?? [])];
      const whole = prefixes.reduceRight<(app: FastifyInstance) => void>(
        (within, prefix) => (outer) => void outer.register(async (at) => within(at), { prefix }),
        (at) => {
          if (route.isBodyTaken) at.addHook('onRequest', async ({ raw }) => void (await buffer(raw)));
          declare(at, samekey, route);
        },
      );
      whole(app);
    }
    return listen(app);
  },
  protect: (samekey, options) => idempotent(samekey, options as never),
};
