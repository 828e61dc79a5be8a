/** A schema of GraphQL on listening servers, and documents as clients send them. */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type GraphQLSchema } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';
import { createSchema, createYoga } from 'graphql-yoga';
import { linesOf } from '../../src/http-call/request-lines.ts';
import { createSamekey } from '../../src/index.ts';
import type { Samekey, SamekeyOptions } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

export interface Context {
  readonly account: string | undefined;
  readonly request: IncomingMessage;
  readonly res: ServerResponse;
}

const contextOf = (request: IncomingMessage, res: ServerResponse): Context => ({
  account: (linesOf(request, 'x-account')[0] ?? 'acme') || undefined,
  request,
  res,
});

/** What options of these tests have in common. */
export const ON_HTTP = {
  scope: ({ context }: { readonly context: Context }) => context.account,
  request: ({ context }: { readonly context: Context }) => context.request,
  setHeader: ({ context }: { readonly context: Context }, name: string, value: string) =>
    void context.res.setHeader(name, value),
} as const;

/** The reference server, and one with an executor of its own that hides errors which are not for clients. */
export const SERVERS: Readonly<Record<'graphql-http' | 'yoga', (schema: GraphQLSchema) => RequestListener>> =
  {
    'graphql-http': (schema) => {
      const contexts = new WeakMap<IncomingMessage, Context>();
      const handler = createHandler({ schema, context: ({ raw }) => contexts.get(raw) as never });
      return (request, res) => {
        contexts.set(request, contextOf(request, res));
        void handler(request, res);
      };
    },
    yoga: (schema) => {
      const yoga = createYoga<{ req: IncomingMessage; res: ServerResponse }>({
        schema,
        batching: true,
        logging: false,
        graphqlEndpoint: '/',
        context: ({ req, res }) => contextOf(req, res),
      });
      return (request, res) => void yoga(request, res);
    },
  };

/** What a client is answered. */
export interface Answer {
  readonly headers: Headers;
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors: readonly {
    readonly message: string;
    readonly path: readonly string[];
    readonly extensions: {
      readonly code?: string;
      readonly details?: unknown;
      readonly idempotency?: { readonly code: string };
    };
  }[];
}

export interface Client {
  readonly url: string;
  readonly samekey: Samekey;
  readonly schema: GraphQLSchema;
  readonly send: (
    query: string,
    headers?: Readonly<Record<string, string>>,
    variables?: object,
  ) => Promise<Answer>;
}

/** Runs a body with clients of a schema on a real server. */
export async function onGraphql(
  typeDefs: string,
  make: (samekey: Samekey) => object,
  body: (client: Client) => Promise<void>,
  {
    server = 'graphql-http',
    instance = {},
  }: { readonly server?: keyof typeof SERVERS; readonly instance?: Partial<SamekeyOptions> } = {},
): Promise<void> {
  const samekey = createSamekey({ store: memoryStore(), ...instance });
  const schema = createSchema({
    typeDefs: `type Query { up: Boolean }\n${typeDefs}`,
    resolvers: make(samekey) as never,
  });
  const listening = createServer(SERVERS[server](schema));
  await new Promise<void>((resolve) => void listening.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/`;
  try {
    await body({
      url,
      samekey,
      schema,
      async send(query, headers = {}, variables = {}) {
        const answer = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
          body: JSON.stringify({ query, variables }),
        });
        const { data, errors = [] } = (await answer.json()) as Partial<Answer>;
        return { headers: answer.headers, ...(data !== undefined && { data }), errors };
      },
    });
  } finally {
    listening.closeAllConnections();
    await new Promise((resolve) => void listening.close(resolve));
    await samekey.close({ drainMs: 0 });
  }
}

export const keyed = (key: string): Readonly<Record<string, string>> => ({ 'idempotency-key': key });

/** What of an answer tells of its first error. */
export const told = ({ errors }: Answer): readonly unknown[] => [
  errors[0]?.extensions.code,
  errors[0]?.extensions.idempotency?.code,
];
