/**
 * The answer contract of served operations, over real sockets and with Node's own strict parser: what is never stored never reaches a
 * second caller, framing is ours, what cannot be stored is told as such, and bodies that are too much get a 4xx.
 */

import { createServer, type IncomingMessage, request as ask, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request as ExpressRequest } from 'express';
import { Hono } from 'hono';
import { afterEach, describe, expect, it } from 'vitest';
import { idempotent, serve as serveExpress } from '../../src/adapters/express/index.ts';
import { serve as serveFetch } from '../../src/adapters/fetch/index.ts';
import { serve as serveHono } from '../../src/adapters/hono/index.ts';
import { serve as serveNode } from '../../src/adapters/node/index.ts';
import { createSamekey, type Operation, reply, type Samekey } from '../../src/index.ts';
import { createOperator } from '../../src/operator/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { HEADERS_NEVER_STORED, HEADERS_STORED, UNSTORABLE } from '../../../testing/src/hostile-values.ts';
import { pushDue } from '../../src/ways/completer.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly trailers: IncomingMessage['trailers'];
}

/** One kept-alive connection, and a parser that refuses what is not HTTP. */
function client(port: number) {
  return (key: string, body = '{}'): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { 'Idempotency-Key': `"${key}"`, 'Content-Type': 'application/json' };
      const sent = ask({ port, host: '127.0.0.1', path: '/pay', method: 'POST', headers }, (res) => {
        const parts: Buffer[] = [];
        res.on('data', (part: Buffer) => parts.push(part));
        res.on('error', reject);
        res.on('end', () =>
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            trailers: res.trailers,
            body: Buffer.concat(parts).toString(),
          }),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
}

type Options = { readonly storeSetCookie?: boolean };
const OPEN: Server[] = [];
afterEach(() => {
  for (const server of OPEN.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listening(server: Server): Promise<number> {
  OPEN.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A server of Node in front of a function of requests, as adapters for Node are. */
function nodeServer(handler: (request: Request) => Response | Promise<Response>): Server {
  return createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      const body = Buffer.concat(parts);
      const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      void (async () => {
        const answer = await handler(new Request('http://x/pay', { method: 'POST', headers, body }));
        res.writeHead(answer.status, [...answer.headers].flat());
        res.end(Buffer.from(await answer.arrayBuffer()));
      })();
    });
  });
}

const scope = (): string[] => ['t'];
const DOORS: Readonly<Record<string, (operation: Operation<unknown, unknown>, options: Options) => Server>> =
  {
    Express: (operation, options) => {
      const app = express();
      app.post('/pay', serveExpress(operation, { ...options, scope: (_req: ExpressRequest) => scope() }));
      return createServer(app);
    },
    'node:http': (operation, options) => {
      const pay = serveNode(operation, { ...options, scope });
      return createServer((req, res) => void pay(req, res));
    },
    Hono: (operation, options) => {
      const app = new Hono();
      app.post('/pay', serveHono(operation, { ...options, scope }));
      return nodeServer((request) => app.fetch(request));
    },
    Fetch: (operation, options) => nodeServer(serveFetch(operation, { ...options, scope })),
  };

type Define = (samekey: Samekey, run: () => unknown) => Operation<unknown, unknown>;
const WAYS: Readonly<Record<string, Define>> = {
  plain: (samekey, run) => samekey.plain({ name: 'pay', policy: 'standard', run }),
  phased: (samekey, run) => samekey.phased({ name: 'pay', run }),
  deferred: (samekey, run) => samekey.deferred(samekey.plain({ name: 'pay', policy: 'standard', run })),
};

const CASES = Object.keys(DOORS).flatMap((door) => Object.keys(WAYS).map((way) => ({ door, way })));

describe.each(CASES)('$way served on $door', ({ door, way }) => {
  let runs = 0;
  async function open(run: () => unknown, options: Options = {}) {
    runs = 0;
    const samekey = createSamekey({ store: memoryStore() });
    const operation = WAYS[way]?.(samekey, () => {
      runs += 1;
      return run();
    });
    if (operation === undefined) throw new Error('no such way');
    const post = client(await listening(DOORS[door]?.(operation, options) as Server));
    /** Deferred ones are noted first, and pushed on by a worker. */
    const first: typeof post = async (key, body) => {
      const answer = await post(key, body);
      if (answer.status !== 202) return answer;
      await pushDue(internalsOf(samekey), 10);
      return post(key, body);
    };
    return { samekey, first, again: post };
  }

  // F79
  it('an upstream’s framing is not ours, and a first session’s cookie never reaches a second one', async () => {
    const { first, again } = await open(() =>
      reply(201, { id: 1 }, [...HEADERS_NEVER_STORED, ...HEADERS_STORED]),
    );
    const one = await first('k');
    expect(one).toMatchObject({ status: 201, body: '{"id":1}' });
    for (let i = 0; i < 2; i++) {
      const retry = await again('k');
      expect(retry).toMatchObject({ status: 201, body: '{"id":1}' });
      expect(retry.headers).toMatchObject({
        'content-type': 'application/vnd.pay+json',
        'x-kept': '1',
        'idempotency-replayed': 'true',
      });
      expect(Object.keys(retry.headers)).not.toEqual(
        expect.arrayContaining([
          expect.stringMatching(
            /^(set-cookie|access-control|proxy-|x-hop|x-request-id|upgrade|te|trailer|content-encoding)/,
          ),
        ]),
      );
      expect(new Date(retry.headers.date ?? '').getFullYear()).not.toBe(1970);
    }
    expect(runs).toBe(1);
  });

  it('cookies are stored if the route asks for it, and only where a route answers', async () => {
    const { first, again } = await open(() => reply(201, 1, [['Set-Cookie', 'a=1']]), {
      storeSetCookie: true,
    });
    await first('k');
    // A worker has no session.
    expect((await again('k')).headers['set-cookie']).toEqual(way === 'deferred' ? undefined : ['a=1']);
  });

  // F66, F78
  it('an answer that cannot be stored is 410 for everybody, and its work is not done twice', async () => {
    let value: unknown;
    const { first, again } = await open(() => reply(201, value, [['Location', '/payments/1']]));
    for (const [n, { title, make }] of UNSTORABLE.entries()) {
      value = make();
      const told = [await first(`k-${n}`), await again(`k-${n}`)];
      for (const { status, body, headers } of told) {
        expect({ title, status, body: JSON.parse(body) as unknown }).toMatchObject({
          status: 410,
          body: { code: 'response-not-stored', originalStatus: 201 },
        });
        expect(headers['idempotency-replayed']).toBeUndefined();
      }
    }
    expect(runs).toBe(UNSTORABLE.length);
  });

  // F90
  it.each([5_000, 100_000])('JSON nested %d deep is answered and never a 500', async (levels) => {
    const { again } = await open(() => 'done');
    const { status } = await again('deep', '['.repeat(levels) + ']'.repeat(levels));
    // Whose input is kept nowhere may be as deep as its handler likes.
    expect(status).toBe(way === 'plain' ? 200 : 400);
    expect(runs).toBe(way === 'plain' ? 1 : 0);
  });
});

// F79
describe('trailers of a handler behind the middleware', () => {
  it('pass the same gate as its headers', async () => {
    const samekey = createSamekey({ store: memoryStore(), policy: 'standard' });
    const app = express();
    app.post('/pay', idempotent(samekey, { scope }), (_req, res) => {
      res.setHeader('Trailer', 'X-Checksum, Set-Cookie');
      res.write('{"id":1}');
      res.addTrailers({
        'X-Checksum': 'abc',
        'Set-Cookie': 'session=first',
        Date: 'Thu, 01 Jan 1970 00:00:00 GMT',
      });
      res.end();
    });
    const post = client(await listening(createServer(app)));
    expect((await post('k')).trailers).toMatchObject({
      'x-checksum': 'abc',
      'set-cookie': ['session=first'],
    });
    const retry = await post('k');
    expect(retry).toMatchObject({ body: '{"id":1}', headers: { 'idempotency-replayed': 'true' } });
    expect(retry.trailers).toEqual({ 'x-checksum': 'abc' });
    expect(retry.headers['set-cookie']).toBeUndefined();
  });
});

async function unknownOutcome() {
  const samekey = createSamekey({ store: memoryStore(), policy: 'payments' });
  const pay = samekey.plain({ name: 'pay', run: () => Promise.reject(new Error('reset')) });
  await pay.run({ scope: ['t'], key: 'k', input: null }).catch(() => undefined);
  const [record] = await samekey.store.list({});
  if (record === undefined) throw new Error('there must be a record');
  const settle = (response: unknown) =>
    createOperator({ store: samekey.store, actor: 'anna' }).settle(record, {
      to: 'completed',
      response: response as never,
      reason: 'seen in the ledger',
    });
  return { samekey, settle };
}

// F79: by hand, too
describe('an answer that an operator gives', () => {
  const body = new TextEncoder().encode('{}');

  it('passes the same gate as any other', async () => {
    const { samekey, settle } = await unknownOutcome();
    await settle({ status: 201, headers: [...HEADERS_NEVER_STORED, ...HEADERS_STORED], body });
    const [record] = await samekey.store.list({});
    expect(record?.response?.headers.filter(([name]) => name !== 'Content-Encoding')).toEqual(HEADERS_STORED);
  });

  it.each([
    ['a status that is none', { status: 700, headers: [], body }],
    ['a line that no server sends', { status: 200, headers: [['X-Note', 'a\r\nSet-Cookie: b']], body }],
    ['a name that is none', { status: 200, headers: [['X Note', 'a']], body }],
    ['headers as an object', { status: 200, headers: { a: 'b' }, body }],
    ['trailers that are none', { status: 200, headers: [], body, trailers: [['a\n', 'b']] }],
    ['a body that is a text', { status: 200, headers: [], body: '{}' }],
  ])('is refused if it has %s', async (_what, response) => {
    const { samekey, settle } = await unknownOutcome();
    await expect(settle(response)).rejects.toMatchObject({ code: 'ERR_SAMEKEY_OPTIONS' });
    expect(await samekey.store.list({})).toMatchObject([{ state: 'unknown' }]);
  });
});
