/**
 * One text for every way to write a JSON value: what a retry may change without being another request (F28, F29).
 *
 * Invariants: equal texts exactly for equal values. Members are sorted by the UTF-16 code units of their decoded names;
 * white space is gone; a string has one spelling (`\u0061` is `a`); numbers are exact (see json-number.ts); repeated
 * members are all kept, in their order; half surrogate pairs stay apart. The syntax is RFC 8259 and nothing else. One
 * leading byte order mark is ignored (§8.1 allows it, and so do the parsers behind us). Nesting is bounded, and so
 * is the stack; a body that is not JSON is no error: the caller compares its bytes.
 *
 * It goes over the bytes once and writes bytes, in place where members must be sorted: a text for each member and value would be
 * 11 KB of garbage for 1 KB of JSON.
 * Sources: RFC 8259; order of members and spelling of strings as RFC 8785 §3.2.2.2 and §3.2.3.
 */
import { type ByteWriter, byteWriter, reserve, written } from './byte-writer.ts';
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
import type { PathTree } from './path-tree.ts';

/** Deepest nesting of arrays and objects that is read. */
export const DEPTH_MAX = 512;

/** The canonical text, or why there is none. */
export type CanonicalJson = { readonly kind: 'canonical'; readonly text: string } | { readonly kind: NoJson };

/** Why bytes have no canonical text. */
export type NoJson = 'invalid-utf8' | 'syntax' | 'too-deep';

/** What to look at: members picked (then all others are left out), and members left out. */
export interface Selection {
  readonly pick?: PathTree | undefined;
  readonly omit?: PathTree | undefined;
}

/** A member in what was written: from its name to the end of its value. */
interface Member {
  readonly start: number;
  readonly nameEnd: number;
  readonly end: number;
  readonly plain: boolean;
  /** Decoded when it must be: once, however often it is compared. */
  name: string | undefined;
}

/** Up to this many members, an insertion sort is faster than the engine's own sort: it calls no comparator. */
const INSERTION_MAX = 32;
/** Below this a loop beats a call, in bytes. */
const SHORT = 64;

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
  const cursor: Cursor = { bytes, at: hasMark ? 3 : 0, out, wide: false, plain: false };
  let kind: 'canonical' | NoJson = 'canonical';
  try {
    skipSpace(cursor);
    readValue(cursor, 0, selection.pick, selection.omit);
    skipSpace(cursor);
    if (cursor.at !== bytes.length) kind = 'syntax';
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
  cursor: Cursor,
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
  cursor: Cursor,
  depth: number,
  pick: PathTree | undefined,
  omit: PathTree | undefined,
): void {
  if (depth > DEPTH_MAX) throw new Fault('too-deep');
  const { out } = cursor;
  const selects = pick !== undefined || omit !== undefined;
  const members: Member[] = [];
  writeCode(out, 0x7b);
  const first = out.length;
  let sorted = true;
  cursor.at++;
  skipSpace(cursor);
  if (takes(cursor, 0x7d)) return writeCode(out, 0x7d);
  do {
    skipSpace(cursor);
    if (cursor.bytes[cursor.at] !== 0x22) throw new Fault('syntax');
    const before = out.length;
    if (members.length > 0) writeCode(out, COMMA);
    const start = out.length;
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
      continue;
    }
    const member: Member = { start, nameEnd, end: out.length, plain, name: undefined };
    const last = members.at(-1);
    if (last !== undefined && sorted) sorted = !isBefore(out.bytes, member, last);
    members.push(member);
  } while (takes(cursor, COMMA));
  expect(cursor, 0x7d);
  if (!sorted) sortMembers(out, members, first);
  writeCode(out, 0x7d);
}

/** Puts the members that begin at `first` into order; repeated ones keep theirs. */
function sortMembers(out: ByteWriter, members: Member[], first: number): void {
  if (members.length > INSERTION_MAX) {
    members.sort((a, b) => (isBefore(out.bytes, a, b) ? -1 : isBefore(out.bytes, b, a) ? 1 : 0));
  } else {
    for (let i = 1; i < members.length; i++) {
      const member = members[i] as Member;
      let at = i;
      for (; at > 0 && isBefore(out.bytes, member, members[at - 1] as Member); at--)
        members[at] = members[at - 1] as Member;
      members[at] = member;
    }
  }
  // Copied behind what is there, then back: no two members need the same room.
  const { length } = out;
  reserve(out, length - first);
  const { bytes } = out;
  let at = length;
  for (const { start, end } of members) {
    if (at > length) bytes[at++] = COMMA;
    if (end - start > SHORT) bytes.copyWithin(at, start, end);
    else for (let i = start; i < end; i++) bytes[at + i - start] = bytes[i] as number;
    at += end - start;
  }
  bytes.copyWithin(first, length, at);
}

/** Whether the name of `a` comes before that of `b`. */
function isBefore(bytes: Uint8Array, a: Member, b: Member): boolean {
  if (!a.plain || !b.plain) return decoded(bytes, a) < decoded(bytes, b);
  // Without the quotes, of which the last would count as a character.
  const lengthA = a.nameEnd - a.start - 1;
  const lengthB = b.nameEnd - b.start - 1;
  for (let i = 1; i < lengthA && i < lengthB; i++) {
    const difference = (bytes[a.start + i] as number) - (bytes[b.start + i] as number);
    if (difference !== 0) return difference < 0;
  }
  return lengthA < lengthB;
}

function decoded(bytes: Uint8Array, member: Member): string {
  member.name ??= nameOf(bytes, member.start, member.nameEnd, member.plain);
  return member.name;
}

function readArray(
  cursor: Cursor,
  depth: number,
  pick: PathTree | undefined,
  omit: PathTree | undefined,
): void {
  if (depth > DEPTH_MAX) throw new Fault('too-deep');
  // Paths that name no index were not meant for an array: picking by them would leave nothing to compare.
  const pickHere = pick?.indexed === true ? pick : undefined;
  const { out } = cursor;
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
    if ((pickHere !== undefined && picked === undefined) || omitted?.whole === true) out.length = before;
  } while (takes(cursor, COMMA));
  expect(cursor, 0x5d);
  writeCode(out, 0x5d);
}
