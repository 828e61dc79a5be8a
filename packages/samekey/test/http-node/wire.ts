/** Real servers and a client that shows the bytes of the answer, for the tests of http-node. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { createKeptBytes } from '../../src/engine/kept-bytes.ts';
import type { Timer } from '../../src/core/world.ts';
import { KeptCopy } from '../../src/http/kept-copy.ts';
import { type Capture, captureResponse, type CaptureOptions } from '../../src/http-node/capture.ts';

export { parse, shown, shownBody } from './parse.ts';

export async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

export function open(server: Server): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  return socket;
}

export function requestBytes(extra = '', method = 'POST'): string {
  return `${method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n${extra}\r\n`;
}

/** Sends one request and reads until the server closes. */
export async function ask(server: Server, request: string | Uint8Array = requestBytes()): Promise<Buffer> {
  const socket = open(server);
  socket.write(request);
  return read(socket);
}

export async function read(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks);
}

/** Reads from a socket until `text` has come. */
export async function readUntil(socket: Socket, text: string): Promise<string> {
  let seen = '';
  const take = (chunk: Buffer): void => {
    seen += chunk.toString('latin1');
  };
  socket.on('data', take);
  while (!seen.includes(text)) await once(socket, 'data');
  socket.off('data', take);
  return seen;
}

/** Timers that fire when a test says so. */
export class ManualTimers {
  readonly pending = new Set<() => void>();

  readonly setTimer = (_delayMs: number, callback: () => void): Timer => {
    this.pending.add(callback);
    return { cancel: () => this.pending.delete(callback) };
  };

  fire(): void {
    const due = [...this.pending];
    this.pending.clear();
    for (const callback of due) callback();
  }
}

export function options(more: Partial<CaptureOptions> = {}): CaptureOptions {
  return {
    responseSizeMaxBytes: 1_048_576,
    bufferTimeMaxMs: 1000,
    setTimer: new ManualTimers().setTimer,
    newCopy: () =>
      new KeptCopy({
        responseSizeMaxBytes: more.responseSizeMaxBytes ?? 1_048_576,
        budget: createKeptBytes(2 ** 26),
        onNoRoom: () => undefined,
      }),
    isDecidedEarly: () => true,
    ...more,
  };
}

export interface Held {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly capture: Capture;
}

/** A server whose handler runs captured; `onCapture` decides what becomes of the answer. */
export function captured(
  handler: RequestListener,
  onCapture: (held: Held) => void | Promise<void>,
  more: Partial<CaptureOptions> = {},
): Promise<Server> {
  return listen((req, res) => {
    const capture = captureResponse(res, options(more));
    void onCapture({ req, res, capture });
    handler(req, res);
  });
}

/** A server of one asynchronous handler. */
export function serve(handler: (res: ServerResponse) => Promise<void>): Promise<Server> {
  return listen((_req, res) => void handler(res));
}

/** Runs `use` on a captured response, then releases it; returns the bytes. */
export async function held(
  use: (res: ServerResponse, capture: Capture) => unknown,
  request?: string,
): Promise<Buffer> {
  let failure: unknown;
  const server = await serve(async (res) => {
    const capture = captureResponse(res, options());
    try {
      await use(res, capture);
    } catch (error) {
      failure = error;
    }
    capture.release();
    if (!res.writableEnded) res.end();
  });
  const bytes = await ask(server, request);
  await stop(server);
  if (failure !== undefined) throw failure;
  return bytes;
}

const streamHeaders = () => [['Idempotency-Stored', 'later']] as const;

/** Starts a request and hands out its capture; the server is added to `servers`. */
export async function start(
  servers: Server[],
  handler: (res: ServerResponse) => unknown,
  more: Partial<CaptureOptions> = {},
): Promise<Held & { readonly socket: Socket }> {
  let take: ((held: Held) => void) | undefined;
  const arrived = new Promise<Held>((resolve) => {
    take = resolve;
  });
  const server = await captured(
    (_req, res) => void handler(res),
    (one) => take?.(one),
    { streamHeaders, ...more },
  );
  servers.push(server);
  const socket = open(server);
  socket.write(requestBytes());
  return { socket, ...(await arrived) };
}

/** A package without type declarations. */
export function untyped(name: string): Promise<unknown> {
  return import(name) as Promise<unknown>;
}
