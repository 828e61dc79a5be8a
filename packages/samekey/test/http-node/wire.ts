/** Real servers and a client that shows the bytes of the answer, for the tests of http-node. */
import { createHash } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import type { HeaderLine } from '../../src/core/response.ts';
import type { Timer } from '../../src/core/world.ts';
import { type Capture, captureResponse, type CaptureOptions } from '../../src/http-node/capture.ts';

export interface WireAnswer {
  readonly interim: readonly string[];
  readonly statusLine: string;
  /** Without Date, which differs from one run to the next. */
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
  readonly trailers: readonly HeaderLine[];
}

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

/** An answer to compare: a large body by its digest, since a matcher takes seconds over two megabytes. */
export function shown(answer: WireAnswer): object {
  return { ...answer, body: shownBody(answer.body) };
}

export function shownBody(body: Uint8Array): string {
  return body.length < 10_000
    ? Buffer.from(body).toString('latin1')
    : `${body.length} bytes, ${createHash('sha256').update(body).digest('hex')}`;
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

export function parse(bytes: Buffer, method = 'POST'): WireAnswer {
  const interim: string[] = [];
  let rest = bytes;
  for (;;) {
    const at = rest.indexOf('\r\n\r\n');
    if (at === -1) throw new Error(`no complete head in ${JSON.stringify(rest.toString('latin1'))}`);
    const [statusLine = '', ...lines] = rest.subarray(0, at).toString('latin1').split('\r\n');
    rest = rest.subarray(at + 4);
    if (statusLine.startsWith('HTTP/1.1 1')) {
      interim.push([statusLine, ...lines].join('\n'));
      continue;
    }
    const all = lines.map(toLine);
    const chunked =
      method !== 'HEAD' &&
      all.some(([name, value]) => /^transfer-encoding$/i.test(name) && /chunked/i.test(value));
    const { body, trailers } = chunked ? dechunk(rest) : { body: rest, trailers: [] };
    return { interim, statusLine, headers: all.filter(([name]) => !/^date$/i.test(name)), body, trailers };
  }
}

function dechunk(bytes: Buffer): { body: Buffer; trailers: HeaderLine[] } {
  const parts: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const at = rest.indexOf('\r\n');
    if (at === -1) throw new Error('chunked body is not complete');
    const size = Number.parseInt(rest.subarray(0, at).toString('latin1'), 16);
    rest = rest.subarray(at + 2);
    if (size === 0) break;
    parts.push(rest.subarray(0, size));
    rest = rest.subarray(size + 2);
  }
  const lines = rest
    .toString('latin1')
    .split('\r\n')
    .filter((line) => line !== '');
  return { body: Buffer.concat(parts), trailers: lines.map(toLine) };
}

function toLine(line: string): HeaderLine {
  const at = line.indexOf(': ');
  return at === -1 ? [line.replace(/:$/, ''), ''] : [line.slice(0, at), line.slice(at + 2)];
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
    responseSizeMax: 1_048_576,
    bufferTimeMax: 1000,
    setTimer: new ManualTimers().setTimer,
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

/** A package without type declarations. */
export function untyped(name: string): Promise<unknown> {
  return import(name) as Promise<unknown>;
}
