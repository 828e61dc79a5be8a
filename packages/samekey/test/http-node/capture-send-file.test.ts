/** `res.sendFile` runs to its end when the client hangs up (F2, F17): `send` watches the socket through on-finished. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { afterEach, describe, expect, test } from 'vitest';
import { type Capture, captureResponse } from '../../src/http-node/capture.ts';
import { listen, open, options, requestBytes, stop, untyped } from './wire.ts';

const { default: express4 } = (await untyped('express4')) as { default: typeof express };
const { default: onFinished } = (await untyped('on-finished')) as {
  default: (res: ServerResponse, listener: () => void) => void;
};
const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(stop)));

const FILE = join(mkdtempSync(join(tmpdir(), 'samekey-send-file-')), 'file.bin');
const FILE_SIZE = 300_000;
writeFileSync(FILE, Buffer.alloc(FILE_SIZE, 'f'));

describe.each([
  ['Express 5', express],
  ['Express 4', express4],
])('sendFile of %s', (_name, framework) => {
  // on-finished, beneath send, watches the socket; an outer logger shares its listener.
  test.each([
    ['runs to its end after the client hung up', false],
    ['runs to its end under an outer on-finished listener', true],
  ])('%s', async (_title, outer) => {
    const arrived: ((capture: Capture) => void)[] = [];
    const waiting = new Promise<Capture>((resolve) => arrived.push(resolve));
    const app = framework();
    app.post('/', (req, res) => {
      if (outer) onFinished(res, () => {});
      const capture = captureResponse(res, options());
      req.socket.on('close', () => {
        res.sendFile(FILE);
        arrived[0]?.(capture);
      });
    });
    const server = await listen(app);
    servers.push(server);
    const socket = open(server);
    socket.write(requestBytes(), () => socket.destroy());
    const end = await (await waiting).ended;
    if (end.kind !== 'answer') throw new Error('no answer');
    expect(end.body?.length).toBe(FILE_SIZE);
    (await waiting).release();
  });

  test.each([
    ['runs to its end when the client hangs up while the file is read', false],
    ['and under an outer on-finished listener too', true],
  ])('%s', async (_title, outer) => {
    const arrived: ((capture: Capture) => void)[] = [];
    const waiting = new Promise<Capture>((resolve) => arrived.push(resolve));
    const app = framework();
    app.post('/', (req, res) => {
      if (outer) onFinished(res, () => {});
      const capture = captureResponse(res, options());
      res.sendFile(FILE);
      // The first bytes are there: the connection goes now.
      const write = res.write.bind(res) as (...args: unknown[]) => boolean;
      res.write = ((...args: unknown[]) => {
        req.socket.destroy();
        return write(...args);
      }) as typeof res.write;
      arrived[0]?.(capture);
    });
    const server = await listen(app);
    servers.push(server);
    open(server).write(requestBytes());
    const capture = await waiting;
    const end = await capture.ended;
    expect(end.kind === 'answer' && end.body?.length).toBe(FILE_SIZE);
    capture.release();
  });
});
