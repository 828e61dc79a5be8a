/**
 * Undoes the content codings of a request body, within limits: a small body that grows without end when decoded stops
 * at the limit, and layers beyond two are refused before the first is undone.
 *
 * Sources: RFC 9110 §8.4 (several codings are undone from the last to the first; `x-gzip` is `gzip`; "deflate" is the
 * zlib format, though raw deflate is met in the field), RFC 8878 (zstd).
 */
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { contentCodings, TOO_MANY_CODINGS } from '../http/content-codings.ts';

/** What came of decoding; `unknown` when a coding is not one of gzip, deflate, br (and zstd where Node has it). */
type Decoded =
  | { readonly kind: 'decoded'; readonly bytes: Uint8Array }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'bad'; readonly detail: string }
  | { readonly kind: 'unknown' };

type Decode = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const gunzip = promisify(zlib.gunzip) as Decode;
const inflate = promisify(zlib.inflate) as Decode;
const inflateRaw = promisify(zlib.inflateRaw) as Decode;

const DECODERS = new Map<string, Decode>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', (bytes, options) => (isZlib(bytes) ? inflate : inflateRaw)(bytes, options)],
  ['br', promisify(zlib.brotliDecompress) as Decode],
]);
// Since Node 22.15.
const { zstdDecompress } = zlib as { zstdDecompress?: typeof zlib.gunzip };
if (zstdDecompress !== undefined) DECODERS.set('zstd', promisify(zstdDecompress) as Decode);

/** Decodes `bytes` by the value of `Content-Encoding`; `sizeMax` in bytes bounds every step. */
export async function decodeContent(bytes: Uint8Array, coding: string, sizeMax: number): Promise<Decoded> {
  const names = contentCodings(coding);
  if (names === null) return { kind: 'bad', detail: TOO_MANY_CODINGS };
  const decoders = names.map((name) => DECODERS.get(name));
  if (decoders.includes(undefined)) return { kind: 'unknown' };
  let decoded = bytes;
  for (const decode of decoders.toReversed()) {
    if (decoded.byteLength === 0) break;
    try {
      decoded = await (decode as Decode)(decoded, { maxOutputLength: sizeMax });
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'too-large' };
      return { kind: 'bad', detail: `The body is not what its Content-Encoding (${names.join(', ')}) says.` };
    }
  }
  return { kind: 'decoded', bytes: decoded };
}

/** RFC 1950 §2.2: compression method 8, and the first two bytes are a multiple of 31. */
function isZlib(bytes: Uint8Array): boolean {
  const [cmf = 0, flags = 0] = bytes;
  return (cmf & 0x0f) === 8 && ((cmf << 8) | flags) % 31 === 0;
}
