/** Express, 4 or 5, as the adapter contract drives it. */

import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type express from 'express';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { attemptOf, idempotent } from '../../src/adapters/express/index.ts';
import type {
  AdapterHarness,
  ContractAnswer,
  ContractRequest,
  ContractRoute,
  Served,
} from '../../../testing/src/adapter-contract.ts';

type Way = (res: Response, body: Buffer) => unknown;

const directory = mkdtempSync(join(tmpdir(), 'samekey-express-'));
let files = 0;

const WAYS: Readonly<Record<string, Way>> = {
  end: (res, body) => (body.length === 0 ? res.end() : res.end(body)),
  'end with text': (res, body) => res.end(body.toString()),
  'write and end': (res, body) => {
    res.write(body.subarray(0, 3));
    res.end(body.subarray(3));
  },
  'write in later turns': (res, body) => {
    res.write(body.subarray(0, 3));
    setImmediate(() => res.end(body.subarray(3)));
  },
  'a flushed head': (res, body) => {
    res.writeHead(res.statusCode);
    res.end(body);
  },
  send: (res, body) => res.send(body),
  json: (res, body) => res.json(JSON.parse(body.toString())),
  pipe: (res, body) => Readable.from([body.subarray(0, 3), body.subarray(3)]).pipe(res),
  sendFile: (res, body) => {
    const path = join(directory, `${(files += 1)}.json`);
    writeFileSync(path, body);
    res.sendFile(path);
  },
};

export function listen(app: express.Express): Promise<Served> {
  const server = createServer(app);
  server.listen(0, '127.0.0.1');
  return once(server, 'listening').then(() => ({
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  }));
}

export function seen(req: Request): ContractRequest {
  return { header: (name) => req.get(name) };
}

async function answer(res: Response, given: ContractAnswer): Promise<void> {
  res.status(given.status);
  for (const [name, value] of given.headers ?? []) (res as ServerResponse).appendHeader(name, value);
  if (given.stream === undefined) {
    WAYS[given.way ?? 'end']?.(res, Buffer.from(given.body ?? ''));
    return;
  }
  res.writeHead(res.statusCode);
  try {
    for await (const chunk of given.stream) {
      if (!res.write(chunk)) await once(res, 'drain');
    }
    res.end();
  } catch {
    // As pipeline does it.
    res.destroy();
  }
}

const onError: ErrorRequestHandler = (error, _req, res, next) =>
  res.headersSent ? next(error) : void res.status(500).end('error');

function handlerOf(route: ContractRoute): RequestHandler {
  return (req, res, next) => {
    const body = Buffer.isBuffer(req.body) ? req.body : new Uint8Array(0);
    const call = { ...seen(req), method: req.method, body, attempt: attemptOf(req) ?? null };
    // Express 4 does not look at promises.
    void (async () => {
      try {
        await answer(res, await route.handler(call));
      } catch (error) {
        next(error);
      }
    })();
  };
}

const METHODS = { POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete', ALL: 'all' } as const;

/** The harness of one version of Express. */
export function expressHarness(name: string, framework: typeof express): AdapterHarness {
  const raw = (): RequestHandler => framework.raw({ type: () => true, limit: '10mb' });
  return {
    name,
    ways: Object.keys(WAYS),
    hasRoutePatterns: true,
    routing: { foldsCase: true, foldsSlash: true, canFoldSlash: true },
    hasRepeatedLines: true,
    tellsRequestLines: true,
    serve(samekey, routes) {
      const app = framework();
      const isStrict = routes.some(({ matching }) => matching?.strict === true);
      if (routes.some(({ matching }) => matching?.caseSensitive === true))
        app.enable('case sensitive routing');
      if (isStrict) app.enable('strict routing');
      for (const route of routes) {
        const options = { mergeParams: true, ...route.matching };
        const inner = framework.Router(options);
        const handlers: RequestHandler[] = [
          (req, res, next) => (route.isAllowed(seen(req)) ? next() : void res.status(403).end('refused')),
          ...(route.isBodyTaken ? [raw()] : []),
          idempotent(samekey, { ...route.options, scope: (req) => route.scope(seen(req)) as string[] }),
          raw(),
          handlerOf(route),
        ];
        const mount = route.mount === '' ? '/' : route.mount;
        if (route.method === 'USE') {
          app.use(mount, ...handlers.slice(0, -1));
          inner.all(route.pattern, handlerOf(route));
        } else inner[METHODS[route.method]](route.pattern, ...handlers);
        const router = (route.within ?? []).reduceRight((within, path) => {
          const outer = framework.Router(options);
          outer.use(path, within);
          return outer;
        }, inner);
        if (route.mounted === 'function') app.use(mount, (req, res, next) => router(req, res, next));
        else if (route.mounted === 'app') app.use(mount, framework().use(router));
        else if (mount === '/' && route.within === undefined && route.method === 'POST')
          app.post(route.pattern, ...handlers);
        else app.use(mount, router);
      }
      app.use(onError);
      return listen(app);
    },
    protect: (samekey, options) => idempotent(samekey, options as never),
  };
}
