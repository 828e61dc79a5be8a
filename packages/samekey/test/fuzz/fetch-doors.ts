/** Doors whose handlers give a `Response`, as the fuzz drives them: Fetch, Hono on Node and on a Fetch bridge. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { idempotent as protectFetch } from '../../src/adapters/fetch/index.ts';
import { idempotent as protectHono } from '../../src/adapters/hono/index.ts';
import type { Samekey } from '../../src/samekey.ts';
import type { Served } from '../../../testing/src/adapter-contract.ts';
import type { Answers, FuzzDoor, FuzzRoute, Speech, ValuePlan } from '../../../testing/src/fuzz-contract.ts';
import { listen as listenFetch } from '../adapters/fetch-harness.ts';
import { METHODS, scope, streamOf } from './node-doors.ts';

/** What can be said by a `Response`. */
export const FETCH_SPEECH: Speech = {
  kinds: ['value'],
  bodies: ['none', 'bytes', 'text', 'blob', 'stream'],
  isFetch: true,
};

// Node 20 has it, the DOM's types do not.
const { from } = ReadableStream as unknown as {
  readonly from: (chunks: AsyncIterable<Uint8Array>) => ReadableStream<Uint8Array<ArrayBuffer>>;
};

/** The body of a plan as a `Response` takes it. */
export function bodyInit(plan: ValuePlan): BodyInit | null {
  const bytes = new Uint8Array(Buffer.concat(plan.pieces));
  switch (plan.body) {
    case 'none':
      return null;
    case 'bytes':
      return bytes;
    case 'text':
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    case 'blob':
      return new Blob([bytes]);
    default:
      return from(streamOf(plan));
  }
}

export function responseOf(plan: ValuePlan): Response {
  const headers = new Headers();
  for (const [name, value] of plan.lines) headers.append(name, value);
  return new Response(bodyInit(plan), { status: plan.status, headers });
}

/** What the handler of a Fetch door answers; such doors are asked for values alone. */
export async function fetched(answers: Answers, request: Request): Promise<Response> {
  const body = new Uint8Array(await request.arrayBuffer());
  const plan = answers.begin(request.headers.get('x-plan') ?? undefined, body);
  if (typeof plan === 'function') throw new TypeError('No calls can be made on a Response.');
  return responseOf(plan);
}

export const fetchFuzz: FuzzDoor = {
  name: 'fetch',
  speech: FETCH_SPEECH,
  unsaidStatus: null,
  isByteTrue: false,
  hearsThrows: true,
  serve(samekey, routes, answers) {
    const apps = routes.map(({ path, options }) => ({
      path,
      app:
        samekey === null
          ? (request: Request) => fetched(answers, request)
          : protectFetch(samekey, { ...options, scope }, (request) => fetched(answers, request)),
    }));
    return listenFetch((request) => {
      const { pathname } = new URL(request.url);
      if (request.method === 'GET' && pathname === '/probe') return new Response('probe');
      const isKnown = (METHODS as readonly string[]).includes(request.method);
      const found = isKnown ? apps.find(({ path }) => path === pathname) : undefined;
      return found?.app(request) ?? new Response('not found', { status: 404 });
    });
  },
};

const HONO_WAYS: Readonly<Record<ValuePlan['body'], (c: Context, plan: ValuePlan) => Response>> = {
  none: (c) => c.body(null),
  bytes: (c, plan) => c.body(bodyInit(plan) as Uint8Array<ArrayBuffer>),
  text: (c, plan) => c.body(bodyInit(plan) as string),
  blob: (c, plan) => c.newResponse(bodyInit(plan) as never),
  stream: (c, plan) => c.body(bodyInit(plan) as ReadableStream),
};

function honoApp(samekey: Samekey | null, routes: readonly FuzzRoute[], answers: Answers): Hono {
  const app = new Hono();
  app.get('/probe', (c) => c.text('probe'));
  for (const { path, options } of routes) {
    const handler: MiddlewareHandler = async (c) => {
      const body = new Uint8Array(await c.req.arrayBuffer());
      const plan = answers.begin(c.req.header('x-plan'), body);
      if (typeof plan === 'function') throw new TypeError('No calls can be made on a Response.');
      // Half of them by Hono's own means.
      if (plan.pieces.length % 2 === 0) return responseOf(plan);
      c.status(plan.status as 200);
      for (const [name, value] of plan.lines) c.header(name, value, { append: true });
      return HONO_WAYS[plan.body](c, plan);
    };
    const protect = samekey === null ? [] : [protectHono(samekey, { ...options, scope })];
    app.on([...METHODS], [path], ...protect, handler);
  }
  app.notFound((c) => c.text('not found', 404));
  app.onError((_error, c) => c.text('error', 500));
  return app;
}

async function listenHono(app: Hono): Promise<Served> {
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

/** On its Node server. */
export const honoFuzz: FuzzDoor = {
  name: 'hono',
  speech: FETCH_SPEECH,
  unsaidStatus: null,
  isByteTrue: false,
  hearsThrows: false,
  typesEmptyBodies: 'text/plain; charset=UTF-8',
  serve: (samekey, routes, answers) => listenHono(honoApp(samekey, routes, answers)),
};

/** On a bridge that knows nothing of Node, as on workers. */
export const honoFetchFuzz: FuzzDoor = {
  name: 'hono-fetch',
  speech: FETCH_SPEECH,
  unsaidStatus: null,
  isByteTrue: false,
  hearsThrows: false,
  serve: (samekey, routes, answers) => {
    const app = honoApp(samekey, routes, answers);
    return listenFetch((request) => app.fetch(request));
  },
};
