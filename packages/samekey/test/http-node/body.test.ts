/** A body is read before the claim and given back; whoever reads next finds it whole. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, test } from 'vitest';
import { type BodyRead, readBody } from '../../src/http-node/body.ts';
import { answerOf, chunkOf, head, LIMIT, READERS, service, sized } from './bodies.ts';
import { ask, listen, open, parse, read, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

async function serving(...options: Parameters<typeof service>): Promise<Server> {
  const server = await service(...options);
  servers.push(server);
  return server;
}

/** Requests as they come over the wire, in parts; each part is sent once the server has seen the one before. */
const ARRIVALS: Record<string, (send: (part: string | Uint8Array) => Promise<void>) => Promise<void>> = {
  'with its head': (send) => send(sized('hello body')),
  'after its head': async (send) => {
    await send(head('Content-Length: 10'));
    await send('hello body');
  },
  'in several parts': async (send) => {
    await send(head('Content-Length: 10'));
    for (const part of ['hel', 'lo ', 'body']) await send(part);
  },
  'in chunks with its head': (send) =>
    send(head('Transfer-Encoding: chunked') + chunkOf('hello ') + chunkOf('body') + chunkOf('')),
  'in chunks, the last one late': async (send) => {
    await send(head('Transfer-Encoding: chunked'));
    await send(chunkOf('hello body'));
    await send(chunkOf(''));
  },
};

describe.each(Object.keys(READERS))('What %s finds after readBody is the whole body', (reader) => {
  test.each(Object.keys(ARRIVALS))('when it came %s', async (arrival) => {
    const server = await serving(READERS[reader]);
    const socket = open(server);
    const answer = read(socket);
    await ARRIVALS[arrival]!((part) => seenBy(server, socket, part));
    expect(answerOf(await answer)).toEqual({
      kind: 'body',
      raw: 'hello body',
      decoded: 'hello body',
      seen: 'hello body',
    });
  });

  test.each([
    ['Content-Length: 0', ''],
    ['Transfer-Encoding: chunked', '0\r\n\r\n'],
  ])('when it is empty, by %s', async (field, rest) => {
    const server = await serving(READERS[reader]);
    expect(answerOf(await ask(server, head(field) + rest))).toMatchObject({ raw: '', seen: '' });
  });

  test('when it is larger than any buffer of the stream', async () => {
    const text = 'x'.repeat(900_000);
    const server = await serving(READERS[reader]);
    expect(answerOf(await ask(server, sized(text)))['seen']).toBe(text);
  });
});

/** Sends a part and waits until the server's side of the connection has read it. */
async function seenBy(server: Server, socket: Socket, part: string | Uint8Array): Promise<void> {
  socket.write(part);
  sentBytes.set(socket, (sentBytes.get(socket) ?? 0) + Buffer.byteLength(part));
  for (;;) {
    const peers = connections.get(server) ?? [];
    if (peers.some((peer) => peer.bytesRead >= (sentBytes.get(socket) ?? 0))) return;
    if (!connections.has(server)) {
      connections.set(server, []);
      server.on('connection', (peer: Socket) => connections.get(server)?.push(peer));
    }
    await new Promise((resolve) => void setImmediate(resolve));
  }
}
const sentBytes = new WeakMap<Socket, number>();
const connections = new WeakMap<Server, Socket[]>();

test('A request without a body is not touched', async () => {
  const server = await listen((req, res) => {
    void readBody(req, LIMIT).then((result) => {
      expect(result).toEqual({
        kind: 'body',
        raw: new Uint8Array(0),
        decoded: new Uint8Array(0),
        kept: null,
      });
      expect([req.readableDidRead, req.readableFlowing]).toEqual([false, null]);
      res.end('ok');
    });
  });
  servers.push(server);
  expect(parse(await ask(server, head())).body.toString()).toBe('ok');
});

test('A second reader of the same request gets the same result', async () => {
  const server = await listen((req, res) => {
    void Promise.all([readBody(req, LIMIT), readBody(req, LIMIT)]).then(([a, b]) => res.end(String(a === b)));
  });
  servers.push(server);
  expect(parse(await ask(server, sized('x'))).body.toString()).toBe('true');
});

test('After the answer the connection serves the next request', async () => {
  const server = await serving(READERS['a data listener']);
  const request = sized('hello').toString().replace('Connection: close\r\n', '') + sized('world').toString();
  const text = (await ask(server, request)).toString();
  expect(text).toContain('"seen":"hello"');
  expect(text).toContain('"seen":"world"');
});

