/** A body is read before the claim and given back; whoever reads next finds it whole (F31, F39). */
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { Writable } from 'node:stream';
import express from 'express';
import { afterEach, describe, expect, test } from 'vitest';
import { bodyLost, type BodyRead, readBody, rememberRawBody } from '../../src/http-node/body.ts';
import { ask, listen, open, parse, read, stop, untyped } from './wire.ts';

const { default: express4 } = (await untyped('express4')) as { default: typeof express };
const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

const LIMIT = { requestSizeMax: 1_048_576 };
const head = (...lines: string[]): string =>
  ['POST / HTTP/1.1', 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n');
const sized = (body: string | Uint8Array, ...lines: string[]): Buffer =>
  Buffer.concat([
    Buffer.from(head(`Content-Length: ${Buffer.byteLength(body)}`, ...lines)),
    Buffer.from(body),
  ]);
const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const JSON_TYPE = 'Content-Type: application/json';

/** What later readers of a request may do, each returning the text it saw. */
const READERS: Record<string, (req: IncomingMessage) => Promise<string>> = {
  'a data listener': (req) =>
    new Promise((resolve) => {
      let text = '';
      req.on('data', (chunk) => (text += chunk));
      req.on('end', () => resolve(text));
    }),
  'for await': async (req) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    return text;
  },
  pipeline: async (req) => {
    let text = '';
    await pipeline(
      req,
      new Writable({
        write(chunk, _encoding, done) {
          text += chunk;
          done();
        },
      }),
    );
    return text;
  },
  'read in small pieces': async (req) => {
    let text = '';
    req.on('readable', () => {
      for (let chunk = req.read(3) ?? req.read(); chunk !== null; chunk = req.read(3) ?? req.read())
        text += chunk;
    });
    await once(req, 'end');
    return text;
  },
};

/** Answers with what the body read as, and what the reader saw afterwards. */
async function service(reader: (req: IncomingMessage) => Promise<string>, limit = LIMIT): Promise<Server> {
  const server = await listen((req, res) => {
    void (async () => {
      const first = await readBody(req, limit);
      const seen = first.kind === 'body' ? await reader(req) : '';
      res.end(JSON.stringify({ ...shownRead(first), seen }));
    })();
  });
  servers.push(server);
  return server;
}

function shownRead(result: BodyRead): object {
  if (result.kind !== 'body') return result;
  return {
    kind: 'body',
    raw: Buffer.from(result.raw).toString('latin1'),
    decoded: Buffer.from(result.decoded).toString('latin1'),
  };
}

const answerOf = (bytes: Buffer): Record<string, unknown> => JSON.parse(parse(bytes).body.toString());

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
    const server = await service(READERS[reader]!);
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
    const server = await service(READERS[reader]!);
    expect(answerOf(await ask(server, head(field) + rest))).toMatchObject({ raw: '', seen: '' });
  });

  test('when it is larger than any buffer of the stream', async () => {
    const text = 'x'.repeat(900_000);
    const server = await service(READERS[reader]!);
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
      expect(result).toEqual({ kind: 'body', raw: new Uint8Array(0), decoded: new Uint8Array(0) });
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
  const server = await service(READERS['a data listener']!);
  const request = sized('hello').toString().replace('Connection: close\r\n', '') + sized('world').toString();
  const text = (await ask(server, request)).toString();
  expect(text).toContain('"seen":"hello"');
  expect(text).toContain('"seen":"world"');
});

describe('A content coding is undone for the fingerprint only', () => {
  const codings: [string, Uint8Array][] = [
    ['gzip', gzipSync('plain')],
    ['x-gzip', gzipSync('plain')],
    ['GZIP', gzipSync('plain')],
    ['deflate', deflateSync('plain')],
    ['deflate', deflateRawSync('plain')],
    ['br', brotliCompressSync('plain')],
    ['identity', Buffer.from('plain')],
    ['gzip, br', brotliCompressSync(gzipSync('plain'))],
  ];
  test.each(codings)('%s', async (coding, body) => {
    const server = await service(READERS['for await']!);
    const { raw, decoded } = answerOf(await ask(server, sized(body, `Content-Encoding: ${coding}`)));
    expect(decoded).toBe('plain');
    expect(Buffer.from(raw as string, 'latin1')).toEqual(Buffer.from(body));
  });

  test('zstd, where Node has it, else as bytes', async () => {
    const zlib = (await import('node:zlib')) as { zstdCompressSync?: (text: string) => Uint8Array };
    const body = zlib.zstdCompressSync?.('plain') ?? Buffer.from('plain');
    const server = await service(READERS['for await']!);
    expect(answerOf(await ask(server, sized(body, 'Content-Encoding: zstd')))['decoded']).toBe('plain');
  });

  test('one nobody knows is compared as bytes', async () => {
    const server = await service(READERS['for await']!);
    expect(answerOf(await ask(server, sized('x', 'Content-Encoding: rot13')))).toMatchObject({
      raw: 'x',
      decoded: 'x',
    });
  });

  test('a body that is not what it says is unreadable', async () => {
    const server = await service(READERS['for await']!);
    for (const body of ['no gzip', gzipSync('plain').subarray(0, 15)]) {
      expect(answerOf(await ask(server, sized(body, 'Content-Encoding: gzip')))).toMatchObject({
        kind: 'unreadable',
      });
    }
  });

  test('a body that grows past the limit is too large', async () => {
    const server = await service(READERS['for await']!);
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    expect(answerOf(await ask(server, sized(bomb, 'Content-Encoding: gzip')))).toMatchObject({
      kind: 'too-large',
    });
  });
});

