/**
 * Writes parts one after another so that no two lists of parts give the same bytes: every part carries its length.
 *
 * Invariants: a part is four bytes of length (big-endian) and its bytes; text is UTF-8, and ill-formed text (half of a
 * surrogate pair, which UTF-8 cannot hold) is marked by the highest bit of the length and written as a JSON string.
 */

/** A growing buffer. Only the functions of this module change it. */
export interface ByteWriter {
  bytes: Uint8Array;
  length: number;
}

const encoder = new TextEncoder();
const LENGTH_BYTES = 4;
/** Below this length a loop beats a call of the encoder, in characters. */
const SHORT = 48;

/** An empty writer with room for `capacity` bytes. */
export function byteWriter(capacity: number): ByteWriter {
  return { bytes: new Uint8Array(capacity), length: 0 };
}

/** What was written so far; a view, good until the next write. */
export function written(writer: ByteWriter): Uint8Array {
  return writer.bytes.subarray(0, writer.length);
}

/** Appends a text as one part. */
export function writeText(writer: ByteWriter, text: string): void {
  if (text.length <= SHORT && writeShortAscii(writer, text)) return;
  const isWellFormed = wellFormed(text);
  const part = beginPart(writer);
  writeUtf8(writer, isWellFormed ? text : JSON.stringify(text));
  endPart(writer, part, isWellFormed ? 0 : 0x80);
}

/** Appends the UTF-8 of a well-formed text, without a length. */
export function writeUtf8(writer: ByteWriter, text: string): void {
  for (let rest = text; rest.length > 0; ) {
    reserve(writer, rest.length);
    const { read, written: count } = encoder.encodeInto(rest, writer.bytes.subarray(writer.length));
    writer.length += count;
    if (read === rest.length) break;
    rest = rest.slice(read);
    // A character takes up to three bytes for each of its code units.
    reserve(writer, rest.length * 3);
  }
}

/** Begins a part whose bytes are appended one after another; {@link endPart} wants what it returns. */
export function beginPart(writer: ByteWriter): number {
  const start = reserve(writer, LENGTH_BYTES);
  writer.length = start + LENGTH_BYTES;
  return start;
}

/** Ends a part: its length is known now. */
export function endPart(writer: ByteWriter, start: number, mark = 0): void {
  writeLength(writer, start, writer.length - start - LENGTH_BYTES, mark);
}

/** Appends bytes as one part. */
export function writeBytes(writer: ByteWriter, bytes: Uint8Array): void {
  const start = reserve(writer, LENGTH_BYTES + bytes.length);
  writer.bytes.set(bytes, start + LENGTH_BYTES);
  writer.length = start + LENGTH_BYTES + bytes.length;
  writeLength(writer, start, bytes.length, 0);
}

/** Appends how many parts follow, then each text as a part. */
export function writeTexts(writer: ByteWriter, texts: readonly string[]): void {
  writeCount(writer, texts.length);
  for (const text of texts) writeText(writer, text);
}

/** Appends a count of what follows. */
export function writeCount(writer: ByteWriter, count: number): void {
  const start = reserve(writer, LENGTH_BYTES);
  writer.length = start + LENGTH_BYTES;
  writeLength(writer, start, count, 0);
}

/** ES2024 has a fast test of its own; Node 20 has it, the oldest browsers do not. */
function wellFormed(text: string & { isWellFormed?(): boolean }): boolean {
  return text.isWellFormed?.() ?? !/\p{Surrogate}/u.test(text);
}

function writeShortAscii(writer: ByteWriter, text: string): boolean {
  const start = reserve(writer, LENGTH_BYTES + text.length);
  const { bytes } = writer;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return false;
    bytes[start + LENGTH_BYTES + i] = code;
  }
  writer.length = start + LENGTH_BYTES + text.length;
  writeLength(writer, start, text.length, 0);
  return true;
}

function writeLength(writer: ByteWriter, at: number, length: number, mark: number): void {
  const { bytes } = writer;
  bytes[at] = (length >>> 24) | mark;
  bytes[at + 1] = length >>> 16;
  bytes[at + 2] = length >>> 8;
  bytes[at + 3] = length;
}

/** Makes room for `count` bytes and returns where they go. */
export function reserve(writer: ByteWriter, count: number): number {
  const needed = writer.length + count;
  if (needed > writer.bytes.length) {
    const grown = new Uint8Array(Math.max(needed, writer.bytes.length * 2));
    grown.set(writer.bytes.subarray(0, writer.length));
    writer.bytes = grown;
  }
  return writer.length;
}
