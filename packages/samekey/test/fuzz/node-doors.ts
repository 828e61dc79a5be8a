/** Doors whose handlers answer on Node's `ServerResponse`, as the fuzz drives them: `node:http`, Express. */

import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import express, { type ErrorRequestHandler, type RequestHandler, type Response } from 'express';
import { idempotent as protectExpress } from '../../src/adapters/express/index.ts';
import { idempotent as protectNode, noteDeclared } from '../../src/adapters/node/index.ts';
import type { Served } from '../../../testing/src/adapter-contract.ts';
import type { Answers, FuzzDoor, FuzzRoute, Speech, ValuePlan } from '../../../testing/src/fuzz-contract.ts';

export const METHODS = ['POST', 'PATCH', 'PUT', 'DELETE'] as const;

/** All callers are one. */
export const scope = (): string[] => ['acme'];

/** What can be said to frameworks that stand on Node. */
export const NODE_SPEECH: Speech = {
  kinds: ['calls', 'calls', 'calls', 'value'],
  bodies: ['none', 'bytes', 'text', 'stream'],
  isFetch: false,
};

export async function listen(listener: RequestListener): Promise<Served> {
  const server = createServer(listener);
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

/** Answers an error: what has begun cannot be answered any more. */
export function answerFault(res: ServerResponse): void {
  if (res.headersSent) return void res.destroy();
  // What the framework has set by itself stays.
  for (const name of res.getHeaderNames()) if (name !== 'x-powered-by') res.removeHeader(name);
  res.statusMessage = '';
  res.writeHead(500, { 'Content-Length': 5 }).end('error');
}

export function planIdOf(req: IncomingMessage): string | undefined {
  const id = req.headers['x-plan'];
  return typeof id === 'string' ? id : undefined;
}

/** The pieces of a stream, which breaks off at its end if the plan says so. */
export async function* streamOf({ pieces, isSlow, fault }: ValuePlan): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (isSlow) await new Promise((resolve) => void setImmediate(resolve));
    yield piece;
  }
  if (fault === 'breaks') throw new Error('the source broke');
}

async function valueOnNode(res: ServerResponse, plan: ValuePlan): Promise<void> {
  res.statusCode = plan.status;
  for (const [name, value] of plan.lines) res.appendHeader(name, value);
  const body = Buffer.concat(plan.pieces);
  if (plan.body === 'none') res.end();
  else if (plan.body === 'text') res.end(body.toString());
  else if (plan.body === 'bytes') res.end(body);
  // A source that breaks destroys its answer.
  else await pipeline(Readable.from(streamOf(plan), { objectMode: false }), res).catch(() => res.destroy());
}

async function answerOnNode(answers: Answers, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await buffer(req);
  const answer = answers.begin(planIdOf(req), body);
  if (typeof answer === 'function') await answer(res);
  else await valueOnNode(res, answer);
}

function isAsked(req: IncomingMessage, path: string): boolean {
  const target = (req.url ?? '').replace(/^[a-z]+:\/\/[^/?]*/i, '');
  return target.split('?')[0] === path && (METHODS as readonly string[]).includes(req.method ?? '');
}

type Listener = (req: IncomingMessage, res: ServerResponse) => unknown;

function nodeDoor(
  name: string,
  protect: (samekey: Parameters<typeof protectNode>[0], route: FuzzRoute, answers: Answers) => Listener,
): FuzzDoor {
  return {
    name,
    speech: NODE_SPEECH,
    isByteTrue: true,
    hearsThrows: false,
    serve(samekey, routes, answers) {
      const listeners = routes.map((route) => ({
        route,
        listener:
          samekey === null
            ? (req: IncomingMessage, res: ServerResponse) => answerOnNode(answers, req, res)
            : protect(samekey, route, answers),
      }));
      return listen((req, res) => {
        const found = listeners.find(({ route }) => isAsked(req, route.path));
        if (req.method === 'GET' && req.url === '/probe') res.end('probe');
        else if (found === undefined) res.writeHead(404).end('not found');
        else (async () => found.listener(req, res))().catch(() => answerFault(res));
      });
    },
  };
}

/** The listener of `node:http`. */
export const nodeFuzz: FuzzDoor = nodeDoor('node', (samekey, { options }, answers) =>
  protectNode(samekey, { ...options, scope }, (req, res) => answerOnNode(answers, req, res)),
);

/** Middleware, as connect calls it. */
export const nodeMiddlewareFuzz: FuzzDoor = nodeDoor('node-middleware', (samekey, { options }, answers) => {
  const protect = protectNode(samekey, { ...options, scope });
  return (req, res) =>
    protect(req, res, (fault) => {
      if (fault !== undefined) return answerFault(res);
      answerOnNode(answers, req, res).catch((thrown: unknown) =>
        noteDeclared(thrown, req, res, () => answerFault(res)),
      );
    });
});

async function valueOnExpress(res: Response, plan: ValuePlan): Promise<void> {
  res.status(plan.status);
  for (const [name, value] of plan.lines) (res as ServerResponse).appendHeader(name, value);
  const body = Buffer.concat(plan.pieces);
  if (plan.body === 'none') res.end();
  else if (plan.body === 'text') res.send(body.toString());
  else if (plan.body === 'bytes') res.send(body);
  else await pipeline(Readable.from(streamOf(plan), { objectMode: false }), res).catch(() => res.destroy());
}

const onError: ErrorRequestHandler = (_error, _req, res, _next) => answerFault(res);

function expressHandler(answers: Answers): RequestHandler {
  return (req, res, next) => {
    const body = Buffer.isBuffer(req.body) ? req.body : new Uint8Array(0);
    // Express 4 does not look at promises.
    void (async () => {
      try {
        const answer = answers.begin(planIdOf(req), body);
        if (typeof answer === 'function') await answer(res);
        else await valueOnExpress(res, answer);
      } catch (error) {
        next(error);
      }
    })();
  };
}

function expressDoor(name: string, framework: typeof express): FuzzDoor {
  return {
    name,
    speech: NODE_SPEECH,
    isByteTrue: true,
    hearsThrows: false,
    serve(samekey, routes, answers) {
      const app = framework();
      app.get('/probe', (_req, res) => void res.end('probe'));
      for (const { path, options } of routes) {
        const protect = samekey === null ? [] : [protectExpress(samekey, { ...options, scope })];
        const handlers = [...protect, framework.raw({ type: () => true }), expressHandler(answers)];
        for (const method of ['post', 'patch', 'put', 'delete'] as const) app[method](path, ...handlers);
      }
      app.use(((_req, res) => void res.status(404).end('not found')) as RequestHandler);
      app.use(onError);
      return listen(app);
    },
  };
}

// An alias without types of its own; what is used is the same in both versions.
const express4 = createRequire(import.meta.url)('express4') as typeof express;

export const expressFuzz: FuzzDoor = expressDoor('express', express);
export const express4Fuzz: FuzzDoor = expressDoor('express4', express4);
