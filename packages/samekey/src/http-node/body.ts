/**
 * Reads a request's body before the claim and gives it back, so that the framework's own parser, which runs later,
 * finds the stream as if nobody had been there.
 *
 * Invariants: `end` is never emitted here (only exactly what is buffered is read, then the whole is put back with
 * `unshift`); no more than `requestSizeMaxBytes` bytes are kept; a body that somebody else has read is a loud
 * `consumed`, never an empty body (F31); a body that ends early claims nothing.
 *
 * Sources: https://nodejs.org/docs/latest-v20.x/api/stream.html#readableunshiftchunk-encoding, #readablereadsize,
 * https://nodejs.org/docs/latest-v20.x/api/http.html#messagecomplete; RFC 9112 §6.3 (when a request has a body), §8.
 */
import type { IncomingMessage } from 'node:http';
import { registered } from '../core/registered.ts';
import { decodeContent } from './content-coding.ts';
import { KeptBody } from './keep-body.ts';
import { headerLines } from './node-request.ts';

/** How reading a body went. */
export type BodyRead =
  | {
      readonly kind: 'body';
      /** As on the wire; as decoded where only a parser's decoded bytes were kept. */
      readonly raw: Uint8Array;
      /** Content codings undone; equal to `raw` under a coding nobody here knows. */
      readonly decoded: Uint8Array;
      /** What was put back, to be lent to who reads on, or dropped; null where nothing was. */
      readonly kept: KeptBody | null;
    }
  /**
   * More than the limit, as sent or as decoded. Reading has stopped: the connection is to be closed after the answer.
   */
  | { readonly kind: 'too-large' }
  /** The client went away in the middle, or the bytes are not what Content-Encoding says. */
  | { readonly kind: 'unreadable'; readonly detail: string }
  /** An earlier parser took the stream and kept no bytes: the order of the middleware is wrong. */
  | { readonly kind: 'consumed' };

/** Options of {@link readBody}. */
interface BodyOptions {
  /** Bytes of the body, as sent and as decoded. 1 MiB = 1_048_576. */
  readonly requestSizeMaxBytes: number;
}

const EMPTY = new Uint8Array(0);
const ABORTED: BodyRead = {
  kind: 'unreadable',
  detail: 'The connection closed before the body was complete.',
};
const NO_BODY: BodyRead = { kind: 'body', raw: EMPTY, decoded: EMPTY, kept: null };

/** Bytes that a parser before Samekey has read (already decoded). */
const remembered = registered('rawBodies', () => new WeakMap<IncomingMessage, Uint8Array>());
/** What was read here: a second reader (nested middleware) gets the same. */
const reads = registered('bodyReads', () => new WeakMap<IncomingMessage, Promise<BodyRead>>());

/**
 * For the `verify` option of `express.json()` and its like: lets a parser run before Samekey. The bytes are kept as
 * long as the request.
 */
export function rememberRawBody(req: IncomingMessage, _res: unknown, bytes: Uint8Array): void {
  remembered.set(req, bytes);
}

/**
 * Reads the body of `req`, decoded, and puts it back for whoever reads next. A request without a body is not touched.
 * Never rejects. The bytes stay readable when the client hangs up, if they are lent before somebody reads.
 */
export function readBody(req: IncomingMessage, options: BodyOptions): Promise<BodyRead> {
  let read = reads.get(req);
  if (read === undefined) {
    read = start(req, options.requestSizeMaxBytes);
    reads.set(req, read);
  }
  return read;
}

