/**
 * A client that sends bytes and gives back all that came until the server closed the connection.
 *
 * Source: RFC 9112 (§6.3 body length, §7.1 chunked coding, §7.1.2 trailers).
 */

import { connect } from 'node:net';
import type { HeaderLine } from 'samekey/internals/core/response';

/** What came, and how it ended. */
export interface Came {
  readonly bytes: Buffer;
  /** Whether the server has not closed in time. */
  readonly isHung: boolean;
}

/** After the last answer that is asked for, on a connection that its server keeps: what else came is seen, too. */
const IDLE_MS = 100;

/** Sends the parts, each in a turn of its own; `methods` are those of the requests in them. */
export function exchange(
  port: number,
  parts: readonly Uint8Array[],
  methods: readonly string[],
  timeMaxMs: number,
): Promise<Came> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let idle: NodeJS.Timeout | undefined;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const end = (isHung: boolean): void => {
      clearTimeout(timer);
      clearTimeout(idle);
      socket.destroy();
      resolve({ bytes: Buffer.concat(chunks), isHung });
    };
    const timer = setTimeout(() => end(true), timeMaxMs);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      clearTimeout(idle);
      const answers = answersOf(Buffer.concat(chunks), methods);
      const isAll =
        answers.length >= methods.length && answers.every((one) => one.isComplete && one.isFramed);
      if (isAll) idle = setTimeout(() => end(false), IDLE_MS);
    });
    // What a reset means is seen in what came.
    socket.on('error', () => undefined);
    socket.on('close', () => end(false));
    socket.on('connect', () => {
      const send = (i: number): void => {
        const part = parts[i];
        if (part === undefined || socket.destroyed) return;
        socket.write(part, () => setImmediate(send, i + 1));
      };
      send(0);
    });
  });
}

/** Sends bytes, and says that nothing more comes once nothing has come back for a while. */
export function exchangeUntilQuiet(port: number, bytes: Uint8Array, quietMs: number): Promise<Came> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const end = (isHung: boolean): void => {
      clearTimeout(quiet);
      clearTimeout(last);
      socket.destroy();
      resolve({ bytes: Buffer.concat(chunks), isHung });
    };
    let last: NodeJS.Timeout | undefined;
    const quiet = setTimeout(() => {
      socket.end();
      last = setTimeout(() => end(true), 2_000);
    }, quietMs);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      quiet.refresh();
    });
    // What a reset means is seen in what came.
    socket.on('error', () => undefined);
    socket.on('close', () => end(false));
    socket.write(bytes);
  });
}

/** One answer, as far as it came. */
export interface SeenAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
  readonly trailers: readonly HeaderLine[];
  /** Whether it came to its end, by its own framing. */
  readonly isComplete: boolean;
  /** Whether it said itself where it ends: by a length, by chunks, or by having no body. */
  readonly isFramed: boolean;
}

/** The answers that came on a connection that is closed now; `methods` are those of the requests. */
export function answersOf(bytes: Buffer, methods: readonly string[]): SeenAnswer[] {
  const answers: SeenAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break;
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const [, status = '', ...reason] = statusLine.split(' ');
    rest = rest.subarray(end + 4);
    if (Number(status) < 200) continue;
    const head = { status: Number(status), reason: reason.join(' '), headers: lines.map(lineOf) };
    const isBodiless = methods[answers.length] === 'HEAD' || [204, 304].includes(head.status);
    const body = isBodiless ? { ...WHOLE, rest } : bodyOf(rest, head.headers);
    answers.push({ ...head, ...body });
    rest = body.rest;
  }
  return answers;
}

interface SeenBody {
  readonly body: Buffer;
  readonly trailers: readonly HeaderLine[];
  readonly isComplete: boolean;
  readonly isFramed: boolean;
  readonly rest: Buffer;
}

const NOTHING: Buffer = Buffer.alloc(0);
const WHOLE = { body: NOTHING, trailers: [], isComplete: true, isFramed: true } as const;

function bodyOf(rest: Buffer, headers: readonly HeaderLine[]): SeenBody {
  const value = (wanted: string): string | undefined =>
    headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  if (value('transfer-encoding')?.toLowerCase().includes('chunked') === true) return chunksOf(rest);
  const length = value('content-length');
  if (length === undefined)
    return { body: rest, trailers: [], isComplete: true, isFramed: false, rest: NOTHING };
  const size = Number(length);
  return {
    ...WHOLE,
    body: rest.subarray(0, size),
    isComplete: rest.length >= size,
    rest: rest.subarray(size),
  };
}

function chunksOf(bytes: Buffer): SeenBody {
  const parts: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n');
    const size = end < 0 ? Number.NaN : Number.parseInt(rest.subarray(0, end).toString('latin1'), 16);
    if (size === 0) {
      const last = rest.indexOf('\r\n\r\n', end);
      if (last >= 0) {
        const lines = rest.subarray(end + 2, Math.max(end + 2, last)).toString('latin1');
        const trailers = lines === '' ? [] : lines.split('\r\n').map(lineOf);
        return { ...WHOLE, body: Buffer.concat(parts), trailers, rest: rest.subarray(last + 4) };
      }
    } else if (rest.length >= end + 2 + size + 2) {
      parts.push(rest.subarray(end + 2, end + 2 + size));
      rest = rest.subarray(end + 2 + size + 2);
      continue;
    }
    return { ...WHOLE, body: Buffer.concat(parts), isComplete: false, rest: NOTHING };
  }
}

function lineOf(line: string): HeaderLine {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1).replace(/^[ \t]+|[ \t]+$/g, '')];
}
