/** Answers that are thrown away, and what then becomes of the handler. */
import type { Server, ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type Capture, type CaptureEnd, captureResponse, noteThrown } from '../../src/http-node/capture.ts';
import { sendAnswer } from '../../src/http-node/send-held.ts';
import type { StoredResponse } from '../../src/core/response.ts';
import { ask, listen, options, parse, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

const CONFLICT: StoredResponse = {
  status: 409,
  headers: [['Content-Type', 'application/problem+json']],
  body: Buffer.from('{"code":"outcome-unknown"}'),
};

async function answered(
  handler: (res: ServerResponse) => unknown,
  decide: (capture: Capture) => unknown,
  outer: (res: ServerResponse) => unknown = () => {},
) {
  const server = await listen((_req, res) => {
    outer(res);
    const capture = captureResponse(res, options());
    handler(res);
    void decide(capture);
  });
  servers.push(server);
  return parse(await ask(server));
}

const replaceEnded = async (capture: Capture): Promise<void> => {
  await capture.ended;
  capture.replace(CONFLICT);
};

test('A replaced answer leaves nothing of the handler, and everything of outer middleware', async () => {
  const answer = await answered(
    (res) => {
      res.setHeader('Vary', 'Accept');
      res.appendHeader('X-List', 'handler');
      res.removeHeader('X-Removed');
      res.setHeader('Content-Length', 3);
      res.setHeader('Trailer', 'X-T');
      res.removeHeader('Trailer');
      res.writeHead(201, 'Mine', { Location: '/x', 'Set-Cookie': 'secret=1' });
      res.end('abc');
    },
    replaceEnded,
    (res) => {
      res.setHeader('X-Request-Id', 'r1');
      res.setHeader('Vary', 'Origin');
      res.setHeader('X-List', ['outer']);
      res.setHeader('X-Removed', 'back');
    },
  );
  expect(answer.statusLine).toBe('HTTP/1.1 409 Conflict');
  expect(answer.headers).toEqual([
    ['X-Request-Id', 'r1'],
    ['Vary', 'Origin'],
    ['X-List', 'outer'],
    ['X-Removed', 'back'],
    ['Content-Type', 'application/problem+json'],
    ['Content-Length', '26'],
    ['Connection', 'close'],
  ]);
  expect(answer.body.toString()).toBe('{"code":"outcome-unknown"}');
});

test.each([
  ['a 204', (res: ServerResponse) => res.writeHead(204).end()],
  ['explicit chunks', (res: ServerResponse) => res.setHeader('Transfer-Encoding', 'chunked').end('x')],
  [
    'trailers',
    (res: ServerResponse) => {
      res.writeHead(200, ['Trailer', 'X-T']);
      res.addTrailers({ 'X-T': '1' });
      res.end('x');
    },
  ],
  [
    'Connection and Date of its own',
    (res: ServerResponse) => {
      res.setHeader('Connection', 'close');
      res.setHeader('Date', 'never');
      res.end('x');
    },
  ],
  [
    'a Date taken away',
    (res: ServerResponse) => {
      res.removeHeader('Date');
      res.end('x');
    },
  ],
])('An answer with %s can be replaced by one without', async (_name, handler) => {
  const answer = await answered(handler, replaceEnded);
  expect(answer).toMatchObject({ statusLine: 'HTTP/1.1 409 Conflict', dated: true, trailers: [] });
  expect(answer.headers).toEqual([
    ['Content-Type', 'application/problem+json'],
    ['Content-Length', '26'],
    ['Connection', 'close'],
  ]);
  expect(answer.body.toString()).toBe('{"code":"outcome-unknown"}');
});

test('Cookies of outer middleware stay beside those of a replay, none twice', async () => {
  const server = await listen((_req, res) => {
    res.setHeader('Set-Cookie', ['session=new', 'same=1']);
    sendAnswer(res, {
      status: 200,
      headers: [
        ['Set-Cookie', 'same=1'],
        ['Set-Cookie', 'cart=2'],
      ],
      body: null,
    });
  });
  servers.push(server);
  const cookies = parse(await ask(server))
    .headers.filter(([name]) => name === 'Set-Cookie')
    .map(([, value]) => value);
  expect(cookies).toEqual(['session=new', 'same=1', 'cart=2']);
});

test('Trailers are replayed in chunks', async () => {
  const server = await listen((_req, res) =>
    sendAnswer(res, {
      status: 200,
      headers: [['Trailer', 'X-T']],
      body: Buffer.from('b'),
      trailers: [
        ['X-T', '1'],
        ['X-T', '2'],
      ],
    }),
  );
  servers.push(server);
  expect(parse(await ask(server))).toMatchObject({
    trailers: [
      ['X-T', '1'],
      ['X-T', '2'],
    ],
    body: Buffer.from('b'),
  });
});

test('A handler that answers after its answer was replaced neither throws nor reaches the client', async () => {
  const late: Promise<unknown>[] = [];
  const own = new Set<unknown>();
  const server = await listen((_req, res) => {
    for (const key of Reflect.ownKeys(res)) own.add(key);
    const capture = captureResponse(res, options());
    capture.replace(CONFLICT);
    late.push(
      (async () => {
        expect([res.headersSent, res.statusCode]).toEqual([false, 409]);
        res.setHeader('X-Late', '1').appendHeader('X-Late', '2');
        res.removeHeader('X-Late');
        res.writeHead(200, { 'X-Late': '3' });
        expect(res.headersSent).toBe(true);
        await new Promise<void>((resolve) => void res.write('late', () => resolve()));
        res.addTrailers({ 'X-T': '1' });
        res.flushHeaders();
        await new Promise<void>((resolve) => void res.end('end', resolve));
        expect(await capture.ended).toMatchObject({
          kind: 'answer',
          status: 200,
          headers: [['X-Late', '3']],
          body: new Uint8Array(Buffer.from('lateend')),
        });
        const left = Reflect.ownKeys(res).filter((key) => !own.has(key));
        expect(left.filter((key) => key !== 'statusCode' && key !== 'statusMessage')).toEqual([]);
      })(),
    );
  });
  servers.push(server);
  const answer = parse(await ask(server));
  expect(answer.statusLine).toBe('HTTP/1.1 409 Conflict');
  expect(answer.body.toString()).toBe('{"code":"outcome-unknown"}');
  await Promise.all(late);
});

test('What a handler had begun to answer before it was replaced is part of its late answer', async () => {
  const late: Promise<unknown>[] = [];
  const server = await listen((_req, res) => {
    res.setHeader('X-Outer', 'o');
    const capture = captureResponse(res, options());
    res.setHeader('X-Early', '1');
    res.statusCode = 201;
    res.write('early ');
    capture.replace(CONFLICT);
    late.push(
      (async () => {
        expect(res.getHeader('X-Early')).toBe('1');
        res.end('late');
        expect(await capture.ended).toMatchObject({
          status: 201,
          headers: [
            ['X-Outer', 'o'],
            ['X-Early', '1'],
          ],
          body: Buffer.from('early late'),
        });
      })(),
    );
  });
  servers.push(server);
  const answer = parse(await ask(server));
  expect(answer.statusLine).toBe('HTTP/1.1 409 Conflict');
  expect(answer.headers.some(([name]) => name === 'X-Early')).toBe(false);
  await Promise.all(late);
});

test('A late answer that is too large to keep is swallowed, not gathered', async () => {
  const late: Promise<unknown>[] = [];
  const server = await listen((_req, res) => {
    const capture = captureResponse(res, options({ responseSizeMaxBytes: 10 }));
    capture.replace(CONFLICT);
    late.push(
      (async () => {
        for (let i = 0; i < 100; i += 1) expect(res.write('0123456789')).toBe(true);
        res.end();
        expect(await capture.ended).toMatchObject({ kind: 'answer', status: 200, body: null });
      })(),
    );
  });
  servers.push(server);
  expect(parse(await ask(server)).statusLine).toBe('HTTP/1.1 409 Conflict');
  await Promise.all(late);
});

test('A handler that threw after its head ends with its connection, and its half answer can be replaced (F104)', async () => {
  const error = new Error('after the head');
  const ends: CaptureEnd[] = [];
  const server = await listen((req, res) => {
    const capture = captureResponse(res, options());
    res.writeHead(201, { 'X-Given': 'yes' });
    res.write('half');
    noteThrown(res, error);
    req.socket.destroy();
    void capture.ended.then((end) => {
      ends.push(end);
      capture.replace(CONFLICT);
    });
  });
  servers.push(server);
  expect((await ask(server)).length).toBe(0);
  expect(ends).toMatchObject([
    { kind: 'failed', error, answer: { status: 201, headers: [['X-Given', 'yes']], body: null } },
  ]);
});

test('A handler that threw after its head, and whose answer is ended all the same, has answered', async () => {
  const answer = await answered(
    (res) => {
      res.write('half');
      noteThrown(res, new Error('late'));
      res.end(' and half');
    },
    async (capture) => {
      expect(await capture.ended).toMatchObject({ kind: 'answer', body: Buffer.from('half and half') });
      capture.release();
    },
  );
  expect(answer.statusLine).toBe('HTTP/1.1 200 OK');
});
