/** Requests and answers of `@hono/node-server`, read below their objects: handlers and records see no difference. */

import { getRequestListener } from '@hono/node-server';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { type AddressInfo, connect } from 'node:net';
import { type Context, Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { attemptOf, idempotent } from '../../src/adapters/hono/index.ts';
import { belowOf } from '../../src/adapters/hono/node-server.ts';
import { createSamekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

type Handler = (c: Context) => Response | Promise<Response>;

describe('Hono on @hono/node-server', () => {
  it('the installed version is recognised: else every request pays for streams that nobody reads', async () => {
    const seen: boolean[] = [];
    await using t = await serve(
      (c) => c.text('done'),
      (c) => void seen.push(belowOf(c) !== undefined),
    );
    expect((await t.post('key-seen', 'body')).status).toBe(200);
    expect(seen).toEqual([true]);
  });

  // Found by the fuzz (seeds 9, 10 and 197 of hono): the server gives a type to a body that has none, and to no other.
  it.each<[string, Handler]>([
    ['no body', (c) => c.body(null, 202, { 'X-One': '1' })],
    ['a redirect', (c) => c.redirect('/things/1', 303)],
    ['a text whose type nobody named', () => new Response('x'.repeat(2_000_000))],
  ])('%s leaves with the type that it has without Samekey', async (_what, handler) => {
    await using t = await serve(handler);
    const init = { method: 'POST', body: 'x', redirect: 'manual' } as const;
    const keyed = { ...init, headers: { 'Idempotency-Key': 'key-1' } };
    const typed = async (given: RequestInit): Promise<string | null> =>
      (await fetch(t.url, given)).headers.get('content-type');
    const bare = await typed(init);
    expect(await typed(keyed)).toBe(bare);
    if (bare === null) expect(await typed(keyed)).toBe(null);
  });

  it.each<[string, (request: Request) => Promise<unknown>, unknown]>([
    ['text', (request) => request.text(), '{"a":1}'],
    ['json', (request) => request.json(), { a: 1 }],
    ['arrayBuffer', async (request) => Buffer.from(await request.arrayBuffer()).toString(), '{"a":1}'],
    ['bytes', async (request) => Buffer.from(await bytesOf(request)).toString(), '{"a":1}'],
    ['blob', async (request) => (await request.blob()).text(), '{"a":1}'],
    [
      'clone',
      async (request) => [await request.clone().text(), await request.text()],
      ['{"a":1}', '{"a":1}'],
    ],
    ['body', async (request) => new Response(request.body).text(), '{"a":1}'],
    ['a request of it', async (request) => new Request(request).text(), '{"a":1}'],
    [
      'a request of it, after it was cloned',
      async (request) => {
        const copy = request.clone();
        return [await new Request(request.url, request).text(), await copy.text()];
      },
      ['{"a":1}', '{"a":1}'],
    ],
  ])('a handler reads its body by %s', async (_name, read, expected) => {
    await using t = await serve(async (c) => {
      expect(c.req.raw).toBeInstanceOf(Request);
      expect(inspect(c.req.raw)).toContain('POST');
      expect(c.req.raw.bodyUsed).toBe(false);
      return c.json(await read(c.req.raw));
    });
    const answer = await t.post('key-read', '{"a":1}');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual(expected);
  });

  it('a body is read once: it is used up afterwards, for the request itself and for what is made of it', async () => {
    await using t = await serve(async (c) => {
      const { raw } = c.req;
      expect(await raw.text()).toBe('once');
      expect(raw.bodyUsed).toBe(true);
      await expect(raw.text()).rejects.toThrow(TypeError);
      expect(() => raw.clone()).toThrow(TypeError);
      expect(() => new Request(raw)).toThrow(TypeError);
      expect(await new Request(raw, { method: 'POST', body: 'another' }).text()).toBe('another');
      return c.text('done');
    });
    expect(await (await t.post('key-once', 'once')).text()).toBe('done');
  });

  it('a form is read as a form', async () => {
    await using t = await serve(async (c) =>
      c.json(Object.fromEntries((await c.req.raw.formData()) as never)),
    );
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await (await t.post('key-form', 'a=1&b=2', headers)).json()).toEqual({ a: '1', b: '2' });
  });

  it('the request ends with the attempt, not with its client', async () => {
    const told = new EventEmitter();
    await using t = await serve(async (c) => {
      expect(c.req.raw.signal).toBe(attemptOf(c)?.signal);
      told.emit('begun');
      await once(c.env.outgoing, 'close');
      told.emit('left', c.req.raw.signal.aborted, new Request(c.req.raw).signal.aborted);
      return c.text('done');
    });
    const [begun, aborted] = [once(told, 'begun'), once(told, 'left')];
    const client = connect(t.port, '127.0.0.1');
    client.write(
      'POST / HTTP/1.1\r\nHost: t\r\nIdempotency-Key: "key-left"\r\nContent-Type: text/plain;charset=UTF-8\r\nContent-Length: 2\r\n\r\nhi',
    );
    await begun;
    client.destroy();
    expect(await aborted).toEqual([false, false]);
    await expect.poll(async () => (await t.post('key-left', 'hi')).status).toBe(200);
  });

  it.each([
    ['bytes', new TextEncoder().encode('first')],
    // Its own slice is a view.
    ['a Buffer', Buffer.from('first')],
  ])('%s that the handler writes on into after its answer are not in the record', async (_what, bytes) => {
    await using t = await serve((c) => {
      setImmediate(() => bytes.fill(0x21));
      return c.body(bytes);
    });
    await (await t.post('key-bytes', 'x')).text();
    expect(await (await t.post('key-bytes', 'x')).text()).toBe('first');
  });

  it.each<[string, Handler, string]>([
    ['text', (c) => c.text('täxt'), 'täxt'],
    ['JSON', (c) => c.json({ a: 1 }, 201), '{"a":1}'],
    ['nothing', (c) => c.body(null, 204), ''],
    ['a Response of its own', () => new Response('own', { headers: { 'x-own': '1' } }), 'own'],
    ['a stream', () => new Response(new Blob(['str', 'eam']).stream()), 'stream'],
    ['a blob', () => new Response(new Blob(['blob'], { type: 'text/x-blob' })), 'blob'],
  ])('%s is answered and replayed as without Samekey', async (_name, handler, body) => {
    await using t = await serve(handler);
    const bare = await t.post('', 'x');
    const first = await t.post('key-answer', 'x');
    const again = await t.post('key-answer', 'x');
    for (const answer of [first, again]) {
      expect(answer.status).toBe(bare.status);
      expect(await answer.text()).toBe(body);
      // Where none is set, the server itself adds one to some and not to others.
      expect(typeOf(answer)).toBe(typeOf(bare) ?? typeOf(first));
    }
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('an answer that has no body has none in the record either, and no other status than HTTP has is taken', async () => {
    let status = 204;
    await using t = await serve(() => new Response('null', { status }));
    expect((await t.post('key-empty', 'x')).status).toBe(204);
    expect((await t.post('key-empty', 'x')).status).toBe(204);
    status = 600;
    expect((await t.post('key-600', 'x')).status).toBe(500);
  });

  it('a body of no declared length, and one that is declared too large, are met before the handler runs', async () => {
    let runs = 0;
    await using t = await serve(async (c) => {
      runs += 1;
      return c.text(await c.req.text());
    });
    const stream = new Blob(['chunked']).stream();
    const init = {
      method: 'POST',
      body: stream,
      duplex: 'half',
      headers: { 'Idempotency-Key': '"key-chunked"' },
    };
    expect(await (await fetch(t.url, init as RequestInit)).text()).toBe('chunked');
    expect((await t.post('key-large', 'x'.repeat(20_000))).status).toBe(413);
    expect(runs).toBe(1);
  });
});

/** White space and letter case are no difference. */
function typeOf(answer: Response): string | undefined {
  return answer.headers.get('content-type')?.replaceAll(' ', '').toLowerCase();
}

async function bytesOf(request: Request): Promise<Uint8Array> {
  return (request as Request & { bytes(): Promise<Uint8Array> }).bytes();
}

/** Without a key the route is not protected: the same answer without us. */
async function serve(handler: Handler, before?: (c: Context) => void) {
  const samekey = createSamekey({ store: memoryStore() });
  const app = new Hono();
  app.post(
    '/',
    async (c, next) => {
      before?.(c);
      await next();
    },
    idempotent(samekey, {
      policy: 'payments',
      operation: 'things',
      scope: () => 'acme',
      required: false,
      requestSizeMaxBytes: 10_000,
    }),
    handler,
  );
  const server = createServer((req, res) => void getRequestListener(app.fetch)(req, res)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  return {
    port,
    url,
    post: (key: string, body: string, headers: Record<string, string> = {}) =>
      fetch(url, {
        method: 'POST',
        body,
        headers: { ...headers, ...(key !== '' && { 'Idempotency-Key': `"${key}"` }) },
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await samekey.close();
    },
  };
}
