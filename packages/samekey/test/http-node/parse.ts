/** The bytes of an answer, taken apart. */
import { createHash } from 'node:crypto';
import type { HeaderLine } from '../../src/core/response.ts';

export interface WireAnswer {
  readonly interim: readonly string[];
  readonly statusLine: string;
  /** Whether there is a Date; its value differs from one run to the next. */
  readonly dated: boolean;
  /** Without Date. */
  readonly headers: readonly HeaderLine[];
  readonly body: Buffer;
  readonly trailers: readonly HeaderLine[];
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
    return {
      interim,
      statusLine,
      dated: all.some(([name]) => /^date$/i.test(name)),
      headers: all.filter(([name]) => !/^date$/i.test(name)),
      body,
      trailers,
    };
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
