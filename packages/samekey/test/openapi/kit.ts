/** A door that is provoked, and validators of what was documented of it. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { faultyStore } from '@samekey/testing';
import { expect } from 'vitest';
import { idempotent, type NodeListener, type RouteOptions } from '../../src/adapters/node/index.ts';
import { NotExecutedError } from '../../src/core/errors.ts';
import { operationOf, type OperationPart } from '../../src/openapi/index.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

/** Fails with what a validator of OpenAPI 3.1 finds wrong with a document. */
export async function expectOpenApi(document: object): Promise<void> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
  expect(errors ?? valid).toBe(true);
}

/** A document with one operation. */
export function documentOf(operation: object, components: object = {}): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Payments', version: '1' },
    paths: { '/payments': { post: operation } },
    components,
  };
}

/** An answer as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Fails unless an answer is what the operation's part says of its status. */
export function expectDocumented(part: OperationPart, { status, headers, text: body }: Answer): void {
  const told = `${status} ${body}`;
  const response = part.responses[String(status)];
  expect(response, told).toBeDefined();
  const type = String(headers['content-type']).split(';')[0] ?? '';
  const media = response?.content?.[type];
  expect(media, `${told} as ${type}`).toBeDefined();
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(media?.schema ?? false);
  validate(JSON.parse(body));
  expect(validate.errors ?? [], told).toEqual([]);
  const known = new Set(Object.keys(response?.headers ?? {}).map((name) => name.toLowerCase()));
  for (const name of Object.keys(headers).filter((each) => !OF_HTTP.has(each)))
    expect(known, `${told}: ${name}`).toContain(name);
}

/** Headers that every answer of HTTP may have. */
export const OF_HTTP: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'cache-control',
  'date',
  'connection',
  'keep-alive',
]);

/** A request. */
export interface Sent {
  readonly key?: string;
  readonly account?: string;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A door that listens. */
export interface Provoked {
  readonly listener: NodeListener;
  readonly part: OperationPart;
  readonly send: (sent: Sent) => Promise<Answer>;
  /** Sends a request whose handler is at work while the other one is sent; gives the answer of that. */
  meanwhile(first: Sent, second: Sent): Promise<Answer>;
  readonly later: (ms: number) => void;
  /** The next question to the store is refused. */
  breakStore(): void;
  close(): void;
}

/** Opens a door. The handler answers as `x-then` says: a status, `huge`, or `undone`. */
export async function provoked(options: Omit<RouteOptions<IncomingMessage>, 'scope'>): Promise<Provoked> {
  let now = Date.UTC(2030, 0);
  const store = faultyStore(memoryStore({ now: () => now }));
  let begun: (() => void) | null = null;
  let over: Promise<void> | null = null;
  const open = (): NodeListener =>
    idempotent(
      createSamekey({ store }),
      { ...options, scope: (req) => String(req.headers['x-account'] ?? '') },
      async (req, res) => {
        begun?.();
        await over;
        const then = String(req.headers['x-then'] ?? '201');
        if (then === 'undone') throw new NotExecutedError('Nothing happened.');
        const status = then === 'huge' ? 201 : Number(then);
        const body = JSON.stringify({ paid: true, more: then === 'huge' ? 'x'.repeat(2_000_000) : '' });
        res.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
      },
    );
  let listener = open();
  const part = operationOf(listener);
  const server = createServer((req, res) => {
    listener(req, res).catch(() => res.writeHead(599).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const send = (sent: Sent): Promise<Answer> => ask(port, part, sent);
  return {
    listener,
    part,
    send,
    async meanwhile(first, second) {
      const [ending, running] = [withResolver(), withResolver()];
      over = ending.given;
      begun = running.give;
      const answered = send(first);
      await running.given;
      begun = null;
      const answer = await send(second);
      ending.give();
      await answered;
      over = null;
      return answer;
    },
    later(ms) {
      now += ms;
      // What a process remembers goes by its own clock, which has not moved.
      listener = open();
    },
    breakStore: () => store.inject('refuse', { times: 100 }),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function withResolver(): { readonly given: Promise<void>; readonly give: () => void } {
  const made: { give?: () => void } = {};
  const given = new Promise<void>((resolve) => {
    made.give = resolve;
  });
  return { given, give: () => made.give?.() };
}

/** Sends a request with its key where the part says that it comes. */
async function ask(port: number, part: OperationPart, sent: Sent): Promise<Answer> {
  const { key, account = 'acme', body = { amount: 10 } } = sent;
  const at = part['x-idempotency'].key;
  let path = '/payments';
  let given: unknown = body;
  const headers: Record<string, string> = {
    'x-account': account,
    'content-type': 'application/json',
    ...sent.headers,
  };
  if (key !== undefined) {
    if (at.in === 'query') path += `?${at.name}=${encodeURIComponent(key)}`;
    else if (at.in === 'body') given = withMember(at.member, key, body);
    else if (at.in === 'header' && 'member' in at)
      headers[at.name] = Buffer.from(JSON.stringify(withMember(at.member, key, {}))).toString('base64');
    else if (at.in === 'header') headers[at.name] = formOf(part, key);
  }
  const req = request({ port, method: 'POST', path, host: '127.0.0.1', headers });
  req.end(typeof given === 'string' ? given : JSON.stringify(given));
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  return { status: res.statusCode ?? 0, headers: res.headers, text: await text(res) };
}

/** As the document says that the header is written. */
function formOf({ parameters }: OperationPart, key: string): string {
  return new RegExp(parameters[0]?.schema.pattern ?? '').test(`"${key}"`) ? `"${key}"` : key;
}

function withMember(pointer: string, value: string, body: object | string): object | string {
  if (typeof body === 'string') return body;
  const names = pointer.slice(1).split('/');
  const nested = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return { ...body, ...(nested as object) };
}
