/**
 * Puts the members of JSON objects in order, in the bytes that were written of them: by the UTF-16 code units of their
 * decoded names, repeated ones as they came.
 *
 * Invariant: what is moved stays within a few times the body, however deep it is nested. Moving an object at once is
 * cheapest, but its bytes would be moved again with each object around it; beyond the bound objects are only noted, and
 * all of it is moved once at the end.
 */
import { type ByteWriter, reserve } from './byte-writer.ts';
import { nameOf } from './json-tokens.ts';

/** A member in what was written: from its name to the end of its value. */
interface Member {
  readonly start: number;
  readonly nameEnd: number;
  readonly end: number;
  /** Whether its name is ASCII without escapes. */
  readonly plain: boolean;
  /** Which of the noted objects are in its value: from `low` up to `high`. */
  readonly low: number;
  readonly high: number;
  /** Decoded when it must be: once, however often it is compared. */
  name: string | undefined;
}

/** An object whose members are still where they were written; they are listed in order. */
interface Noted {
  /** Where its first member begins. */
  readonly first: number;
  readonly end: number;
  /** The first noted object within it. */
  readonly low: number;
  readonly members: readonly Member[];
}

/** The order of one text. */
export interface MemberOrder {
  /** Bytes that may still be moved at once. */
  movable: number;
  /** While there are any, nothing is moved. An object comes after those within it. */
  readonly noted: Noted[];
  /**
   * The members of the objects that are being read, six numbers each ({@link Member} without its name): an object for
   * each member would be the largest part of what a request leaves to the collector.
   */
  members: Int32Array;
  /** Where the next member goes; an object takes its members away at its end. */
  top: number;
}

/** Numbers of a member. */
const MEMBER = 6;
/** The room for members that texts use one after another: none is read while another one is. */
let shared = new Int32Array(256 * MEMBER);
/** Room that a large text has needed is not kept, in numbers. */
const SHARED_MAX = 4096 * MEMBER;

/** Bodies as people write them are moved at once: few have more levels of which each is out of order. */
const MOVES_PER_BYTE = 4;
/** Up to this many members, an insertion sort where they stand is faster than the engine's own sort. */
const INSERTION_MAX = 32;
/** Below this a loop beats a call, in bytes. */
const SHORT = 64;
const COMMA = 0x2c;

/** Begins, for a text of `size` bytes. */
export function memberOrder(size: number): MemberOrder {
  return { movable: size * MOVES_PER_BYTE, noted: [], members: shared, top: 0 };
}

/** Adds a member of the object whose first one stands at `base`; whether it comes before the one in front of it. */
export function pushMember(
  order: MemberOrder,
  base: number,
  { bytes, length }: ByteWriter,
  start: number,
  nameEnd: number,
  plain: boolean,
  low: number,
): boolean {
  const { top } = order;
  if (top + MEMBER > order.members.length) {
    const grown = new Int32Array(order.members.length * 2);
    grown.set(order.members);
    order.members = grown;
    if (grown.length <= SHARED_MAX) shared = grown;
  }
  const { members } = order;
  members[top] = start;
  members[top + 1] = nameEnd;
  members[top + 2] = length;
  members[top + 3] = plain ? 1 : 0;
  members[top + 4] = low;
  members[top + 5] = order.noted.length;
  order.top = top + MEMBER;
  return top > base && compareAt(members, bytes, top, top - MEMBER) < 0;
}

/**
 * Puts the members from `base` on, which begin at `first` and end where `out` does, into order, now or at the end;
 * `low` objects had been noted before.
 */
export function sortMembers(
  order: MemberOrder,
  out: ByteWriter,
  base: number,
  first: number,
  low: number,
): void {
  const { members, top } = order;
  const { length } = out;
  const isNoted = order.noted.length > 0 || length - first > order.movable;
  if (isNoted || !sortShort(members, out.bytes, base, top)) {
    const list = listOf(members, base, top).toSorted((a, b) => compareNames(out.bytes, a, b));
    if (isNoted) {
      order.noted.push({ first, end: length, low, members: list });
      return;
    }
    for (const [i, { start, end }] of list.entries()) {
      members[base + i * MEMBER] = start;
      members[base + i * MEMBER + 2] = end;
    }
  }
  order.movable -= length - first;
  // Copied behind what is there, then back: no two members need the same room.
  reserve(out, length - first);
  const { bytes } = out;
  let at = length;
  for (let i = base; i < top; i += MEMBER) {
    if (at > length) bytes[at++] = COMMA;
    at = copy(bytes, at, members[i] as number, members[i + 2] as number);
  }
  bytes.copyWithin(first, length, at);
}

