/**
 * The parts of a multipart/form-data body, without its boundary: a retry picks another one and is the same request
 * (F32).
 *
 * Invariants: every byte outside of the parts is boundary syntax, or the body is malformed and is compared by bytes;
 * nothing in a part is ignored. Linear in the body. Sources: RFC 7578 §4; RFC 2046 §5.1.1.
 */
import { parseContentType } from './content-type.ts';

/** One part. Texts are byte strings (one character per byte), so that no name is lost to a wrong charset. */
export interface Part {
  readonly name: string;
  readonly filename: string | null;
  readonly contentType: string | null;
  /** What else stands in the part's head, in order: names in lower case and values, and disposition parameters. */
  readonly others: readonly string[];
  readonly body: Uint8Array;
}

const CR = 0x0d;
const DASH = 0x2d;
/** Longest head of a part, in bytes. */
const HEAD_BYTES_MAX = 16_384;
const HEAD_END = [CR, 0x0a, CR, 0x0a];

/** The parts in their order, or null if the boundary is missing or the body is malformed. */
export function parseMultipart(body: Uint8Array, boundary: string | undefined): Part[] | null {
  if (boundary === undefined || !/^[ -~]{1,70}$/.test(boundary)) return null;
  const delimiter = [CR, 0x0a, DASH, DASH, ...Array.from(boundary, (character) => character.charCodeAt(0))];
  // The first delimiter has no line end before it: no preamble is taken.
  if (!startsWith(body, delimiter.slice(2), 0)) return null;
  const parts: Part[] = [];
  let at = delimiter.length - 2;
  for (;;) {
    if (body[at] === DASH && body[at + 1] === DASH) return isLineEnd(body, at + 2) ? parts : null;
    const start = afterPadding(body, at);
    if (start === null) return null;
    const headEnd = find(body, HEAD_END, start, start + HEAD_BYTES_MAX);
    if (headEnd < 0) return null;
    // From the empty line on: a delimiter right after the head would use its line end.
    const end = find(body, delimiter, headEnd + 2, body.length);
    if (end < headEnd + 4) return null;
    const part = readPart(binaryText(body, start, headEnd), body.subarray(headEnd + 4, end));
    if (part === null) return null;
    parts.push(part);
    at = end + delimiter.length;
  }
}

function readPart(head: string, body: Uint8Array): Part | null {
  let disposition: string | null = null;
  let contentType: string | null = null;
  const others: string[] = [];
  for (const line of head.split('\r\n')) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*)$/.exec(line) ?? [];
    if (name === '') return null;
    const lower = name.toLowerCase();
    if (lower === 'content-disposition' && disposition === null) disposition = value;
    else if (lower === 'content-type' && contentType === null) contentType = value.trimEnd();
    else others.push(lower, value.trimEnd());
  }
  const { essence, parameters, isComplete } = parseContentType(disposition ?? undefined);
  const name = parameters.get('name');
  if (essence !== 'form-data' || name === undefined || !isComplete) return null;
  for (const [key, value] of parameters) {
    if (key !== 'name' && key !== 'filename') others.push(`;${key}`, value);
  }
  return { name, filename: parameters.get('filename') ?? null, contentType, others, body };
}

/** Where the line after a delimiter starts; null if anything but white space stands before it. */
function afterPadding(body: Uint8Array, from: number): number | null {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x09) at++;
  return body[at] === CR && body[at + 1] === 0x0a ? at + 2 : null;
}

function isLineEnd(body: Uint8Array, at: number): boolean {
  return at === body.length || afterPadding(body, at) === body.length;
}

function find(body: Uint8Array, bytes: readonly number[], from: number, to: number): number {
  for (let at = body.indexOf(CR, from); at >= 0 && at < to; at = body.indexOf(CR, at + 1)) {
    if (startsWith(body, bytes, at)) return at;
  }
  return -1;
}

function startsWith(body: Uint8Array, bytes: readonly number[], at: number): boolean {
  return bytes.every((byte, index) => body[at + index] === byte);
}

function binaryText(body: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...body.subarray(start, end));
}
