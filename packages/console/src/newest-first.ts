/**
 * Records from the newest back, a page at a time.
 *
 * Invariants: a page begins where the last one ended, also among records of one millisecond · a statement gives a
 * hundred whole records, and more only where so many are of one millisecond · of those at most a thousand can be told
 * apart: the rest of theirs is passed over, and it is said.
 */

import { hashKey, type SamekeyRecord } from 'samekey';
import type { Operator, OperatorListRequest } from 'samekey/operator';
import { ConsoleFault } from './fault.ts';

/** Of one statement: they are read whole, with what they hold. */
export const PAGE = 100;
/** That a store gives at once, and so of one millisecond. */
export const SEEN_MAX = 1_000;

/** Where a page ended: at this time, with these of its records seen. */
interface Cursor {
  readonly at: number;
  readonly seen: readonly string[];
}

/** What is new on a page. */
interface Page {
  readonly fresh: readonly SamekeyRecord[];
  readonly isLast: boolean;
}

/** Reads what comes after the cursor: so many, or fewer at the end. */
export async function readPage(
  operator: Operator,
  filter: OperatorListRequest,
  cursor: Cursor | null,
  most: number,
): Promise<Page> {
  const before: OperatorListRequest = cursor === null ? {} : { createdBefore: Math.floor(cursor.at) + 1 };
  // The records of the cursor's millisecond come again.
  const limit = Math.min(SEEN_MAX, most + (cursor?.seen.length ?? 0));
  const page = await operator.list({ ...filter, ...before, limit });
  return { fresh: page.filter((record) => !isSeen(record, cursor)), isLast: page.length < limit };
}

/** The cursor behind a record. */
export function after(record: SamekeyRecord, before: Cursor | null): Cursor {
  const at = Math.floor(record.createdAt);
  const seen = before !== null && before.at === at ? before.seen : [];
  return { at, seen: [...seen, hashKey(record)] };
}

/** Whether the rest of the cursor's millisecond cannot be told apart from what was seen. */
export function isFull({ seen }: Cursor): boolean {
  return seen.length >= SEEN_MAX;
}

/** The newest of a filter, each as `take` leaves it: no page is held longer than it is looked at. */
export async function newest<Taken>(
  operator: Operator,
  filter: OperatorListRequest,
  most: number,
  take: (record: SamekeyRecord) => Taken,
): Promise<readonly Taken[]> {
  const taken: Taken[] = [];
  for (let cursor: Cursor | null = null; ; ) {
    const page: Page = await readPage(operator, filter, cursor, Math.min(PAGE, most - taken.length));
    for (const record of page.fresh) {
      cursor = after(record, cursor);
      taken.push(take(record));
    }
    if (page.isLast || page.fresh.length === 0 || taken.length >= most) return taken.slice(0, most);
  }
}

/** A cursor as the page keeps it. */
export function textOfCursor({ at, seen }: Cursor): string {
  return `${at}.${seen.join('.')}`;
}

/** Of a key; nothing where none was seen. */
const HASH = /^(?:[\w-]{16})?$/;

/** Reads one. Throws `ConsoleFault` for what is none. */
export function cursorOf(text: string | undefined): Cursor | null {
  if (text === undefined) return null;
  const [at = '', ...seen] = text.split('.', SEEN_MAX + 2);
  if (!/^\d{1,16}$/.test(at) || seen.length > SEEN_MAX || !seen.every((hash) => HASH.test(hash)))
    throw new ConsoleFault(400, 'bad-request', 'The cursor is none that this console has given.');
  return { at: Number(at), seen };
}

function isSeen(record: SamekeyRecord, cursor: Cursor | null): boolean {
  if (cursor === null) return false;
  return Math.floor(record.createdAt) === cursor.at && cursor.seen.includes(hashKey(record));
}
