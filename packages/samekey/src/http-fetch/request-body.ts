/**
 * The body of a Fetch `Request`, read whole within a limit, before anything is claimed.
 */

import { contentCodings, TOO_MANY_CODINGS } from '../http/content-codings.ts';
import type { BodyRead } from '../http/exchange.ts';
import { type Below, BROKEN_BODY, type Bytes, type RawBody } from './below.ts';

/** As {@link BodyRead}, with the bytes as they came, for the handler. */
type RequestBody =
  | Exclude<BodyRead, { kind: 'body' }>
  | { readonly kind: 'body'; readonly raw: Bytes; readonly decoded: Bytes };

const EMPTY: Bytes = new Uint8Array(0);
/** Content codings the platform can undo (Compression Streams §4). */
const CODINGS: ReadonlyMap<string, CompressionFormat> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** Reads the body. A coding that is not known is compared as it came. */
export async function readRequestBody(
  request: Request,
  sizeMaxBytes: number,
  below: Below | undefined,
): Promise<RequestBody> {
  const read = await (below?.readBody(sizeMaxBytes) ?? readStream(request, sizeMaxBytes));
  if (read.kind !== 'body') return read;
  const { raw } = read;
  if (raw.length === 0) return { kind: 'body', raw, decoded: raw };
  const names = contentCodings(request.headers.get('content-encoding') ?? '');
  if (names === null) return { kind: 'unreadable', detail: TOO_MANY_CODINGS };
  const formats = names.map((name) => CODINGS.get(name));
  if (formats.includes(undefined)) return { kind: 'body', raw, decoded: raw };
  let decoded = raw;
  for (const format of formats.toReversed()) {
    if (decoded.byteLength === 0) break;
    const stream = new Blob([decoded])
      .stream()
      .pipeThrough(new DecompressionStream(format as CompressionFormat));
    const undone = await readAll(stream, sizeMaxBytes);
    if (undone.kind !== 'body') return undone;
    decoded = undone.raw;
  }
  return { kind: 'body', raw, decoded };
}

async function readStream(request: Request, sizeMaxBytes: number): Promise<RawBody> {
  if (request.bodyUsed || request.body?.locked === true) return { kind: 'consumed' };
  if (request.body === null) return { kind: 'body', raw: EMPTY };
  return readAll(request.body, sizeMaxBytes);
}

async function readAll(
  stream: ReadableStream<Uint8Array>,
  sizeMaxBytes: number,
): Promise<Exclude<RawBody, { kind: 'consumed' }>> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > sizeMaxBytes) {
        // The rest is not wanted; an error of the cancelled source changes nothing.
        void reader.cancel().catch(() => undefined);
        return { kind: 'too-large' };
      }
      chunks.push(value);
    }
  } catch {
    return { kind: 'unreadable', detail: BROKEN_BODY };
  }
  return { kind: 'body', raw: joined(chunks, size) };
}

/** The chunks as one. */
export function joined(chunks: readonly Uint8Array[], size: number): Bytes {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
