/**
 * One text for every way to write a JSON value: what a retry may change without being another request (F28, F29).
 *
 * Invariants: equal texts exactly for equal values. Members are sorted by the UTF-16 code units of their decoded names;
 * white space is gone; a string has one spelling (`\u0061` is `a`); numbers are exact (see json-number.ts); repeated
 * members are all kept, in their order; half surrogate pairs stay apart. The syntax is RFC 8259 and nothing else. One
 * leading byte order mark is ignored (§8.1 allows it, and so do the parsers behind us). Nesting is bounded, and so
 * is the stack; a body that is not JSON is no error: the caller compares its bytes.
 * Sources: RFC 8259; order of members and spelling of strings as RFC 8785 §3.2.2.2 and §3.2.3.
 */
import { canonicalNumber } from './json-number.ts';
import type { PathTree } from './path-tree.ts';

/** Deepest nesting of arrays and objects that is read. */
export const DEPTH_MAX = 512;

/** The canonical text, or why there is none. */
export type CanonicalJson =
  | { readonly kind: 'canonical'; readonly text: string }
  | { readonly kind: 'invalid-utf8' | 'syntax' | 'too-deep' };

/** What to look at: members picked (then all others are left out), and members left out. */
export interface Selection {
  readonly pick?: PathTree | undefined;
  readonly omit?: PathTree | undefined;
}

interface Cursor {
  readonly text: string;
  at: number;
  /** Whether the string read last had escapes. */
  escaped: boolean;
}

interface Member {
  readonly name: string;
  readonly text: string;
}

class Fault extends Error {
  readonly kind: 'syntax' | 'too-deep';

  constructor(kind: 'syntax' | 'too-deep') {
    super(kind);
    this.kind = kind;
  }
}

/** Up to this many members, an insertion sort is faster than the engine's own sort: it calls no comparator. */
const INSERTION_MAX = 32;

const utf8 = new TextDecoder('utf-8', { fatal: true });
const NOTHING: Selection = {};

/** The canonical text of a JSON body, of all its members or of a selection of them. Never throws. */
export function canonicalJson(bytes: Uint8Array, selection: Selection = NOTHING): CanonicalJson {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { kind: 'invalid-utf8' };
  }
  const cursor: Cursor = { text, at: 0, escaped: false };
  try {
    skipSpace(cursor);
    const canonical = readValue(cursor, 0, selection.pick, selection.omit);
    skipSpace(cursor);
    return cursor.at === text.length ? { kind: 'canonical', text: canonical } : { kind: 'syntax' };
  } catch (error) {
    if (error instanceof Fault) return { kind: error.kind };
    throw error;
  }
}

