/**
 * One text for every way to write a JSON value: what a retry may change without being another request (F28, F29).
 *
 * Invariants: equal texts exactly for equal values. Members are sorted by the UTF-16 code units of their decoded names;
 * white space is gone; a string has one spelling (`\u0061` is `a`); numbers are exact (see json-number.ts); repeated
 * members are all kept, in their order; half surrogate pairs stay apart. The syntax is RFC 8259 and nothing else. One
 * leading byte order mark is ignored (§8.1 allows it, and so do the parsers behind us). Nesting is bounded, and so
 * is the stack; a body that is not JSON is no error: the caller compares its bytes.
 *
 * It goes over the bytes once and writes bytes; members are put in order among these (`member-order.ts`): a text for
 * each member and value would be 11 KB of garbage for 1 KB of JSON.
 * Sources: RFC 8259; order of members and spelling of strings as RFC 8785 §3.2.2.2 and §3.2.3.
 */
import { type ByteWriter, byteWriter, written } from './byte-writer.ts';
import {
  type Cursor,
  expect,
  Fault,
  nameOf,
  readLiteral,
  readNumber,
  readString,
  skipSpace,
  takes,
  writeCode,
} from './json-tokens.ts';
import {
  endOrder,
  type MemberOrder,
  memberOrder,
  pushMember,
  sortMembers,
  takeBack,
} from './member-order.ts';
import type { PathTree } from './path-tree.ts';

/** A place in a text, and the order of its members. */
interface Reading extends Cursor {
  readonly order: MemberOrder;
}

/** Deepest nesting of arrays and objects that is read. */
export const DEPTH_MAX = 512;

/** The canonical text, or why there is none. */
type CanonicalJson = { readonly kind: 'canonical'; readonly text: string } | { readonly kind: NoJson };

/** Why bytes have no canonical text. */
type NoJson = 'invalid-utf8' | 'syntax' | 'too-deep';

/** What to look at: members picked (then all others are left out), and members left out. */
export interface Selection {
  readonly pick?: PathTree | undefined;
  readonly omit?: PathTree | undefined;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const NOTHING: Selection = {};
const COMMA = 0x2c;

/** The canonical text of a JSON body, of all its members or of a selection of them. Never throws. */
export function canonicalJson(bytes: Uint8Array, selection: Selection = NOTHING): CanonicalJson {
  const out = byteWriter(bytes.length);
  const kind = writeCanonicalJson(out, bytes, selection);
  return kind === 'canonical' ? { kind, text: utf8.decode(written(out)) } : { kind };
}

/** Appends the canonical text as UTF-8. What was appended of bytes that have none is the caller's to take back. */
export function writeCanonicalJson(
  out: ByteWriter,
  bytes: Uint8Array,
  selection: Selection,
): 'canonical' | NoJson {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const start = out.length;
  const order = memberOrder(bytes.length);
  const cursor: Reading = { bytes, at: hasMark ? 3 : 0, out, wide: false, plain: false, order };
  let kind: 'canonical' | NoJson = 'canonical';
  try {
    skipSpace(cursor);
    readValue(cursor, 0, selection.pick, selection.omit);
    skipSpace(cursor);
    if (cursor.at === bytes.length) endOrder(order, out, start);
    else kind = 'syntax';
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    kind = error.kind;
  }
  // Nearly every body is ASCII to its end.
  return (kind === 'canonical' && !cursor.wide) || isUtf8(bytes) ? kind : 'invalid-utf8';
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    utf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function readValue(
  cursor: Reading,
  depth: number,
  pick: PathTree | undefined,
  omit: PathTree | undefined,
): void {
  switch (cursor.bytes[cursor.at]) {
    case 0x22:
      return readString(cursor);
    case 0x7b:
      return readObject(cursor, depth + 1, pick, omit);
    case 0x5b:
      return readArray(cursor, depth + 1, pick, omit);
    case 0x74:
      return readLiteral(cursor, 'true');
    case 0x66:
      return readLiteral(cursor, 'false');
    case 0x6e:
      return readLiteral(cursor, 'null');
    default:
      return readNumber(cursor);
  }
}

function readObject(
  cursor: Reading,
  depth: number,
  pick: PathTree | undefined,
  omit: PathTree | undefined,
): void {
  if (depth > DEPTH_MAX) throw new Fault('too-deep');
  const { order, out } = cursor;
  const selects = pick !== undefined || omit !== undefined;
  const base = order.top;
  writeCode(out, 0x7b);
  const first = out.length;
  const low = order.noted.length;
  let sorted = true;
  cursor.at++;
  skipSpace(cursor);
  if (takes(cursor, 0x7d)) return writeCode(out, 0x7d);
  do {
    skipSpace(cursor);
    if (cursor.bytes[cursor.at] !== 0x22) throw new Fault('syntax');
    const before = out.length;
    if (order.top > base) writeCode(out, COMMA);
    const start = out.length;
    const noted = order.noted.length;
    readString(cursor);
    const nameEnd = out.length;
    const { plain } = cursor;
    skipSpace(cursor);
    expect(cursor, 0x3a);
    skipSpace(cursor);
    const name = selects ? nameOf(out.bytes, start, nameEnd, plain) : '';
    const picked = pick?.members.get(name);
    const omitted = omit?.members.get(name);
    writeCode(out, 0x3a);
    readValue(cursor, depth, picked?.whole === true ? undefined : picked, omitted);
    skipSpace(cursor);
    if ((pick !== undefined && picked === undefined) || omitted?.whole === true) {
      out.length = before;
      takeBack(order, before);
      continue;
    }
    if (pushMember(order, base, out, start, nameEnd, plain, noted)) sorted = false;
  } while (takes(cursor, COMMA));
  expect(cursor, 0x7d);
  if (!sorted) sortMembers(order, out, base, first, low);
  order.top = base;
  writeCode(out, 0x7d);
}

function readArray(
  cursor: Reading,
  depth: number,
  pick: PathTree | undefined,
  omit: PathTree | undefined,
): void {
  if (depth > DEPTH_MAX) throw new Fault('too-deep');
  // Paths that name no index were not meant for an array: picking by them would leave nothing to compare.
  const pickHere = pick?.indexed === true ? pick : undefined;
  const { order, out } = cursor;
  writeCode(out, 0x5b);
  const first = out.length;
  cursor.at++;
  skipSpace(cursor);
  if (takes(cursor, 0x5d)) return writeCode(out, 0x5d);
  let index = 0;
  do {
    skipSpace(cursor);
    const picked = pickHere?.members.get(String(index));
    const omitted = omit?.indexed === true ? omit.members.get(String(index)) : undefined;
    index++;
    const before = out.length;
    if (before > first) writeCode(out, COMMA);
    readValue(cursor, depth, picked?.whole === true ? undefined : picked, omitted);
    skipSpace(cursor);
    if ((pickHere !== undefined && picked === undefined) || omitted?.whole === true) {
      out.length = before;
      takeBack(order, before);
    }
  } while (takes(cursor, COMMA));
  expect(cursor, 0x5d);
  writeCode(out, 0x5d);
}
