/**
 * Values as SQL text. Bytes and texts are written as hexadecimal digits, so nothing hangs on how a driver quotes, on
 * NO_BACKSLASH_ESCAPES, or on the character set of the connection; no value can end a literal.
 *
 * Sources: https://dev.mysql.com/doc/refman/8.0/en/hexadecimal-literals.html,
 * https://mariadb.com/kb/en/hexadecimal-literals/.
 */

import { InvariantError } from '../../core/errors.ts';
import type { ColumnValue } from '../sql/record-row.ts';

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Bytes; a text as its UTF-8. Compared byte by byte: case and trailing blanks count (F35). */
export function bytesOf(value: string | Uint8Array): string {
  const bytes = typeof value === 'string' ? encoder.encode(value) : value;
  return `X'${hexOf(bytes)}'`;
}

/** A text for a column that is one. */
export function textOf(value: string): string {
  return `_utf8mb4 ${bytesOf(value)}`;
}

/** A whole number. */
export function numberOf(value: number | bigint): string {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    // A fraction of a millisecond says nothing; what is no number at all is a bug above.
    if (!Number.isFinite(value)) throw new InvariantError('a number for SQL is not finite');
    return String(Math.round(value));
  }
  return String(value);
}

/** A value for a column; `asText` for columns with a character set. */
export function literalOf(value: ColumnValue, asText: boolean): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number' || typeof value === 'bigint') return numberOf(value);
  return asText && typeof value === 'string' ? textOf(value) : bytesOf(value);
}

/** A text that came as bytes or as text. */
export function decoded(value: unknown): unknown {
  return ArrayBuffer.isView(value) ? decoder.decode(value) : value;
}

function hexOf(bytes: Uint8Array): string {
  // Node's own is ten times as fast; other runtimes have it soon: https://tc39.es/proposal-arraybuffer-base64/.
  const { Buffer } = globalThis as {
    readonly Buffer?: {
      from(data: ArrayBufferLike, offset: number, length: number): { toString(form: 'hex'): string };
    };
  };
  if (Buffer !== undefined)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
  let text = '';
  for (const byte of bytes) text += HEX[byte] ?? '';
  return text;
}
