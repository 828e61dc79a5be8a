/**
 * Keys that can be made again: for producers on a server, which cannot keep a key but know what they intend. Not part
 * of `@samekey/client`: a browser has no secret to keep.
 *
 * Sources: RFC 9562 §5.8 (version 8: bits of our own).
 */

import { OptionsError } from './client-error.ts';

/**
 * The same key for the same parts, wherever it is made: HMAC-SHA-256 of the parts under `secret`, as a UUID of version
 * 8. For producers that cannot keep a key: take what names the intent (`['refund', refundId]`), never what may recur on
 * purpose, such as customer and amount (F24). Throws `OptionsError` for no parts, or a secret of less than 16 bytes.
 */
export async function derivedKey(secret: string | Uint8Array, parts: readonly string[]): Promise<string> {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret;
  if (bytes.byteLength < 16 || parts.length === 0)
    throw new OptionsError('derivedKey takes a secret of at least 16 bytes and at least one part.');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes as BufferSource, algorithm, false, ['sign']);
  // JSON keeps the parts apart: ['a', 'bc'] is not ['ab', 'c'].
  const text = new TextEncoder().encode(JSON.stringify(parts.map(String)));
  return uuidV8(new Uint8Array(await crypto.subtle.sign('HMAC', key, text)));
}

/** The first 16 bytes as a UUID of version 8. */
function uuidV8(bytes: Uint8Array): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
