/** A client that hangs up cancels nothing: the handler's answer is captured as if it were there (F17, F18). */
import { once } from 'node:events';
import { createReadStream, mkdtempSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { type Capture, captureResponse } from '../../src/http-node/capture.ts';
import { listen, open, options, requestBytes, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

const FILE = join(mkdtempSync(join(tmpdir(), 'samekey-gone-')), 'file.bin');
const FILE_SIZE = 300_000;
writeFileSync(FILE, Buffer.alloc(FILE_SIZE, 'f'));

interface Gone {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly capture: Capture;
}

/** A captured request whose client has hung up before the handler answers. */
async function gone(more = {}, before?: (one: Gone) => unknown): Promise<Gone> {
  const arrived: ((one: Gone) => void)[] = [];
  const waiting = new Promise<Gone>((resolve) => arrived.push(resolve));
  const server = await listen((req, res) => {
    arrived[0]?.({ req, res, capture: captureResponse(res, options(more)) });
  });
  servers.push(server);
  const socket = open(server);
  socket.write(requestBytes());
  const one = await waiting;
  await before?.(one);
  const closed = new Promise((resolve) => void one.req.socket.on('close', resolve));
  socket.destroy();
  await closed;
  return one;
}

describe('A handler that answers after its client hung up is captured whole', () => {
  const ways: Record<string, (res: ServerResponse) => unknown> = {
    'with end': (res) => res.end('x'.repeat(FILE_SIZE)),
    'with writes that wait for their callbacks': async (res) => {
      for (let i = 0; i < 3; i++)
        await new Promise<void>((resolve) => void res.write('y'.repeat(100_000), () => resolve()));
      res.end();
    },
    'with a pipe': (res) => createReadStream(FILE).pipe(res),
    'with pipeline': (res) => pipeline(createReadStream(FILE), res),
    'with an async generator through pipeline': (res) =>
      pipeline(async function* parts() {
        for (let i = 0; i < 3; i++) yield await Promise.resolve('z'.repeat(100_000));
      }, res),
  };
  test.each(Object.keys(ways))('%s', async (name) => {
    const { res, capture } = await gone();
    expect([res.destroyed, res.closed, res.writable]).toEqual([false, false, true]);
    const done = ways[name]!(res);
    const end = await capture.ended;
    if (end.kind !== 'answer') throw new Error('no answer');
    expect([end.status, end.body?.length]).toEqual([200, FILE_SIZE]);
    const closed = once(res, 'close');
    capture.release();
    await closed;
    await done;
    expect([res.destroyed, res.closed]).toEqual([true, true]);
  });
});

test('The source of a pipe runs to its end when the client hangs up in the middle', async () => {
  const source = new PassThrough();
  const { res, capture } = await gone({}, ({ res: one }) => {
    source.pipe(one);
    source.write('before,');
  });
  const heard: string[] = [];
  for (const event of ['finish', 'close']) res.on(event, () => heard.push(event));
  source.end('after');
  const end = await capture.ended;
  expect(end).toMatchObject({ kind: 'answer', body: Buffer.from('before,after') });
  expect(heard).toEqual([]);
  const closed = once(res, 'close');
  capture.release();
  await closed;
  expect(heard).toEqual(['finish', 'close']);
});

test('A pipeline in the middle of which the client hangs up does not fail', async () => {
  const source = new PassThrough();
  const outcome: Promise<unknown>[] = [];
  const { capture } = await gone({}, ({ res }) => {
    outcome.push(pipeline(source, res));
    source.write('before,');
  });
  source.end('after');
  await capture.ended;
  capture.release();
  await expect(outcome[0]).resolves.toBeUndefined();
});

test('A streamed answer without a reader becomes a sink, so the source ends', async () => {
  const source = Readable.from([Buffer.alloc(500_000), Buffer.alloc(500_000), Buffer.alloc(500_000)]);
  const { res, capture } = await gone(
    { responseSizeMaxBytes: 1000 },
    ({ res: one }) => void one.write('x'.repeat(2000)),
  );
  source.pipe(res);
  expect(await capture.ended).toMatchObject({ kind: 'answer', status: 200, body: null, streamed: true });
  const closed = once(res, 'close');
  capture.release();
  await closed;
});

test('A writer that waits for drain hears it when the reader goes', async () => {
  const drained: Promise<unknown>[] = [];
  const { res, capture } = await gone({ responseSizeMaxBytes: 1000 }, ({ res: one }) => {
    while (one.write(Buffer.alloc(1_000_000)));
    drained.push(once(one, 'drain'));
  });
  await drained[0];
  res.end();
  await capture.ended;
  capture.release();
});

test('Outer middleware hears close, and no finish that was not', async () => {
  const heard: string[] = [];
  const arrived: ((capture: Capture) => void)[] = [];
  const waiting = new Promise<Capture>((resolve) => arrived.push(resolve));
  const server = await listen((req, res) => {
    for (const event of ['finish', 'close']) res.on(event, () => heard.push(event));
    const capture = captureResponse(res, options());
    req.socket.on('close', () => {
      res.end('x');
      arrived[0]?.(capture);
    });
  });
  servers.push(server);
  const socket = open(server);
  socket.write(requestBytes(), () => socket.destroy());
  const capture = await waiting;
  await capture.ended;
  capture.release();
  await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
  expect(heard).toEqual(['close']);
});

test('A handler that goes on after the client hung up may still give up', async () => {
  const { res, capture } = await gone();
  const error = new Error('no');
  const closed = once(res, 'close');
  res.destroy(error);
  expect(await capture.ended).toEqual({ kind: 'failed', error, answer: null });
  await closed;
});

test('An answer whose client is gone can be replaced and destroyed without harm', async () => {
  for (const end of [
    (capture: Capture) => capture.replace({ status: 409, headers: [], body: null }),
    (capture: Capture) => capture.destroy(),
  ]) {
    const { res, capture } = await gone();
    res.end('x');
    await capture.ended;
    const closed = once(res, 'close');
    end(capture);
    await closed;
  }
});
