/** Middleware that patches the response, before and after the capture, keeps working. */
import type { Server, ServerResponse } from 'node:http';
import { gunzipSync, createGzip } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { captureResponse, type CaptureEnd } from '../../src/http-node/capture.ts';
import { ask, listen, options, parse, shown, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

type Patch = (res: ServerResponse) => void;
// oxlint-disable-next-line typescript/no-explicit-any
type Loose = (this: ServerResponse, ...args: any[]) => any;
/** A response as a patch sees it. */
const methods = (res: ServerResponse) =>
  res as unknown as Record<'writeHead' | 'write' | 'end' | 'on', Loose>;

/** As on-headers 1.1: a listener that runs once, before the head. */
function onHeaders(res: ServerResponse, listener: (res: ServerResponse) => void): void {
  const writeHead = methods(res).writeHead;
  let fired = false;
  methods(res).writeHead = function patched(this: ServerResponse, ...args: unknown[]) {
    this.statusCode = args[0] as number;
    if (!fired) {
      fired = true;
      listener(this);
    }
    return writeHead.call(this, this.statusCode, ...args.slice(1));
  };
}

/** As compression 1.7 (`_implicitHeader`) and 1.8 (`writeHead`). */
function compression(implicit: (res: ServerResponse) => void): Patch {
  return (res) => {
    const write = methods(res).write;
    const end = methods(res).end;
    const on = methods(res).on;
    let gzip: ReturnType<typeof createGzip> | undefined;
    let ended = false;
    const sent = (): boolean => Boolean((res as unknown as { _header: unknown })['_header']);
    methods(res).write = function patchedWrite(
      this: ServerResponse,
      chunk: string | Buffer,
      encoding?: unknown,
    ) {
      if (ended) return false;
      if (!sent()) implicit(this);
      return gzip
        ? gzip.write(Buffer.from(chunk as string, encoding as BufferEncoding))
        : write.call(this, chunk, encoding);
    };
    methods(res).end = function patchedEnd(
      this: ServerResponse,
      chunk?: string | Buffer,
      encoding?: unknown,
    ) {
      if (ended) return this;
      if (!sent()) implicit(this);
      if (!gzip) return end.call(this, chunk, encoding);
      ended = true;
      if (chunk) gzip.end(Buffer.from(chunk as string, encoding as BufferEncoding));
      else gzip.end();
      return this;
    };
    onHeaders(res, () => {
      res.setHeader('Content-Encoding', 'gzip');
      res.removeHeader('Content-Length');
      gzip = createGzip();
      gzip.on('data', (chunk) => {
        if (write.call(res, chunk) === false) gzip?.pause();
      });
      gzip.on('end', () => void end.call(res));
      on.call(res, 'drain', () => gzip?.resume());
    });
  };
}

const BY_NAME: Record<string, Patch> = {
  'compression 1.7': compression((res) =>
    (res as unknown as { _implicitHeader(): void })['_implicitHeader'](),
  ),
  'compression 1.8': compression((res) => void res.writeHead(res.statusCode)),
  'on-headers': (res) => onHeaders(res, (one) => one.setHeader('X-Hook', String(one.statusCode))),
  'a writeHead that is counted': (res) => {
    const { writeHead } = methods(res);
    methods(res).writeHead = function patched(this: ServerResponse, ...args: unknown[]) {
      this.setHeader('X-Heads', Number(this.getHeader('X-Heads') ?? 0) + 1);
      return writeHead.apply(this, args);
    };
  },
  'an end that is counted': (res) => {
    const end = methods(res).end;
    methods(res).end = function patched(this: ServerResponse, ...args: unknown[]) {
      if (!this.headersSent) this.setHeader('X-Ends', Number(this.getHeader('X-Ends') ?? 0) + 1);
      return end.apply(this, args);
    };
  },
};
const ANSWERS: Record<string, (res: ServerResponse) => unknown> = {
  'one end': (res) => res.setHeader('Content-Length', 4).end('text'),
  writes: (res) => {
    res.write('te');
    setImmediate(() => res.end('xt'));
  },
  'an explicit head': (res) => {
    res.writeHead(201, { 'X-A': '1' });
    res.write('te');
    res.end('xt');
  },
};

const cases = Object.keys(BY_NAME).flatMap((patch) =>
  Object.keys(ANSWERS).flatMap((answer) =>
    (['outside', 'inside'] as const).map((side) => [patch, side, answer] as const),
  ),
);

test.each(cases)('%s %s the capture answers with %s as without one', async (name, side, how) => {
  const patch = BY_NAME[name]!;
  const answer = ANSWERS[how]!;
  const ends: CaptureEnd[] = [];
  const plain = await listen((_req, res) => {
    patch(res);
    answer(res);
  });
  const held = await listen((_req, res) => {
    if (side === 'outside') patch(res);
    const capture = captureResponse(res, options());
    if (side === 'inside') patch(res);
    void capture.ended.then((end) => {
      ends.push(end);
      capture.release();
    });
    answer(res);
  });
  servers.push(plain, held);
  const expected = parse(await ask(plain));
  const seen = parse(await ask(held));
  // Chunks of an outer compressor may be cut elsewhere; its text may not.
  const text = (one: typeof seen) => (name.startsWith('compression') ? gunzipSync(one.body) : one.body);
  expect(text(seen)).toEqual(text(expected));
  expect(shown({ ...seen, body: text(seen) })).toEqual(shown({ ...expected, body: text(expected) }));
  const [end] = ends;
  if (end?.kind !== 'answer' || end.body === null) throw new Error('no answer');
  const recorded = Buffer.from(end.body);
  const compressed = end.headers.some(([field]) => field === 'Content-Encoding');
  expect(compressed).toBe(side === 'inside' && name.startsWith('compression'));
  expect((compressed ? gunzipSync(recorded) : recorded).toString()).toBe('text');
});

test('A patch laid over ours stays in place and works after the release', async () => {
  const calls: string[] = [];
  const server = await listen((_req, res) => {
    const capture = captureResponse(res, options());
    const end = methods(res).end;
    const patched = function patched(this: ServerResponse, ...args: unknown[]) {
      calls.push('end');
      return end.apply(this, args);
    };
    methods(res).end = patched;
    capture.release();
    expect(methods(res).end).toBe(patched);
    res.end('x');
  });
  servers.push(server);
  expect(parse(await ask(server)).body.toString()).toBe('x');
  expect(calls).toEqual(['end']);
});