describe('A body over the limit', () => {
  test('is refused by its Content-Length without being read', async () => {
    const server = await service(READERS['for await']!, { requestSizeMax: 5 });
    expect(answerOf(await ask(server, head('Content-Length: 6')))).toMatchObject({ kind: 'too-large' });
  });
  test('is refused when its chunks pass it, and the answer still arrives', async () => {
    const server = await service(READERS['for await']!, { requestSizeMax: 5 });
    const request = head('Transfer-Encoding: chunked') + chunkOf('1234567');
    expect(answerOf(await ask(server, request))).toMatchObject({ kind: 'too-large' });
  });
  test('of exactly the limit is taken', async () => {
    const server = await service(READERS['for await']!, { requestSizeMax: 5 });
    expect(answerOf(await ask(server, sized('12345')))).toMatchObject({ seen: '12345' });
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

test('A body put back is lost when the client hangs up before the next reader, and that can be asked', async () => {
  const lost: Promise<boolean[]>[] = [];
  const server = await listen((req) => {
    lost.push(
      (async () => {
        await readBody(req, LIMIT);
        const before = bodyLost(req);
        await new Promise((resolve) => void req.on('close', resolve));
        return [before, bodyLost(req)];
      })(),
    );
    req.socket.destroy();
  });
  servers.push(server);
  await ask(server, sized('x'));
  expect(await lost[0]).toEqual([false, true]);
});

const pass: express.RequestHandler = (_req, _res, next) => next();
const keep = (req: IncomingMessage, _res: unknown, bytes: Buffer): void =>
  void Object.assign(req, { rawBody: bytes });
const reader: express.RequestHandler = (req, res, next) => {
  void (async () => {
    res.locals['read'] = await readBody(req, LIMIT);
    next();
  })();
};

describe.each([
  ['Express 5', express],
  ['Express 4', express4],
])('Parsers of %s', (_name, framework) => {
  async function app(before: express.RequestHandler[], after: express.RequestHandler[]): Promise<Server> {
    const one = framework();
    one.use(...before, reader);
    for (const parser of after) one.use(parser);
    one.post(
      '/',
      (req, res) => void res.json({ ...shownRead(res.locals['read'] as BodyRead), body: req.body }),
    );
    const server = await listen(one);
    servers.push(server);
    return server;
  }

  test('parse JSON after readBody', async () => {
    const server = await app([pass], [framework.json()]);
    expect(answerOf(await ask(server, sized('{"a":1}', JSON_TYPE)))).toMatchObject({
      raw: '{"a":1}',
      body: { a: 1 },
    });
  });
  test('parse gzip-encoded JSON after readBody', async () => {
    const server = await app([pass], [framework.json()]);
    const request = sized(gzipSync('{"a":1}'), JSON_TYPE, 'Content-Encoding: gzip');
    expect(answerOf(await ask(server, request))).toMatchObject({ decoded: '{"a":1}', body: { a: 1 } });
  });
  test('parse forms after readBody', async () => {
    const server = await app([pass], [framework.urlencoded({ extended: false })]);
    const request = sized('a=1&b=2', 'Content-Type: application/x-www-form-urlencoded');
    expect(answerOf(await ask(server, request))).toMatchObject({ body: { a: '1', b: '2' } });
  });
  test('may run before, when they remember the bytes', async () => {
    const server = await app([framework.json({ verify: rememberRawBody })], []);
    expect(answerOf(await ask(server, sized('{"a": 1}', JSON_TYPE)))).toMatchObject({
      decoded: '{"a": 1}',
      body: { a: 1 },
    });
  });
  test('may run before, when they keep rawBody', async () => {
    const server = await app([framework.json({ verify: keep })], []);
    expect(answerOf(await ask(server, sized('{"a": 1}', JSON_TYPE)))).toMatchObject({ decoded: '{"a": 1}' });
  });
  test('that ran before and kept nothing are told apart from an empty body (F31)', async () => {
    const server = await app([framework.json()], []);
    expect(answerOf(await ask(server, sized('{"a":1}', JSON_TYPE)))).toMatchObject({ kind: 'consumed' });
    expect(answerOf(await ask(server, sized('', JSON_TYPE)))).toMatchObject({ kind: 'body', raw: '' });
  });
});

test.each([
  ['is being read', (req: IncomingMessage) => void req.on('data', () => {})],
  ['has an encoding set', (req: IncomingMessage) => void req.setEncoding('utf8')],
  ['was resumed', (req: IncomingMessage) => void req.resume()],
])('A stream that %s by somebody else is consumed (F31)', async (_name, disturb) => {
  const server = await listen((req, res) => {
    disturb(req);
    void readBody(req, LIMIT).then((result) => res.end(result.kind));
  });
  servers.push(server);
  expect(parse(await ask(server, sized('x'))).body.toString()).toBe('consumed');
});

test('A rawBody that is text is taken as UTF-8, and the limit holds for kept bytes too', async () => {
  const server = await listen((req, res) => {
    Object.assign(req, { rawBody: req.url === '/big' ? 'x'.repeat(11) : 'z\u00fc' });
    void readBody(req, { requestSizeMax: 10 }).then((result) => res.end(JSON.stringify(shownRead(result))));
  });
  servers.push(server);
  expect(answerOf(await ask(server, head()))).toMatchObject({ raw: 'z\u00c3\u00bc' });
  expect(answerOf(await ask(server, head().replace(' / ', ' /big ')))).toEqual({ kind: 'too-large' });
});
