/**
 * A client on bare sockets: what is sent is exactly what the test says, and what came is seen to the byte.
 *
 * Invariants: header lines keep order, spelling and repeats · an answer cut short is seen as incomplete.
 * Source: RFC 9112 (§2.1 message, §6.3 body length, §7.1 chunked coding, §9.3.2 pipelining).
 */

import { type Socket, connect } from 'node:net';
import type { HeaderLine } from 'samekey/internals/core/response';

/** A request to send. */
export interface WireRequest {
  /** Default `POST`. */
  readonly method?: string;
  /** Default `/`. */
  readonly target?: string;
  /** Default `1.1`. */
  readonly version?: '1.0' | '1.1';
  /** Beside `Host` and `Content-Length`, in this order. */
  readonly headers?: readonly HeaderLine[];
  readonly body?: Uint8Array | string;
  /** Default: ask the server to close the connection after its answer. */
  readonly keepAlive?: boolean;
}

/** An answer that came. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
  /** Statuses of the 1xx answers that came before. */
  readonly interim: readonly number[];
  /** Whether it came to its end. */
  readonly isComplete: boolean;
}

/** The bytes of a request. */
export function requestBytes(request: WireRequest): Buffer {
  const { method = 'POST', target = '/', version = '1.1', headers = [], keepAlive = false } = request;
  const body = Buffer.from(request.body ?? '');
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const own: HeaderLine[] = [['Host', 'samekey.test']];
  if (!keepAlive) own.push(['Connection', 'close']);
  if (!names.has('transfer-encoding') && !names.has('content-length') && !/^(GET|HEAD)$/.test(method))
    own.push(['Content-Length', String(body.length)]);
  const lines = [...own, ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n`, 'latin1'),
    body,
  ]);
}

/** One connection. */
export class Connection {
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #closed = false;
  #news: (() => void) | null = null;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#news?.();
    });
    // What a reset means is seen in what came of the answer.
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => {
      this.#closed = true;
      this.#news?.();
    });
  }

  /** Everything that came and was not taken by `answer`. */
  get pending(): string {
    return this.#bytes.toString('latin1');
  }

  send(request: WireRequest | Uint8Array | string): this {
    const isBytes = typeof request === 'string' || request instanceof Uint8Array;
    this.#socket.write(isBytes ? request : requestBytes(request));
    return this;
  }

  /** Hangs up at once. */
  hangUp(): void {
    this.#socket.destroy();
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Resolves when this text has come. */
  async sees(text: string): Promise<void> {
    while (!this.pending.includes(text)) {
      if (this.#closed) throw new Error(`The connection closed before ${JSON.stringify(text)} came.`);
      await this.#change();
    }
  }

  /** The next answer on this connection, whole, or as far as it came. */
  async answer(method = 'POST'): Promise<WireAnswer> {
    for (;;) {
      const parsed = parse(this.#bytes, method === 'HEAD', this.#closed);
      if (parsed !== null) {
        this.#bytes = parsed.rest;
        return parsed.answer;
      }
      if (this.#closed) throw new Error('The connection closed without an answer.');
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#news = resolve;
    });
  }
}

interface Parsed {
  readonly answer: WireAnswer;
  readonly rest: Buffer;
}

function parse(bytes: Buffer, isHead: boolean, closed: boolean): Parsed | null {
  const interim: number[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return null;
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    rest = rest.subarray(end + 4);
    if (status >= 200) {
      const headers = lines.map(lineOf);
      const body = parseBody(rest, status, headers, isHead, closed);
      if (body === null) return null;
      const answer = { status, headers, body: body.bytes, interim, isComplete: body.isComplete };
      return { answer, rest: body.rest };
    }
    interim.push(status);
  }
}

interface ParsedBody {
  readonly bytes: Buffer;
  readonly rest: Buffer;
  readonly isComplete: boolean;
}

const NOTHING: Buffer = Buffer.alloc(0);

/** RFC 9112 §6.3, in its order. */
function parseBody(
  rest: Buffer,
  status: number,
  headers: readonly HeaderLine[],
  isHead: boolean,
  closed: boolean,
): ParsedBody | null {
  if (isHead || status === 204 || status === 304) return { bytes: NOTHING, rest, isComplete: true };
  const value = (wanted: string): string | undefined =>
    headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  if (value('transfer-encoding')?.toLowerCase() === 'chunked') return parseChunks(rest, closed);
  const length = value('content-length');
  if (length === undefined) return closed ? { bytes: rest, rest: NOTHING, isComplete: true } : null;
  const size = Number(length);
  if (rest.length < size && !closed) return null;
  const isComplete = rest.length >= size;
  return { bytes: rest.subarray(0, size), rest: rest.subarray(size), isComplete };
}

function parseChunks(bytes: Buffer, closed: boolean): ParsedBody | null {
  const parts: Buffer[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n');
    const size = end < 0 ? Number.NaN : Number.parseInt(rest.subarray(0, end).toString('latin1'), 16);
    if (size === 0) {
      const last = rest.indexOf('\r\n\r\n', end);
      if (last >= 0) return { bytes: Buffer.concat(parts), rest: rest.subarray(last + 4), isComplete: true };
    } else if (rest.length >= end + 2 + size + 2) {
      parts.push(rest.subarray(end + 2, end + 2 + size));
      rest = rest.subarray(end + 2 + size + 2);
      continue;
    }
    return closed ? { bytes: Buffer.concat(parts), rest: NOTHING, isComplete: false } : null;
  }
}

function lineOf(line: string): HeaderLine {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1).trim()];
}
