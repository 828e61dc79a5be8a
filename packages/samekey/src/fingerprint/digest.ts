/**
 * What must be the same on a repeat, as bytes to make a digest of: one form for equal JSON values (members sorted,
 * numbers exact), and bytes as they are.
 *
 * Invariant: bytes never equal a value, by a leading byte.
 */

import { canonicalJson } from './canonical-json.ts';
import { ValueError } from '../core/errors.ts';
import { comparedJsonOf } from './json-value.ts';

/**
 * What can be compared: plain JSON (members may be absent), or bytes alone. Types say what they can; instances of a
 * class, NaN, a bigint or a date inside are refused when they come.
 */
export type Comparable =
  | null
  | boolean
  | number
  | string
  | ArrayBuffer
  | ArrayBufferView
  | readonly unknown[]
  | { readonly [name: string]: unknown }
  | (object & NotOpaque);

/**
 * What no plain object has: it tells those that keep their contents elsewhere (Map, Set, Date, Promise, FormData, Blob
 * …).
 */
interface NotOpaque {
  readonly [Symbol.iterator]?: never;
  readonly [Symbol.toPrimitive]?: never;
  readonly [Symbol.toStringTag]?: never;
  readonly [Symbol.hasInstance]?: never;
  readonly [Symbol.match]?: never;
  readonly arrayBuffer?: never;
}

const VALUE_FORM = 1;
const BYTES_FORM = 2;

/**
 * The bytes to make a digest of. `what` begins the message. Throws `ValueError` for what is neither plain JSON nor
 * bytes.
 */
export function comparableBytes(what: string, value: unknown): Uint8Array {
  const bytes = bytesOf(value);
  if (bytes !== null) return withForm(BYTES_FORM, bytes);
  const text = comparedJsonOf(what, value);
  if (text === undefined) {
    throw new ValueError('not-json', '', `${what} is missing: pass null if nothing is to be compared.`);
  }
  const canonical = canonicalJson(new TextEncoder().encode(text));
  if (canonical.kind === 'canonical') return withForm(VALUE_FORM, new TextEncoder().encode(canonical.text));
  throw new ValueError('not-json', '', `${what} cannot be compared (${canonical.kind}): pass bytes instead.`);
}

function bytesOf(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const kind = typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : '';
  return kind === '[object ArrayBuffer]' || kind === '[object SharedArrayBuffer]'
    ? new Uint8Array(value as ArrayBuffer)
    : null;
}

function withForm(form: number, bytes: Uint8Array): Uint8Array {
  const marked = new Uint8Array(bytes.length + 1);
  marked[0] = form;
  marked.set(bytes, 1);
  return marked;
}
