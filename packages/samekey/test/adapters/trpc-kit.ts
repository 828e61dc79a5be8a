/** A router of tRPC on listening servers, and requests as its clients send them. */

import type { AddressInfo } from 'node:net';
import { serve as listen } from '@hono/node-server';
import { initTRPC } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import superjson from 'superjson';
import { idempotencyData, type TrpcHttp } from '../../src/adapters/trpc/index.ts';
import { linesOf } from '../../src/http-call/request-lines.ts';
import { createSamekey } from '../../src/index.ts';
import type { Samekey, SamekeyOptions } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

export interface Context {
  readonly http: TrpcHttp;
  readonly account: string | undefined;
}

const accountOf = ({ req }: TrpcHttp): string | undefined => linesOf(req, 'x-account')[0] ?? 'acme';

const createContext = (http: TrpcHttp): Context => ({ http, account: accountOf(http) || undefined });

const formatter = ({ shape, error }: { shape: { data: object }; error: object }) =>
  ({ ...shape, data: { ...shape.data, ...idempotencyData(error) } }) as never;
export const t = initTRPC.context<Context>().create({ errorFormatter: formatter });
export const s = initTRPC.context<Context>().create({ errorFormatter: formatter, transformer: superjson });

export type Router = ReturnType<typeof t.router>;

export interface Served {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** Node's own adapter, and that of Fetch on a server. */
export const SERVERS: Readonly<Record<'standalone' | 'fetch', (router: Router) => Promise<Served>>> = {
  async standalone(router) {
    const server = createHTTPServer({ router, createContext } as never);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return servedAt(server as never);
  },
  async fetch(router) {
    const answer = (req: Request): Promise<Response> =>
      fetchRequestHandler({ endpoint: '/', req, router, createContext } as never);
    const server = listen({ fetch: answer, port: 0, hostname: '127.0.0.1' });
    await new Promise<void>((resolve) => void server.once('listening', resolve));
    return servedAt(server as never);
  },
};

function servedAt(server: {
  address(): AddressInfo;
  close(done: () => void): void;
  closeAllConnections(): void;
}): Served {
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

/** What a client is answered for one call. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: unknown;
  /** The data of an error, with its message. */
  readonly error?: {
    readonly message: string;
    readonly code: string;
    readonly idempotency?: {
      readonly code: string;
      readonly retryable: boolean;
      readonly retryAfter?: number;
    };
    readonly details?: unknown;
  };
}

export interface Client {
  readonly url: string;
  readonly samekey: Samekey;
  /** Sends one mutation. */
  readonly mutate: (
    path: string,
    input: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
  /** Sends several in one request. */
  readonly batch: (
    calls: Readonly<Record<string, unknown>>[],
    headers?: object,
  ) => Promise<readonly Answer[]>;
}

interface Envelope {
  readonly result?: { readonly data?: unknown };
  readonly error?: { readonly message: string; readonly data: object; readonly json?: Envelope['error'] };
}

function answerOf({ status, headers }: Response, { result, error }: Envelope): Answer {
  if (error === undefined) return { status, headers, data: result?.data };
  const { message, data } = error.json ?? error;
  return { status, headers, error: { message, ...(data as { readonly code: string }) } };
}

/** Runs a body with clients of a router on a real server. */
export async function onTrpc(
  make: (samekey: Samekey) => object,
  body: (client: Client) => Promise<void>,
  {
    server = 'standalone',
    instance = {},
    builder = t,
  }: {
    readonly server?: keyof typeof SERVERS;
    readonly instance?: Partial<SamekeyOptions>;
    readonly builder?: unknown;
  } = {},
): Promise<void> {
  const samekey = createSamekey({ store: memoryStore(), ...instance });
  const router = (builder as typeof t).router(make(samekey) as never) as unknown as Router;
  const { url, close } = await SERVERS[server](router);
  const post = (path: string, input: unknown, headers: object): Promise<Response> =>
    fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      ...(input !== undefined && { body: JSON.stringify(input) }),
    });
  try {
    await body({
      url,
      samekey,
      async mutate(path, input, headers = {}) {
        const answer = await post(path, input, headers);
        return answerOf(answer, (await answer.json()) as Envelope);
      },
      async batch(calls, headers = {}) {
        const paths = calls.flatMap((call) => Object.keys(call)).join(',');
        const inputs = Object.fromEntries(calls.map((call, at) => [at, Object.values(call)[0]]));
        const answer = await post(`${paths}?batch=1`, inputs, headers);
        return ((await answer.json()) as Envelope[]).map((each) => answerOf(answer, each));
      },
    });
  } finally {
    await close();
    await samekey.close({ drainMs: 0 });
  }
}

export const keyed = (key: string): Readonly<Record<string, string>> => ({ 'idempotency-key': key });
