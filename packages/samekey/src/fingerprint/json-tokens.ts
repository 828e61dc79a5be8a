/**
 * The tokens of JSON for `canonical-json.ts`: strings, numbers and literals, read from bytes and written in their one
 * spelling.
 *
 * Invariants: nothing is read past the end; a token is written whole or a {@link Fault} is thrown; most tokens are
 * copied as they stand, and only what is spelt in another way is decoded. Whether the bytes are UTF-8 is for the caller
 * to check, who is told that some are not ASCII (`wide`).
 * Sources: RFC 8259 §6 and §7; the spelling of strings is that of `JSON.stringify` (RFC 8785 §3.2.2.2).
 */
import { type ByteWriter, reserve, writeUtf8 } from './byte-writer.ts';
import { canonicalNumber } from './json-number.ts';

/** A place in a text, and what has been written of it so far. */
export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  readonly out: ByteWriter;
  /** Whether some of what was read is not ASCII. */
  wide: boolean;
  /** Whether the string read last is its own name: ASCII without escapes. */
  plain: boolean;
}

/** Why a text is not read to its end. */
export class Fault extends Error {
  readonly kind: 'syntax' | 'too-deep';

  constructor(kind: 'syntax' | 'too-deep') {
    super(kind);
    this.kind = kind;
  }
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;

/**
 * By the character after a backslash: 1 where that is how `JSON.stringify` writes it, 2 where it writes it otherwise.
 */
const ESCAPES = new Uint8Array(256);
for (const character of '"\\bfnrt') ESCAPES[character.charCodeAt(0)] = 1;
for (const character of '/u') ESCAPES[character.charCodeAt(0)] = 2;

/** A string. The cursor stands at its first quote. */
export function readString(cursor: Cursor): void {
  const { bytes, at: start } = cursor;
  let at = start + 1;
  let wide = false;
  let escaped = false;
  let respelt = false;
  for (; ; at++) {
    if (at >= bytes.length) throw new Fault('syntax');
    const code = bytes[at] as number;
    if (code === QUOTE) break;
    if (code < 0x20) throw new Fault('syntax');
    if (code >= 0x80) wide = true;
    else if (code === BACKSLASH) {
      const kind = ESCAPES[bytes[++at] ?? 0];
      if (kind === 0) throw new Fault('syntax');
      escaped = true;
      if (kind === 2) respelt = true;
    }
  }
  at++;
  cursor.at = at;
  if (wide) cursor.wide = true;
  cursor.plain = !wide && !escaped;
  if (respelt) respell(cursor, start);
  else copy(cursor, start, at);
}

/** The string read from `start` on, as `JSON.stringify` gives it, which is well-formed also for half pairs. */
function respell({ bytes, at, out }: Cursor, start: number): void {
  let spelling: string;
  try {
    spelling = JSON.stringify(JSON.parse(textOf(bytes, start, at)));
  } catch {
    // An escape with other than four hexadecimal digits.
    throw new Fault('syntax');
  }
  writeUtf8(out, spelling);
}

/** The name in a spelling of {@link readString}: its bytes in what was written. */
export function nameOf(bytes: Uint8Array, start: number, end: number, plain: boolean): string {
  const text = textOf(bytes, start, end);
  return plain ? text.slice(1, -1) : (JSON.parse(text) as string);
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return utf8.decode(bytes.subarray(start, end));
}

/** A number. */
export function readNumber(cursor: Cursor): void {
  const { bytes, at: start } = cursor;
  const negative = bytes[start] === 0x2d;
  const integerAt = negative ? start + 1 : start;
  // A leading zero stands alone: the digit after it is then refused by whoever reads on.
  let at = bytes[integerAt] === ZERO ? integerAt + 1 : skipDigits(bytes, integerAt);
  const integerEnd = at;
  if (bytes[at] === 0x2e) at = skipDigits(bytes, integerEnd + 1);
  const fractionEnd = at;
  let exponentAt = -1;
  if (((bytes[at] ?? 0) | 0x20) === 0x65) {
    exponentAt = at + 1;
    const sign = bytes[exponentAt];
    at = skipDigits(bytes, sign === 0x2b || sign === 0x2d ? exponentAt + 1 : exponentAt);
  }
  cursor.at = at;
  // Most numbers are integers that end in another digit than 0: canonical as they stand.
  if (at === integerEnd && bytes[at - 1] !== ZERO) return copy(cursor, start, at);
  const fraction = fractionEnd > integerEnd ? asciiText(bytes, integerEnd + 1, fractionEnd) : '';
  const exponent = exponentAt < 0 ? '' : asciiText(bytes, exponentAt, at);
  writeAscii(
    cursor.out,
    canonicalNumber(negative, asciiText(bytes, integerAt, integerEnd), fraction, exponent),
  );
}

/** The end of the digits at `at`; at least one is required. */
function skipDigits(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && isDigit(bytes[end] as number)) end++;
  if (end === at) throw new Fault('syntax');
  return end;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= 0x39;
}

/** `true`, `false` or `null`. */
export function readLiteral(cursor: Cursor, literal: string): void {
  const { bytes, at } = cursor;
  for (let i = 0; i < literal.length; i++) {
    if (bytes[at + i] !== literal.charCodeAt(i)) throw new Fault('syntax');
  }
  cursor.at = at + literal.length;
  copy(cursor, at, cursor.at);
}

/** Below this a loop beats a call of `set` on a view, in bytes. */
const SHORT = 64;

function copy({ bytes, out }: Cursor, start: number, end: number): void {
  const to = reserve(out, end - start);
  const target = out.bytes;
  if (end - start > SHORT) target.set(bytes.subarray(start, end), to);
  else for (let i = start; i < end; i++) target[to + i - start] = bytes[i] as number;
  out.length = to + end - start;
}

/** A few digits: a decoder's call costs more than they do. */
function asciiText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > SHORT) return textOf(bytes, start, end);
  let text = '';
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i] as number);
  return text;
}

function writeAscii(out: ByteWriter, text: string): void {
  const at = reserve(out, text.length);
  for (let i = 0; i < text.length; i++) out.bytes[at + i] = text.charCodeAt(i);
  out.length = at + text.length;
}

/** Writes one ASCII character. */
export function writeCode(out: ByteWriter, code: number): void {
  const at = reserve(out, 1);
  out.bytes[at] = code;
  out.length = at + 1;
}

/** Moves over white space. */
export function skipSpace(cursor: Cursor): void {
  const { bytes } = cursor;
  while (cursor.at < bytes.length) {
    const code = bytes[cursor.at];
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    cursor.at++;
  }
}

/** Moves over the character if it stands there. */
export function takes(cursor: Cursor, code: number): boolean {
  if (cursor.at >= cursor.bytes.length || cursor.bytes[cursor.at] !== code) return false;
  cursor.at++;
  return true;
}

/** Moves over the character, which must stand there. */
export function expect(cursor: Cursor, code: number): void {
  if (!takes(cursor, code)) throw new Fault('syntax');
}
