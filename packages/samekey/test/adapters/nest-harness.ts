/** NestJS on Express and on Fastify, as the adapter contract drives it; decorators are called as functions. */

import 'reflect-metadata';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  All,
  type ArgumentsHost,
  Controller,
  Delete,
  type ExecutionContext,
  HttpException,
  type INestApplication,
  Module,
  type NestApplicationOptions,
  Patch,
  Post,
  Put,
  Req,
  Res,
  StreamableFile,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import type { FastifyInstance } from 'fastify';
import { of } from 'rxjs';
import { attemptOf, Exchange, Idempotent, SamekeyModule } from '../../src/adapters/nestjs/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

/** `@Decorator() name() {}`, from the last to the first as compilers do it. */
export function decorate(owner: Type, name: string, ...decorators: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(owner.prototype, name) as PropertyDescriptor;
  for (const each of decorators.toReversed()) each(owner.prototype as object, name, descriptor);
  Object.defineProperty(owner.prototype, name, descriptor);
}

/** `name(@Decorator() first, …)`. */
export function parameters(owner: Type, name: string, ...decorators: readonly ParameterDecorator[]): void {
  for (const [i, each] of decorators.entries()) each(owner.prototype as object, name, i);
}

interface Reply {
  status(code: number): unknown;
  header(name: string, value: unknown): unknown;
  getHeader(name: string): string | readonly string[] | undefined;
  send(body: string): unknown;
  readonly raw?: ServerResponse;
  destroy?(): void;
}

const file = (source: Uint8Array | Readable): StreamableFile =>
  (source instanceof Uint8Array ? new StreamableFile(source) : new StreamableFile(source)).setErrorHandler(
    (_error, res) => ((res as unknown as Reply).raw ?? (res as unknown as ServerResponse)).destroy(),
  );

const WAYS: Readonly<Record<string, (body: Buffer) => unknown>> = {
  'a file of bytes': (body) => (body.length === 0 ? undefined : file(body)),
  'a file of a stream': (body) => file(Readable.from([body.subarray(0, 3), body.subarray(3)])),
  'a text': (body) => body.toString(),
  'an observable': (body) => of(body.toString()),
};

export function seen(context: ExecutionContext): ContractRequest {
  const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
  return { header: (name) => headers[name] as string | undefined };
}

function answer(reply: Reply, given: ContractAnswer): unknown {
  reply.status(given.status);
  for (const [name, value] of given.headers ?? []) {
    // Express adds a charset to what is set on it.
    if (reply.raw === undefined) {
      (reply as unknown as ServerResponse).appendHeader(name, value);
      continue;
    }
    const before = reply.getHeader(name);
    const isCookie = name.toLowerCase() === 'set-cookie' && reply.raw !== undefined;
    reply.header(name, before === undefined || isCookie ? value : [before, value].flat());
  }
  if (given.stream !== undefined) return file(Readable.from(given.stream, { objectMode: false }));
  return WAYS[given.way ?? 'a file of bytes']?.(Buffer.from(given.body ?? ''));
}

const METHODS = { POST: Post, PATCH: Patch, PUT: Put, DELETE: Delete, ALL: All, USE: All } as const;

function controllerOf(route: ContractRoute, path: string): Type {
  class Things {
    async handle(req: IncomingMessage, reply: Reply, context: ExecutionContext) {
      const body = await buffer((req as { raw?: IncomingMessage }).raw ?? req);
      const call = { ...seen(context), method: req.method ?? '', body, attempt: attemptOf(context) };
      return answer(reply, await route.handler(call));
    }
  }
  const protect = Idempotent({
    ...route.options,
    scope: (context: ExecutionContext) => route.scope(seen(context)) as string[],
  });
  const canActivate = (context: ExecutionContext): boolean => {
    if (route.isAllowed(seen(context))) return true;
    throw new HttpException('refused', 403);
  };
  const method = METHODS[route.method](route.pattern);
  parameters(Things, 'handle', Req(), Res({ passthrough: true }), Exchange());
  decorate(
    Things,
    'handle',
    UseGuards({ canActivate }),
    method,
    ...(route.method === 'USE' ? [] : [protect]),
  );
  if (route.method === 'USE') protect(Things);
  Controller(path)(Things);
  return Things;
}

class Answers {
  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<Reply>();
    const res = (reply.raw ?? reply) as ServerResponse;
    if (res.headersSent) return void res.destroy();
    const status = error instanceof HttpException ? error.getStatus() : 500;
    reply.status(status);
    reply.send(status === 500 ? 'error' : (error as HttpException).message);
  }
}