describe('A body over the limit', () => {
  test('is refused by its Content-Length without being read', async () => {
    const server = await serving(undefined, { requestSizeMaxBytes: 5 });
    expect(answerOf(await ask(server, head('Content-Length: 6')))).toMatchObject({ kind: 'too-large' });
  });
  test('is refused when its chunks pass it, and the answer still arrives', async () => {
    const server = await serving(undefined, { requestSizeMaxBytes: 5 });
    const request = head('Transfer-Encoding: chunked') + chunkOf('1234567');
    expect(answerOf(await ask(server, request))).toMatchObject({ kind: 'too-large' });
  });
  test('of exactly the limit is taken', async () => {
    const server = await serving(undefined, { requestSizeMaxBytes: 5 });
    expect(answerOf(await ask(server, sized('12345')))).toMatchObject({ seen: '12345' });
  });

  const chunked = head('Transfer-Encoding: chunked');
  test.each([
    ['in one chunk with its head', [chunked + chunkOf('12345') + chunkOf('')]],
    ['in one chunk, the end of which is late', [chunked + chunkOf('12345'), chunkOf('')]],
    ['byte by byte', [chunked, ...'12345'.split('').map(chunkOf), chunkOf('')]],
  ])('is told from one of exactly the limit, which may come %s', async (_how, parts) => {
    const server = await serving(undefined, { requestSizeMaxBytes: 5 });
    const socket = open(server);
    const answer = read(socket);
    for (const part of parts) await seenBy(server, socket, part);
    expect(answerOf(await answer)).toMatchObject({ kind: 'body', seen: '12345' });
  });

  test('is refused also when all of it is here before anybody asks', async () => {
    for (const [body, kind] of [
      ['12345', 'body'],
      ['123456', 'too-large'],
    ] as const) {
      const server = await listen((req, res) => {
        void (async () => {
          while (!req.complete) await new Promise((resolve) => void setImmediate(resolve));
          res.end(JSON.stringify({ kind: (await readBody(req, { requestSizeMaxBytes: 5 })).kind }));
        })();
      });
      servers.push(server);
      expect(answerOf(await ask(server, chunked + chunkOf(body) + chunkOf('')))).toEqual({ kind });
    }
  });
});

test.each([
  ['Content-Length', `${head('Content-Length: 10')}half`],
  ['chunks', head('Transfer-Encoding: chunked') + chunkOf('half')],
  ['nothing yet', head('Content-Length: 10')],
])('A body that ends early (%s) is unreadable', async (_name, request) => {
  const results: Promise<BodyRead>[] = [];
  const arrived: (() => void)[] = [];
  const waiting = new Promise<void>((resolve) => arrived.push(resolve));
  const server = await listen((req) => {
    results.push(readBody(req, LIMIT));
    arrived[0]?.();
  });
  servers.push(server);
  const socket = open(server);
  socket.write(request);
  await waiting;
  socket.end();
  expect(await results[0]).toMatchObject({ kind: 'unreadable' });
});

// F17
test('A body put back is read by the next reader although the client has hung up', async () => {
  const texts: Promise<string>[] = [];
  const server = await listen((req) => {
    texts.push(
      (async () => {
        const gone = new Promise((resolve) => void req.socket.once('close', resolve));
        const result = await readBody(req, LIMIT);
        req.socket.destroy();
        await gone;
        if (result.kind === 'body') result.kept?.lend();
        const chunks: Buffer[] = [];
        for await (const chunk of req) chunks.push(chunk as Buffer);
        return Buffer.concat(chunks).toString();
      })(),
    );
  });
  servers.push(server);
  await ask(server, sized('x'));
  expect(await texts[0]).toBe('x');
});

// F17: authentication or a look-up between Samekey and the parser.
test('express.json() finds the body although the client hung up before it ran', async () => {
  const seen: Promise<unknown>[] = [];
  const server = await listen((req, res) => {
    seen.push(
      (async () => {
        const gone = new Promise((resolve) => void req.socket.once('close', resolve));
        const result = await readBody(req, LIMIT);
        req.socket.destroy();
        await gone;
        if (result.kind === 'body') result.kept?.lend();
        return new Promise((resolve, reject) => {
          express.json()(req, res, (error?: unknown) => {
            if (error === undefined) resolve((req as express.Request).body);
            else reject(error);
          });
        });
      })(),
    );
  });
  servers.push(server);
  const body = '{"a":1}';
  await ask(server, head(`Content-Type: application/json\r\nContent-Length: ${body.length}`) + body);
  expect(await seen[0]).toEqual({ a: 1 });
});

test('A body that nobody is to read leaves nothing on its request, which ends with its connection', async () => {
  for (const hangsUp of [false, true]) {
    const seen: Promise<unknown>[] = [];
    const server = await listen((req, res) => {
      seen.push(
        (async () => {
          const before = Object.getOwnPropertyNames(req);
          const gone = new Promise((resolve) => void req.socket.once('close', resolve));
          const result = await readBody(req, LIMIT);
          if (hangsUp) {
            req.socket.destroy();
            await gone;
          }
          if (result.kind === 'body') result.kept?.drop();
          res.end();
          return [
            Object.getOwnPropertyNames(req).filter((name) => !before.includes(name)),
            'get' in (Object.getOwnPropertyDescriptor(req, 'socket') ?? {}),
            req.destroyed,
          ];
        })(),
      );
    });
    servers.push(server);
    await ask(server, sized('x'));
    expect(await seen[0]).toEqual([[], false, hangsUp]);
  }
});