async function start(req: IncomingMessage, sizeMax: number): Promise<BodyRead> {
  const known = rememberedBody(req);
  if (known !== undefined) return bounded(known, known, sizeMax);
  if (!hasBody(req)) return NO_BODY;
  if (isTaken(req)) return { kind: 'consumed' };
  if (Number(req.headers['content-length']) > sizeMax) return { kind: 'too-large' };
  // Bytes that came together with the head are parsed right after the handler's first synchronous part.
  if (!isWhole(req, req.readableLength)) await Promise.resolve();
  const raw = isWhole(req, req.readableLength) ? takeBuffered(req) : await collect(req, sizeMax);
  if (!ArrayBuffer.isView(raw)) return raw;
  if (raw.byteLength > sizeMax) return { kind: 'too-large' };
  let kept: KeptBody | null = null;
  if (raw.byteLength > 0) {
    req.unshift(raw);
    kept = new KeptBody(req);
  }
  const [coding] = headerLines(req, 'content-encoding');
  if (coding === undefined) return { kind: 'body', raw, decoded: raw, kept };
  const result = await decodeContent(raw, headerLines(req, 'content-encoding').join(','), sizeMax);
  switch (result.kind) {
    case 'decoded':
      return { kind: 'body', raw, decoded: result.bytes, kept };
    case 'unknown':
      return { kind: 'body', raw, decoded: raw, kept };
    case 'bad':
      kept?.drop();
      return { kind: 'unreadable', detail: result.detail };
    case 'too-large':
      kept?.drop();
      return result;
    default:
      return result satisfies never;
  }
}

/** RFC 9112 §6.3: a request has a body if it says so. */
function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** Whole bodies kept by `rememberRawBody`, or as `req.rawBody` (Cloud Functions, Nest). */
function rememberedBody(req: IncomingMessage): Uint8Array | undefined {
  const bytes = remembered.get(req);
  if (bytes !== undefined) return bytes;
  const { rawBody } = req as { rawBody?: unknown };
  if (typeof rawBody === 'string') return Buffer.from(rawBody);
  return rawBody instanceof Uint8Array ? rawBody : undefined;
}

function isTaken(req: IncomingMessage): boolean {
  // Set by body-parser 1.x, also when something else than the stream gave it the bytes.
  const parsed = (req as { ['_body']?: unknown })['_body'] === true;
  return (
    parsed ||
    req.readableDidRead ||
    req.readableEnded ||
    req.readableFlowing === true ||
    req.readableEncoding !== null ||
    req.listenerCount('data') > 0
  );
}

/**
 * Whether the last byte is here: Node tells so (`complete`) one turn after it has given it, and of requests that no
 * parser made (`inject` of Fastify) never. RFC 9112 §6.3: of two lengths the chunked one counts.
 */
function isWhole(req: IncomingMessage, readBytes: number): boolean {
  if (req.complete) return true;
  const { 'transfer-encoding': chunked, 'content-length': length } = req.headers;
  return chunked === undefined && readBytes === Number(length);
}

/** Everything buffered of a complete body; read() without the exact size would emit `end`. */
function takeBuffered(req: IncomingMessage): Uint8Array | BodyRead {
  if (req.destroyed) return ABORTED;
  return req.readableLength === 0 ? EMPTY : ((req.read(req.readableLength) as Uint8Array | null) ?? EMPTY);
}

function collect(req: IncomingMessage, sizeMax: number): Promise<Uint8Array | BodyRead> {
  if (req.destroyed) return Promise.resolve(ABORTED);
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const done = (result: Uint8Array | BodyRead): void => {
      req.off('readable', onReadable);
      req.off('error', onLost);
      req.off('close', onLost);
      resolve(result);
    };
    const onLost = (): void => done(ABORTED);
    const onReadable = (): void => {
      if (req.readableLength > 0) {
        const chunk = req.read(req.readableLength) as Uint8Array | null;
        if (chunk !== null) {
          size += chunk.byteLength;
          chunks.push(chunk);
        }
      }
      if (size > sizeMax) done({ kind: 'too-large' });
      else if (isWhole(req, size))
        done(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, size));
    };
    req.on('readable', onReadable);
    req.on('error', onLost);
    req.on('close', onLost);
  });
}

function bounded(raw: Uint8Array, decoded: Uint8Array, sizeMax: number): BodyRead {
  return decoded.byteLength > sizeMax ? { kind: 'too-large' } : { kind: 'body', raw, decoded, kept: null };
}