/** What was written from `from` on is taken back. */
export function takeBack({ noted }: MemberOrder, from: number): void {
  while ((noted.at(-1)?.first ?? -1) >= from) noted.pop();
}

/** The end of a text that was written from `start` on: moves what was noted. */
export function endOrder({ noted }: MemberOrder, out: ByteWriter, start: number): void {
  if (noted.length === 0) return;
  const { length } = out;
  const size = length - start;
  reserve(out, size);
  const { bytes } = out;
  // From the end on, because of several objects side by side the last one is known, and how many are in it.
  let at = length + size;

  function back(from: number, to: number): void {
    at -= to - from;
    copy(bytes, at, from, to);
  }

  /** What stands from `from` to `to`, in which the objects from `low` up to `high` are. */
  function write(from: number, to: number, low: number, high: number): void {
    let end = to;
    for (let i = high - 1; i >= low; ) {
      const object = noted[i] as Noted;
      const { members } = object;
      back(object.end, end);
      for (let place = members.length - 1; place >= 0; place--) {
        const member = members[place] as Member;
        write(member.start, member.end, member.low, member.high);
        if (place > 0) bytes[--at] = COMMA;
      }
      end = object.first;
      i = object.low - 1;
    }
    back(from, end);
  }

  write(start, length, 0, noted.length);
  bytes.copyWithin(start, length, length + size);
}

/** Returns where what was copied ends. */
function copy(bytes: Uint8Array, at: number, start: number, end: number): number {
  if (end - start > SHORT) bytes.copyWithin(at, start, end);
  else for (let i = start; i < end; i++) bytes[at + i - start] = bytes[i] as number;
  return at + end - start;
}

/** Sorts few members with plain names where they stand; false: they are many, or have other names. */
function sortShort(members: Int32Array, bytes: Uint8Array, base: number, top: number): boolean {
  if (top - base > INSERTION_MAX * MEMBER) return false;
  for (let i = base; i < top; i += MEMBER) if (members[i + 3] === 0) return false;
  for (let i = base + MEMBER; i < top; i += MEMBER) {
    let at = i;
    while (at > base && compareAt(members, bytes, i, at - MEMBER) < 0) at -= MEMBER;
    if (at === i) continue;
    for (let n = 0; n < MEMBER; n++) {
      const moved = members[i + n] as number;
      for (let to = i + n; to > at + n; to -= MEMBER) members[to] = members[to - MEMBER] as number;
      members[at + n] = moved;
    }
  }
  return true;
}

function listOf(members: Int32Array, base: number, top: number): Member[] {
  const list: Member[] = [];
  for (let i = base; i < top; i += MEMBER) {
    list.push({
      start: members[i] as number,
      nameEnd: members[i + 1] as number,
      end: members[i + 2] as number,
      plain: members[i + 3] === 1,
      low: members[i + 4] as number,
      high: members[i + 5] as number,
      name: undefined,
    });
  }
  return list;
}

/** Negative where the name of the member at `a` comes before that of the one at `b`, 0 for one name. */
function compareAt(members: Int32Array, bytes: Uint8Array, a: number, b: number): number {
  const startA = members[a] as number;
  const startB = members[b] as number;
  const endA = members[a + 1] as number;
  const endB = members[b + 1] as number;
  const [plainA, plainB] = [members[a + 3] === 1, members[b + 3] === 1];
  if (!plainA || !plainB) {
    const nameA = nameOf(bytes, startA, endA, plainA);
    const nameB = nameOf(bytes, startB, endB, plainB);
    return nameA < nameB ? -1 : nameA > nameB ? 1 : 0;
  }
  // Without the quotes, of which the last would count as a character.
  const lengthA = endA - startA - 1;
  const lengthB = endB - startB - 1;
  for (let i = 1; i < lengthA && i < lengthB; i++) {
    const difference = (bytes[startA + i] as number) - (bytes[startB + i] as number);
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}

/** As {@link compareAt}. */
function compareNames(bytes: Uint8Array, a: Member, b: Member): number {
  const nameA = decoded(bytes, a);
  const nameB = decoded(bytes, b);
  return nameA < nameB ? -1 : nameA > nameB ? 1 : 0;
}

function decoded(bytes: Uint8Array, member: Member): string {
  member.name ??= nameOf(bytes, member.start, member.nameEnd, member.plain);
  return member.name;
}