function readValue(
  cursor: Cursor,
  depth: number,
  pick: PathTree | undefined,
  omit: PathTree | undefined,
): string {
  switch (cursor.text.charCodeAt(cursor.at)) {
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
): string {
  if (depth > DEPTH_MAX) throw new Fault('too-deep');
  const members: Member[] = [];
  let sorted = true;
  let last = '';
  cursor.at++;
  skipSpace(cursor);
  if (takes(cursor, 0x7d)) return '{}';
  do {
    skipSpace(cursor);
    if (cursor.text.charCodeAt(cursor.at) !== 0x22) throw new Fault('syntax');
    const spelling = readString(cursor);
    const name = cursor.escaped ? (JSON.parse(spelling) as string) : spelling.slice(1, -1);
    skipSpace(cursor);
    expect(cursor, 0x3a);
    skipSpace(cursor);
    const picked = pick?.members.get(name);
    const omitted = omit?.members.get(name);
    const value = readValue(cursor, depth, picked?.whole === true ? undefined : picked, omitted);
    skipSpace(cursor);
    if ((pick !== undefined && picked === undefined) || omitted?.whole === true) continue;
    if (name < last) sorted = false;
    last = name;
    members.push({ name, text: `${spelling}:${value}` });
  } while (takes(cursor, 0x2c));
  expect(cursor, 0x7d);
  if (!sorted) sortMembers(members);
  let out = '{';
  for (const member of members) out += out.length === 1 ? member.text : `,${member.text}`;
  return `${out}}`;
}

/** Sorts by name; repeated members keep their order. */
function sortMembers(members: Member[]): void {
  if (members.length > INSERTION_MAX) {
    members.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return;
  }
  for (let i = 1; i < members.length; i++) {
    const member = members[i] as Member;
    let at = i;
    for (; at > 0 && member.name < (members[at - 1] as Member).name; at--)
      members[at] = members[at - 1] as Member;
    members[at] = member;
  }
}

function readArray(
  cursor: Cursor,
  depth: number,
  pick: PathTree | undefined,
  omit: PathTree | undefined,
): string {
  if (depth > DEPTH_MAX) throw new Fault('too-deep');
  // Paths that name no index were not meant for an array: picking by them would leave nothing to compare.
  const pickHere = pick?.indexed === true ? pick : undefined;
  let out = '[';
  cursor.at++;
  skipSpace(cursor);
  if (takes(cursor, 0x5d)) return '[]';
  let index = 0;
  do {
    skipSpace(cursor);
    const picked = pickHere?.members.get(String(index));
    const omitted = omit?.indexed === true ? omit.members.get(String(index)) : undefined;
    index++;
    const value = readValue(cursor, depth, picked?.whole === true ? undefined : picked, omitted);
    skipSpace(cursor);
    if ((pickHere !== undefined && picked === undefined) || omitted?.whole === true) continue;
    out += out.length === 1 ? value : `,${value}`;
  } while (takes(cursor, 0x2c));
  expect(cursor, 0x5d);
  return `${out}]`;
}

/** The string's one spelling, with quotes: what `JSON.stringify` gives, which is well-formed also for half pairs. */
function readString(cursor: Cursor): string {
  const { text, at: start } = cursor;
  let at = start + 1;
  let escaped = false;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === 0x22) break;
    if (code === 0x5c) {
      escaped = true;
      at += 2;
    } else if (code >= 0x20) {
      at++;
    } else {
      // A control character, or NaN at the end of the text.
      throw new Fault('syntax');
    }
  }
  cursor.at = at + 1;
  cursor.escaped = escaped;
  const spelling = text.slice(start, at + 1);
  if (!escaped) return spelling;
  try {
    return JSON.stringify(JSON.parse(spelling));
  } catch {
    throw new Fault('syntax');
  }
}

function readNumber(cursor: Cursor): string {
  const { text, at: start } = cursor;
  const negative = text.charCodeAt(start) === 0x2d;
  const integerAt = negative ? start + 1 : start;
  // A leading zero stands alone: the digit after it is then refused by whoever reads on.
  let at = text.charCodeAt(integerAt) === 0x30 ? integerAt + 1 : skipDigits(text, integerAt);
  const integerEnd = at;
  let fraction = '';
  if (text.charCodeAt(at) === 0x2e) {
    at = skipDigits(text, integerEnd + 1);
    fraction = text.slice(integerEnd + 1, at);
  }
  let exponent = '';
  if ((text.charCodeAt(at) | 0x20) === 0x65) {
    const exponentAt = at + 1;
    const sign = text.charCodeAt(exponentAt);
    at = skipDigits(text, sign === 0x2b || sign === 0x2d ? exponentAt + 1 : exponentAt);
    exponent = text.slice(exponentAt, at);
  }
  cursor.at = at;
  // Most numbers are integers that end in another digit than 0: canonical as they stand.
  if (at === integerEnd && text.charCodeAt(at - 1) !== 0x30) return text.slice(start, at);
  return canonicalNumber(negative, text.slice(integerAt, integerEnd), fraction, exponent);
}

/** The end of the digits at `at`; at least one is required. */
function skipDigits(text: string, at: number): number {
  let end = at;
  for (let code = text.charCodeAt(end); code >= 0x30 && code <= 0x39; code = text.charCodeAt(end)) end++;
  if (end === at) throw new Fault('syntax');
  return end;
}

function readLiteral(cursor: Cursor, literal: string): string {
  if (!cursor.text.startsWith(literal, cursor.at)) throw new Fault('syntax');
  cursor.at += literal.length;
  return literal;
}

function skipSpace(cursor: Cursor): void {
  const { text } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    cursor.at++;
  }
}

function takes(cursor: Cursor, code: number): boolean {
  if (cursor.text.charCodeAt(cursor.at) !== code) return false;
  cursor.at++;
  return true;
}

function expect(cursor: Cursor, code: number): void {
  if (!takes(cursor, code)) throw new Fault('syntax');
}
