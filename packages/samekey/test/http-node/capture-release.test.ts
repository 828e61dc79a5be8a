/** The release: nothing of the capture stays, lines are added, and what is not there yet is Node's. */
import type { Server, ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { captureResponse } from '../../src/http-node/capture.ts';
import { ask, held, options, parse, read, readUntil, serve, start, stop } from './wire.ts';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

test('After the release nothing of the capture is left on the response', async () => {
  const server = await serve(async (res) => {
    const names = (): unknown[] =>
      Reflect.ownKeys(res).filter((key) => key !== 'statusMessage' && key !== 'statusCode');
    const before = new Set(names());
    const socket = res.socket;
    const capture = captureResponse(res, options());
    res.end('x');
    await capture.ended;
    capture.release();
    expect(names().filter((key) => !before.has(key))).toEqual([]);
    expect(res.socket === socket || res.socket === null).toBe(true);
  });
  servers.push(server);
  expect(parse(await ask(server)).body.toString()).toBe('x');
});

test('A release before the handler has answered adds its lines and leaves the rest to Node', async () => {
  const bytes = await held((res, capture) => {
    capture.release([['X-Extra', '1']]);
    res.end('later');
  });
  expect(parse(bytes)).toMatchObject({
    headers: [
      ['X-Extra', '1'],
      ['Connection', 'close'],
      ['Content-Length', '5'],
    ],
  });
});

// Found by the fuzz (seed 226 of node): Node takes a number for this header and fails on it once it knows the length.
test('An answer that Node refuses at its release is nobody’s: its connection is destroyed', async () => {
  const bytes = await held(async (res, capture) => {
    res.setHeader('Content-Disposition', 1).end('x');
    await capture.ended;
    expect(() => capture.release()).toThrow(TypeError);
  });
  expect(bytes.length).toBe(0);
});

test('A release between head and end lets go what there is, and the rest follows by itself', async () => {
  const bytes = await held((res, capture) => {
    res.write('a');
    capture.release([['X-Extra', '1']]);
    res.end('b');
  });
  expect(parse(bytes).body.toString()).toBe('ab');
  expect(parse(bytes).headers[0]).toEqual(['X-Extra', '1']);
});

test.each([
  ['set one by one', (res: ServerResponse) => res.setHeader('X-A', '1').end('x')],
  ['given as an object', (res: ServerResponse) => res.writeHead(200, { 'X-A': '1' }).end('x')],
  ['given as a list', (res: ServerResponse) => res.writeHead(200, ['X-A', '1']).end('x')],
  ['given as pairs', (res: ServerResponse) => res.writeHead(200, [['X-A', '1']] as never).end('x')],
])('The lines of the release come after headers %s', async (_name, answer) => {
  const bytes = await held(async (res, capture) => {
    answer(res);
    await capture.ended;
    capture.release([
      ['X-Extra', '1'],
      ['X-Extra', '2'],
    ]);
  });
  const extra = parse(bytes).headers.filter(([name]) => name.startsWith('X-'));
  expect(extra).toEqual([
    ['X-A', '1'],
    ['X-Extra', '1'],
    ['X-Extra', '2'],
  ]);
});

test('A release in the middle of a stream lets the held chunk go, and the rest follows by itself (F18)', async () => {
  const { socket, res, capture } = await start(
    servers,
    (one) => {
      one.write('a'.repeat(6));
      one.write('b'.repeat(6));
    },
    { responseSizeMaxBytes: 10 },
  );
  await readUntil(socket, 'aaaaaa');
  expect(capture.headAnswer()).toMatchObject({ status: 200, body: null, streamed: true });
  capture.release();
  await readUntil(socket, 'bbbbbb');
  const rest = read(socket);
  res.write('c');
  res.end('d');
  expect((await rest).toString()).toBe('1\r\nc\r\n1\r\nd\r\n0\r\n\r\n');
});
