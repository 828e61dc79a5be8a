/**
 * Bytes as an argument of a command. Clients write a command whose arguments are all text as one text, and assemble one
 * that holds bytes from pieces, at several times the cost: so bytes that are UTF-8 go as text, which the client makes
 * the same bytes of again.
 */

import { isUtf8 } from 'node:buffer';
import type { Argument } from './client.ts';

/** Longer ones are not worth looking through, in bytes. */
const TEXT_MAX_BYTES = 65_536;

/** The same bytes, as text where that is cheaper. */
export function textArgument(bytes: Uint8Array): Argument {
  if (bytes.length > TEXT_MAX_BYTES || !isUtf8(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}
