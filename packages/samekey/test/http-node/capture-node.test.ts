/** While an answer is held, the application sees Node as it always is. */
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { ask, captured, held, parse, requestBytes, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

const code = (run: () => unknown): unknown => {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};

test('Before the head there is nothing sent and nothing ended', () =>
  held((res) => {
    expect([res.headersSent, res.writableEnded]).toEqual([false, false]);
  }));

test('Once the head is fixed headersSent is true and headers can no longer be changed', () =>
  held((res) => {
    res.setHeader('X-A', '1');
    res.write('x');
    expect(res.headersSent).toBe(true);
    expect(res.getHeader('x-a')).toBe('1');
    expect(code(() => res.setHeader('X-A', '2'))).toBe('ERR_HTTP_HEADERS_SENT');
    expect(code(() => res.appendHeader('X-A', '2'))).toBe('ERR_HTTP_HEADERS_SENT');
    expect(code(() => res.removeHeader('X-A'))).toBe('ERR_HTTP_HEADERS_SENT');
    expect(code(() => res.writeHead(200))).toBe('ERR_HTTP_HEADERS_SENT');
  }));

test('After end the answer is ended, and statusCode and statusMessage are what went into the head', () =>
  held((res) => {
    res.statusCode = 404;
    res.end('x');
    expect([res.headersSent, res.writableEnded, res.statusMessage]).toEqual([true, true, 'Not Found']);
    res.statusCode = 500;
  }).then((bytes) => expect(parse(bytes).statusLine).toBe('HTTP/1.1 404 Not Found')));

test('A write after end is refused as Node refuses it, and the answer is unharmed', async () => {
  const bytes = await held(async (res) => {
    res.end('x');
    const failed = once(res, 'error');
    const refused = new Promise((resolve) => void res.write('more', resolve));
    expect(((await refused) as { code: string }).code).toBe('ERR_STREAM_WRITE_AFTER_END');
    expect(((await failed) as { code: string }[])[0]!.code).toBe('ERR_STREAM_WRITE_AFTER_END');
  });
  expect(parse(bytes).body.toString()).toBe('x');
});

test('A second end is harmless', async () => {
  const bytes = await held((res) => res.end('x').end());
  expect(parse(bytes).body.toString()).toBe('x');
});

test('write returns true while held, and calls back', () =>
  held(async (res) => {
    await new Promise<void>((resolve) => {
      expect(res.write('x', () => resolve())).toBe(true);
    });
    await new Promise<void>((resolve) => void res.write('eA==', 'base64', () => resolve()));
  }));

test('The memory of a written chunk may be used again after its callback', async () => {
  const bytes = await held(async (res) => {
    const chunk = Buffer.from('first');
    await new Promise<void>((resolve) => void res.write(chunk, () => resolve()));
    chunk.fill(0);
    res.end();
  });
  expect(parse(bytes).body.toString()).toBe('first');
});

test('Every form of end calls back when the answer has been let go', async () => {
  for (const end of [
    (res: ServerResponse, done: () => void) => res.end(done),
    (res: ServerResponse, done: () => void) => res.end('x', done),
    (res: ServerResponse, done: () => void) => res.end('eA==', 'base64', done),
  ]) {
    let called = 0;
    await held((res) => void end(res, () => called++));
    expect(called).toBe(1);
  }
});

test('finish and close come once each, after the release', async () => {
  const seen: string[] = [];
  await held((res) => {
    for (const event of ['finish', 'close']) res.on(event, () => seen.push(event));
    res.end('x');
    expect(seen).toEqual([]);
  });
  expect(seen).toEqual(['finish', 'close']);
});

describe('What Node refuses is refused with its code, and the handler may try again', () => {
  const refused: Record<string, [string, (res: ServerResponse) => unknown]> = {
    'a bad status': ['ERR_HTTP_INVALID_STATUS_CODE', (res) => res.writeHead(9)],
    'a bad header value': ['ERR_INVALID_CHAR', (res) => res.writeHead(200, { 'X-A': 'a\nb' })],
    'a bad header name': ['ERR_INVALID_HTTP_TOKEN', (res) => res.writeHead(200, { 'X A': 'a' })],
    'an undefined value': [
      'ERR_HTTP_INVALID_HEADER_VALUE',
      (res) => res.writeHead(200, ['X-A', undefined] as never),
    ],
    'a list with a name too many': ['ERR_INVALID_ARG_VALUE', (res) => res.writeHead(200, ['X-A'] as never)],
    'a bad reason': ['ERR_INVALID_CHAR', (res) => res.writeHead(200, 'a\nb')],
    'a null chunk': ['ERR_STREAM_NULL_VALUES', (res) => res.write(null)],
    'a chunk that is a number': ['ERR_INVALID_ARG_TYPE', (res) => res.write(1)],
    'an end with a number': ['ERR_INVALID_ARG_TYPE', (res) => res.end(1)],
    'an unknown encoding': ['ERR_UNKNOWN_ENCODING', (res) => res.end('x', 'klingon' as never)],
    'a bad trailer': ['ERR_INVALID_CHAR', (res) => res.addTrailers({ 'X-T': 'a\nb' })],
    'trailers beside a length': [
      'ERR_HTTP_TRAILER_INVALID',
      (res) => res.writeHead(200, { Trailer: 'X-T', 'Content-Length': '1' }),
    ],
  };
  test.each(Object.keys(refused))('%s', async (name) => {
    const [expected, use] = refused[name]!;
    const bytes = await held((res) => {
      expect(code(() => use(res))).toBe(expected);
      if (!res.headersSent) res.writeHead(201, 'Made');
      if (!res.writableEnded) res.end();
    });
    expect(parse(bytes).statusLine).toMatch(/^HTTP\/1\.1 20/);
  });
});

// Node itself keeps it, and sends it before a body that does not fit.
test('A head that was refused leaves no length behind: the next one may have trailers', async () => {
  const bytes = await held((res) => {
    expect(code(() => res.writeHead(200, { 'Content-Length': '64', 'X-A': 'a\nb' }))).toBe(
      'ERR_INVALID_CHAR',
    );
    res.writeHead(201, { Trailer: 'X-T' });
    res.write('abc');
    res.addTrailers({ 'X-T': '1' });
    res.end();
  });
  const text = Buffer.from(bytes).toString();
  expect(text).toContain('Transfer-Encoding: chunked');
  expect(text).not.toContain('Content-Length');
  expect(text).toMatch(/\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n$/);
});

test('Interim answers pass at once and are not recorded', async () => {
  const server = await captured(
    (_req, res) => {
      res.writeContinue();
      res.writeProcessing();
      res.writeEarlyHints({ link: '</a>; rel=preload' });
      res.end('x');
    },
    async ({ capture }) => {
      const end = await capture.ended;
      expect(end).toMatchObject({ kind: 'answer', status: 200, headers: [] });
      capture.release();
    },
  );
  servers.push(server);
  const { interim } = parse(await ask(server));
  expect(interim.map((head) => head.slice(0, 12))).toEqual(['HTTP/1.1 100', 'HTTP/1.1 102', 'HTTP/1.1 103']);
});

test('A handler that destroys the response has given its answer up', async () => {
  const error = new Error('no');
  const server = await captured(
    (_req, res) => {
      res.write('some');
      res.destroy(error);
    },
    async ({ capture }) =>
      expect(await capture.ended).toMatchObject({
        kind: 'failed',
        error,
        answer: { status: 200, body: null },
      }),
  );
  servers.push(server);
  expect((await ask(server)).length).toBe(0);
});

test('Answers to pipelined requests leave in order, each captured on its own', async () => {
  let nth = 0;
  const server = await captured(
    (_req, res) => {
      const n = ++nth;
      if (n === 1) setImmediate(() => res.end('first'));
      else res.end('second');
    },
    async ({ capture }) => {
      await capture.ended;
      capture.release();
    },
  );
  servers.push(server);
  const bytes = await ask(server, requestBytes().replace('Connection: close\r\n', '') + requestBytes());
  const text = bytes.toString();
  expect(text.indexOf('first')).toBeGreaterThan(0);
  expect(text.indexOf('second')).toBeGreaterThan(text.indexOf('first'));
});
