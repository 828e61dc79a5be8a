/** Answers that cannot wait stream through, all but what completes them (contract §8.3; F39, F41). */
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import type { CaptureEnd } from '../../src/http-node/capture.ts';
import { ManualTimers, parse, read, readUntil, start, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

test('An event stream leaves event by event; its end waits for the release', async () => {
  let response: ServerResponse | undefined;
  const { socket, capture } = await start(servers, (res) => {
    response = res;
    res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
  });
  const chunk = Buffer.from('data: 1\n\n');
  response!.write(chunk);
  // The head leaves with the first event, as without a capture.
  const head = await readUntil(socket, 'data: 1\n\n');
  expect(head).toContain('Idempotency-Stored: later');
  // Once it is sent, its source may use its memory again.
  chunk.write('data: 2\n\n');
  response!.write(chunk);
  await readUntil(socket, 'data: 2\n\n');
  response!.end();
  const end = await capture.ended;
  expect(end).toMatchObject({ kind: 'answer', status: 200, streamed: true });
  expect(end).toHaveProperty('body', new Uint8Array(Buffer.from('data: 1\n\ndata: 2\n\n')));
  const rest = read(socket);
  capture.release();
  expect((await rest).toString()).toBe('0\r\n\r\n');
});

test('A flushed head leaves at once, and each chunk after it', async () => {
  const { socket, res, capture } = await start(servers, (one) => one.flushHeaders());
  await readUntil(socket, '\r\n\r\n');
  res.write('now');
  await readUntil(socket, 'now');
  expect(capture.headAnswer()).toMatchObject({ status: 200, body: null, streamed: true });
  res.end('end');
  const rest = read(socket);
  capture.release();
  expect((await rest).toString()).toContain('end');
});

test('A flushed answer with a declared length is not complete before the release', async () => {
  const { socket, req, res, capture } = await start(servers, (one) => {
    one.setHeader('Content-Length', 6);
    one.flushHeaders();
  });
  await readUntil(socket, '\r\n\r\n');
  res.write('abc');
  await readUntil(socket, 'abc');
  const sent = req.socket.bytesWritten;
  res.write('def');
  res.write('');
  res.end();
  await capture.ended;
  expect(req.socket.bytesWritten).toBe(sent);
  const rest = read(socket);
  capture.release();
  expect((await rest).toString()).toBe('def');
});

test('A flush of a head that is the whole answer waits', async () => {
  const { socket, capture } = await start(servers, (res) => {
    res.setHeader('Content-Length', 0);
    res.flushHeaders();
    res.end();
  });
  expect(await capture.ended).toMatchObject({ streamed: false });
  const rest = read(socket);
  capture.release([['X-Extra', '1']]);
  expect(parse(await rest).headers).toContainEqual(['X-Extra', '1']);
});

test('A body over the limit streams, the most recent chunk always one behind', async () => {
  const { socket, res, capture } = await start(
    servers,
    (one) => {
      one.write('a'.repeat(6));
      one.write('b'.repeat(6));
    },
    { responseSizeMaxBytes: 10 },
  );
  const seen = await readUntil(socket, 'aaaaaa');
  expect(seen).toContain('Idempotency-Stored: later');
  expect(seen).not.toContain('b');
  res.write('c'.repeat(6));
  expect(await readUntil(socket, 'bbbbbb')).not.toContain('c');
  res.end();
  expect(await capture.ended).toMatchObject({ body: null, streamed: true });
  const rest = read(socket);
  capture.release();
  expect((await rest).toString()).toBe('6\r\ncccccc\r\n0\r\n\r\n');
});

test('An answer that is too large but ended at once needs no stream: only its body is not kept', async () => {
  const { socket, capture } = await start(servers, (res) => res.end('x'.repeat(11)), {
    responseSizeMaxBytes: 10,
  });
  expect(await capture.ended).toMatchObject({ body: null, streamed: false });
  const rest = read(socket);
  capture.release([['X-Extra', '1']]);
  expect(parse(await rest)).toMatchObject({ headers: expect.arrayContaining([['X-Extra', '1']]) });
});

test('An answer slower than bufferTimeMaxMs streams, its last chunk held', async () => {
  const timers = new ManualTimers();
  const { socket, res, capture } = await start(servers, (one) => void one.write('a'), {
    setTimer: timers.setTimer,
  });
  timers.fire();
  expect(await readUntil(socket, '\r\n\r\n')).not.toMatch(/\r\na\r\n/);
  res.end('b');
  await capture.ended;
  const rest = read(socket);
  capture.release();
  expect((await rest).toString()).toBe('1\r\na\r\n1\r\nb\r\n0\r\n\r\n');
});

test('No timer is left once an answer has ended', async () => {
  const timers = new ManualTimers();
  const { capture } = await start(
    servers,
    (one) => {
      one.write('a');
      one.end();
    },
    { setTimer: timers.setTimer },
  );
  await capture.ended;
  expect(timers.pending.size).toBe(0);
});

test('A stalled reader holds the source back, and the head tells how to settle', async () => {
  let produced = 0;
  const chunk = Buffer.alloc(262_144, 'x');
  const source = new Readable({
    read() {
      produced++;
      this.push(produced > 4000 ? null : chunk);
    },
  });
  const { socket, res, capture } = await start(servers, (one) => source.pipe(one), {
    responseSizeMaxBytes: 1000,
  });
  socket.pause();
  if (!source.isPaused()) await once(source, 'pause');
  // Node asks for more until its buffers are full; then nothing moves while nobody reads.
  expect(produced).toBeLessThan(4000);
  expect(res.writableNeedDrain).toBe(true);
  expect(capture.headAnswer()).toMatchObject({ status: 200, streamed: true });
  socket.destroy();
  await once(source, 'end');
  const end: CaptureEnd = await capture.ended;
  expect(end).toMatchObject({ kind: 'answer', status: 200, body: null, streamed: true });
  capture.release();
});

test('A callback awaited before the next write does not stop a stream that holds one chunk back', async () => {
  const { socket, capture } = await start(
    servers,
    async (res) => {
      for (const text of ['one', 'two', 'three']) {
        await new Promise<void>((resolve) => void res.write(text, () => resolve()));
      }
      res.end();
    },
    { responseSizeMaxBytes: 4 },
  );
  await capture.ended;
  const rest = read(socket);
  capture.release();
  expect(parse(await rest).body.toString()).toBe('onetwothree');
});

test('Destroying a streamed answer leaves it visibly incomplete', async () => {
  const { socket, res, capture } = await start(servers, (one) => {
    one.flushHeaders();
    one.write('part');
  });
  await readUntil(socket, 'part');
  res.end();
  await capture.ended;
  const rest = read(socket);
  capture.destroy();
  expect((await rest).toString()).not.toContain('0\r\n\r\n');
});

test('Replacing a streamed answer destroys it', async () => {
  const { socket, res, capture } = await start(servers, (one) => one.flushHeaders());
  await readUntil(socket, '\r\n\r\n');
  res.end('x');
  await capture.ended;
  const rest = read(socket);
  capture.replace({ status: 409, headers: [], body: null });
  expect((await rest).length).toBe(0);
});
