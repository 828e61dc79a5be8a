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
export interface Member {
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
}

/** Bodies as people write them are moved at once: few have more levels of which each is out of order. */
const MOVES_PER_BYTE = 4;
/** Up to this many members, an insertion sort is faster than the engine's own sort. */
const INSERTION_MAX = 32;
/** Below this a loop beats a call, in bytes. */
const SHORT = 64;
const COMMA = 0x2c;

/** Begins, for a text of `size` bytes. */
export function memberOrder(size: number): MemberOrder {
  return { movable: size * MOVES_PER_BYTE, noted: [] };
}

/**
 * Puts the members that begin at `first` and end where `out` does into order, now or at the end; `low` objects had been
 * noted before.
 */
export function sortMembers(
  order: MemberOrder,
  out: ByteWriter,
  members: Member[],
  first: number,
  low: number,
): void {
  sort(out.bytes, members);
  const { length } = out;
  if (order.noted.length > 0 || length - first > order.movable) {
    order.noted.push({ first, end: length, low, members });
    return;
  }
  order.movable -= length - first;
  // Copied behind what is there, then back: no two members need the same room.
  reserve(out, length - first);
  const { bytes } = out;
  let at = length;
  for (const { start, end } of members) {
    if (at > length) bytes[at++] = COMMA;
    at = copy(bytes, at, start, end);
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

function sort(bytes: Uint8Array, members: Member[]): void {
  if (members.length > INSERTION_MAX) {
    members.sort((a, b) => compareNames(bytes, a, b));
    return;
  }
  for (let i = 1; i < members.length; i++) {
    const member = members[i] as Member;
    let at = i;
    for (; at > 0 && compareNames(bytes, member, members[at - 1] as Member) < 0; at--)
      members[at] = members[at - 1] as Member;
    members[at] = member;
  }
}

/** Negative where the name of `a` comes before that of `b`, 0 for one name. */
export function compareNames(bytes: Uint8Array, a: Member, b: Member): number {
  if (!a.plain || !b.plain) {
    const nameA = decoded(bytes, a);
    const nameB = decoded(bytes, b);
    return nameA < nameB ? -1 : nameA > nameB ? 1 : 0;
  }
  // Without the quotes, of which the last would count as a character.
  const lengthA = a.nameEnd - a.start - 1;
  const lengthB = b.nameEnd - b.start - 1;
  for (let i = 1; i < lengthA && i < lengthB; i++) {
    const difference = (bytes[a.start + i] as number) - (bytes[b.start + i] as number);
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}

function decoded(bytes: Uint8Array, member: Member): string {
  member.name ??= nameOf(bytes, member.start, member.nameEnd, member.plain);
  return member.name;
}
