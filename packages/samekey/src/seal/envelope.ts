/**
 * How sealed bytes stand in a column that also holds clear ones, from before sealing was switched on. As bytes: a mark,
 * the length of the key's id, the id, the seal. As text: a mark, the id, the seal in base64url, with dots between.
 *
 * Invariant: what Samekey writes clear never looks like an envelope: the byte mark begins with a byte that begins no
 * UTF-8 text, the text mark with a letter that begins no JSON. (An input of a codec of yours that is no text could, if
 * its client chose the bytes; it would not open, and never be taken for another.)
 */

import { SEALED_TEXT } from '../store/seal-marks.ts';
import type { Seal } from './ring.ts';

/** The last byte, and the digit in {@link TEXT_MARK}, is the version of the envelope. */
const MARK: readonly number[] = [0x89, 0x73, 0x6b, 0x73, 0x65, 0x61, 0x6c, 0x01];
const TEXT_MARK = SEALED_TEXT;
const KEY_ID = /^[\u{21}-\u{7e}]{1,255}$/u;

/** The envelope of a seal, as bytes. Throws for an id that no envelope can hold. */
export function envelopeBytes({ keyId, bytes }: Seal): Uint8Array {
  checkKeyId(keyId);
  const start = MARK.length + 1 + keyId.length;
  const envelope = new Uint8Array(start + bytes.length);
  envelope.set(MARK);
  envelope[MARK.length] = keyId.length;
  for (let i = 0; i < keyId.length; i += 1) envelope[MARK.length + 1 + i] = keyId.charCodeAt(i);
  envelope.set(bytes, start);
  return envelope;
}

/** The envelope of a seal, as text. Throws for an id that no envelope can hold. */
export function envelopeText({ keyId, bytes }: Seal): string {
  checkKeyId(keyId);
  return `${TEXT_MARK}${keyId}.${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')}`;
}

/** The seal in an envelope; null for what is clear. */
export function sealInBytes(value: Uint8Array): Seal | null {
  if (value.length <= MARK.length || MARK.some((byte, i) => value[i] !== byte)) return null;
  const start = MARK.length + 1 + (value[MARK.length] ?? 0);
  const keyId = String.fromCharCode(...value.subarray(MARK.length + 1, start));
  return { keyId, bytes: value.subarray(start) };
}

/** The seal in an envelope; null for what is clear. */
export function sealInText(value: string): Seal | null {
  if (!value.startsWith(TEXT_MARK)) return null;
  const end = value.lastIndexOf('.');
  return {
    keyId: value.slice(TEXT_MARK.length, end),
    bytes: new Uint8Array(Buffer.from(value.slice(end + 1), 'base64url')),
  };
}

function checkKeyId(keyId: string): void {
  if (!KEY_ID.test(keyId)) {
    throw new Error('A sealing key has an id that cannot be kept: use 1–255 printable characters of ASCII.');
  }
}