/** An application of these controllers. */
export function create(
  samekey: Samekey,
  controllers: readonly Type[],
  adapter: AbstractHttpAdapter,
  options: NestApplicationOptions = {},
): Promise<INestApplication> {
  class Application {
    readonly name = 'contract';
  }
  Module({ imports: [SamekeyModule.forRoot({ samekey })], controllers: [...controllers] })(Application);
  return NestFactory.create(Application, adapter, { logger: false, abortOnError: false, ...options });
}

/** Serves a server. */
export async function listen(server: Server, close: () => Promise<unknown>): Promise<Served> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await close();
    },
  };
}

/** A parser that keeps nothing. */
async function takeBody(req: IncomingMessage, _res: unknown, next: () => void): Promise<void> {
  await buffer(req);
  next();
}

function harnessOf(
  name: string,
  routing: AdapterHarness['routing'],
  serve: AdapterHarness['serve'],
): AdapterHarness {
  return {
    name,
    ways: Object.keys(WAYS),
    hasRoutePatterns: true,
    routing,
    hasRepeatedLines: true,
    tellsRequestLines: true,
    serve,
    protect: (samekey, options) => protectAtStart(samekey, options),
  };
}

/** What an application does when it starts, without its server: the options are read. */
function protectAtStart(samekey: Samekey, options: unknown): unknown {
  class Things {
    handle(): void {}
  }
  decorate(Things, 'handle', Idempotent(options as never), Post());
  const things = new Things() as unknown as Record<string, unknown>;
  for (const { key } of Reflect.getMetadata('self:properties_metadata', Things) as { key: string }[])
    things[key] = { samekey };
  return things;
}

/** The harness on Express. */
export const nestExpressHarness: AdapterHarness = harnessOf(
  'Nest on Express',
  { foldsCase: true, foldsSlash: true, stripsSlash: true, canFoldSlash: true },
  async (samekey, routes) => {
    const root = express();
    const closing: (() => Promise<unknown>)[] = [];
    for (const route of routes) {
      const settings = express();
      if (route.matching?.caseSensitive === true) settings.enable('case sensitive routing');
      if (route.matching?.strict === true) settings.enable('strict routing');
      const isApart = route.mounted === 'function';
      const within = (route.within ?? []).join('');
      const things = controllerOf(route, isApart ? within : route.mount + within);
      const adapter = new ExpressAdapter(settings);
      // Where one application has no route, the next may.
      adapter.setNotFoundHandler = () => undefined;
      const app = await create(samekey, [things], adapter, { bodyParser: false });
      app.useGlobalFilters(new Answers());
      if (route.isBodyTaken) app.use(takeBody);
      await app.init();
      closing.push(() => app.close());
      const call = (req: IncomingMessage, res: ServerResponse, next: () => void): void =>
        (app.getHttpAdapter().getInstance() as (...all: unknown[]) => void)(req, res, next);
      if (isApart) root.use(route.mount, call);
      else root.use(call);
    }
    return listen(createServer(root), () => Promise.all(closing.map((close) => close())));
  },
);

/** The harness on Fastify. */
export const nestFastifyHarness: AdapterHarness = harnessOf(
  'Nest on Fastify',
  { foldsCase: false, foldsSlash: false, canFoldSlash: true },
  async (samekey, routes) => {
    const ignoreTrailingSlash = routes.some(({ matching }) => matching?.strict === false);
    const adapter = new FastifyAdapter({
      bodyLimit: 10_000_000,
      exposeHeadRoutes: false,
      routerOptions: { ignoreTrailingSlash, maxParamLength: 10_000 },
    });
    const instance = adapter.getInstance<FastifyInstance>();
    instance.removeAllContentTypeParsers();
    // Nobody reads the body before the method asks for it.
    instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
    if (routes.some(({ isBodyTaken }) => isBodyTaken))
      instance.addHook('onRequest', async ({ raw }) => void (await buffer(raw)));
    const controllers = routes.map((route) =>
      controllerOf(route, route.mount + (route.within ?? []).join('')),
    );
    const app = await create(samekey, controllers, adapter, {
      bodyParser: false,
    });
    app.useGlobalFilters(new Answers());
    await app.init();
    await instance.ready();
    return listen(instance.server, () => app.close());
  },
);
