/**
 * A client on raw sockets, one connection per request: it sees exactly the bytes that arrive, can hang up at any moment, and
 * tells a whole answer from one that was cut off. It retries nothing by itself.
 */

import { connect, type Socket } from 'node:net';
import type { RoutePath } from './api-protocol.ts';

/** One request to the API process. */
export interface ApiRequest {
  readonly path: RoutePath;
  readonly key: string;
  readonly tenant?: string;
  readonly amount?: number;
  /** How long the handler works after its effect, in milliseconds; default 0. */
  readonly workMs?: number;
}

/** A whole answer. */
export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  /** Names in lower case; the last of repeated lines. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** No answer, or not all of it. */
export interface NoAnswer {
  readonly kind: 'lost';
  readonly reason: string;
}

/** A request on its way. */
export interface Sent {
  readonly answer: Promise<Answer | NoAnswer>;
  /** Hangs up. */
  hangUp(): void;
}

/** Longer than any answer may take. */
const ANSWER_TIME_MAX_MS = 30_000;

/** Sends a request. */
export function send(port: number, request: ApiRequest): Sent {
  return sendOn(connect(port, '127.0.0.1'), request);
}

/** Opens a connection before it is needed, so that many requests can be sent at one moment. */
export function openConnection(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Sends a request on a connection of its own. */
export function sendOn(socket: Socket, request: ApiRequest): Sent {
  const answer = new Promise<Answer | NoAnswer>((resolve) => {
    const chunks: Buffer[] = [];
    let failure = 'the connection ended';
    socket.setTimeout(ANSWER_TIME_MAX_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', (error) => {
      failure = error.message;
    });
    socket.once('close', () =>
      resolve(parseAnswer(Buffer.concat(chunks)) ?? { kind: 'lost', reason: failure }),
    );
  });
  socket.write(requestText(request));
  return { answer, hangUp: () => socket.destroy() };
}

function requestText({ path, key, tenant = 'tenant-a', amount = 1200, workMs = 0 }: ApiRequest): string {
  const body = JSON.stringify({ amount, workMs });
  return [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Tenant: ${tenant}`,
    `Idempotency-Key: "${key}"`,
    '',
    body,
  ].join('\r\n');
}

/** Null unless the whole answer is there. */
function parseAnswer(bytes: Buffer): Answer | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const rest = bytes.subarray(headEnd + 4);
  const length = headers.get('content-length');
  const body = length === undefined ? dechunk(rest) : rest.length === Number(length) ? rest : null;
  if (body === null) return null;
  return { kind: 'answer', status: Number(statusLine.split(' ')[1]), headers, body: body.toString('latin1') };
}

/** RFC 9112 §7.1, without extensions and trailers; null unless the last chunk is there. */
function dechunk(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) return null;
    const start = lineEnd + 2;
    if (bytes.length < start + size + 2) return null;
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(start, start + size));
    at = start + size + 2;
  }
}
