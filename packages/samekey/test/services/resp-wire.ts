/**
 * As much of the protocol of Redis (RESP2) as a proxy needs: each command with its first argument, and the end of each reply. A server answers
 * commands in their order and after it has done them, so a swallowed reply was applied.
 *
 * Source: https://redis.io/docs/latest/develop/reference/protocol-spec/.
 */

import type { ClientPart, ServerPart, Wire } from './fault-proxy.ts';

/** Reads one connection. */
export function respWire(): Wire {
  const [fromClient, fromServer] = [valuesOf(), valuesOf()];
  return {
    client: (chunk) =>
      fromClient(chunk).map((bytes): ClientPart => ({ bytes, statement: statementOf(bytes), ends: true })),
    server: (chunk) => fromServer(chunk).map((bytes): ServerPart => ({ bytes, ends: true })),
  };
}

/** Cuts what arrives into whole values. */
function valuesOf(): (chunk: Buffer) => readonly Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const values: Buffer[] = [];
    for (let end = endOf(rest, 0); end !== undefined; end = endOf(rest, 0)) {
      values.push(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
    return values;
  };
}

/** Where the value that begins here ends; undefined when it is not all there. */
function endOf(bytes: Buffer, at: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd < 0) return undefined;
  const [kind, count] = [
    String.fromCharCode(bytes[at] ?? 0),
    Number(bytes.toString('latin1', at + 1, lineEnd)),
  ];
  let end: number | undefined = lineEnd + 2;
  if (kind === '$' && count >= 0) end += count + 2;
  if (kind === '*') {
    for (let i = 0; i < count && end !== undefined; i += 1) end = endOf(bytes, end);
  }
  return end !== undefined && end <= bytes.length ? end : undefined;
}

/** `EVALSHA <sha>`, for one. */
function statementOf(bytes: Buffer): string {
  const lines = bytes.toString('latin1', 0, 256).split('\r\n');
  return `${lines[2] ?? ''} ${lines[4] ?? ''}`.trim().toUpperCase();
}
