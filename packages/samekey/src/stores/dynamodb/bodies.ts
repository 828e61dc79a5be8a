/**
 * Bytes that no item can hold (400 KB an item, F50) go to a store of the user's, such as S3. They are put before the
 * item that names them is written, under a name used once that ends with their digest, and deleted after no item names
 * them: a process that dies in between leaves bytes that nobody names (`orphans.ts`), never an item that names nothing.
 */

import { StoreError } from '../../core/errors.ts';
import type { AttributeValue, Item } from './client.ts';

/**
 * Keeps bytes by name; `s3Bodies` and `fileBodies` make such. Throwing fails the verb that needed it; nothing was
 * written then. What stands before the first `/` of a name is the id of the table that put it, so that tables may share
 * a place.
 */
export interface BodyStore {
  /** Resolves once the bytes are durable: the record that names them is written next. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Null: not there (any more). */
  get(name: string): Promise<Uint8Array | null>;
  /** Also succeeds when there is none. */
  delete(name: string): Promise<void>;
  /** At most `limit` names of one table that come after `after`, in the order of their characters; for `reapBodies`. */
  list?(tableId: string, after: string | null, limit: number): Promise<readonly string[]>;
}

/**
 * The bodies as one table sees them. A copy of a table reads what its original has put; it deletes only what it has put
 * itself, as the original may still need the rest.
 */
export interface TableBodies {
  /** Resolves with the whole name, which a record then holds. Throws `StoreError`: nothing was written. */
  put(name: string, bytes: Uint8Array): Promise<string>;
  /** By its whole name; null: not there (any more). Throws `StoreError`. */
  get(place: string): Promise<Uint8Array | null>;
  /** Without an error if it cannot be reached: bytes that stay cost room and nothing else. */
  discard(places: readonly string[]): Promise<void>;
  /** What this table has put, as in `BodyStore`; undefined if they cannot be listed. */
  readonly list: ((after: string | null, limit: number) => Promise<readonly string[]>) | undefined;
}

/** Makes the view of the table whose id `tableId` finds; it is asked for when it is needed. */
export function tableBodies(bodies: BodyStore, tableId: () => Promise<string>): TableBodies {
  return {
    async put(name, bytes) {
      const place = `${await tableId()}/${name}`;
      await asStoreError(bodies.put(place, bytes));
      return place;
    },
    get: (place) => asStoreError(bodies.get(place)),
    async discard(places) {
      if (places.length === 0) return;
      const own = `${await tableId()}/`;
      for (const place of places)
        if (place.startsWith(own)) await bodies.delete(place).catch(() => undefined);
    },
    list:
      bodies.list === undefined
        ? undefined
        : async (after, limit) => (await bodies.list?.(await tableId(), after, limit)) ?? [],
  };
}

/** What may be put elsewhere. */
export const PARTS = ['response_body', 'input', 'steps'] as const;
export type Part = (typeof PARTS)[number];

/** DynamoDB's limit is 400 KB with names and overhead; keys, indexes and audit rows need some of it. */
export const ITEM_SIZE_MAX_BYTES = 380_000;

/** An item's size as DynamoDB counts it, near enough and never too small. */
function itemBytes(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + name.length + valueBytes(value), 100);
}

function valueBytes(value: AttributeValue): number {
  if ('B' in value) return value.B.byteLength;
  if ('S' in value) return new TextEncoder().encode(value.S).byteLength;
  if ('L' in value) return value.L.reduce((sum, each) => sum + 1 + valueBytes(each), 3);
  if ('M' in value) return itemBytes(value.M);
  return 'N' in value ? 21 : 1;
}

/** The attribute that names where a part is. */
export function placeOf(part: Part): string {
  return `${part}_at`;
}

/** Where the parts of an item are that are not in it. */
export function placesIn(item: Item | null): readonly string[] {
  if (item === null) return [];
  return PARTS.map((part) => item[placeOf(part)]).flatMap((value) =>
    value !== undefined && 'S' in value ? [value.S] : [],
  );
}

/** The item as it fits, and the names of what was put elsewhere for it. `same`: parts that are where they were. */
export async function fitting(
  item: Item,
  bodies: TableBodies | undefined,
  name: string,
  same: Item,
): Promise<{ readonly item: Item; readonly put: readonly string[] }> {
  const fit: Record<string, AttributeValue> = { ...item };
  for (const part of PARTS) {
    const place = same[placeOf(part)];
    if (place === undefined || fit[part] === undefined) continue;
    delete fit[part];
    fit[placeOf(part)] = place;
  }
  const put: string[] = [];
  for (const part of PARTS.toSorted((a, b) => sizeOf(fit[b]) - sizeOf(fit[a]))) {
    const value = fit[part];
    if (value === undefined || itemBytes(fit) <= ITEM_SIZE_MAX_BYTES) continue;
    delete fit[part];
    if (bodies === undefined) {
      // The answer stays known, and is met as one whose body was not kept (contract §4, 7a).
      if (part !== 'response_body') throw tooLarge();
      continue;
    }
    const bytes = bytesOf(value);
    const place = await bodies.put(`${name}.${part}.${await sumOf(bytes)}`, bytes);
    put.push(place);
    fit[placeOf(part)] = { S: place };
  }
  if (itemBytes(fit) > ITEM_SIZE_MAX_BYTES) throw tooLarge();
  return { item: fit, put };
}

/**
 * The item with its parts back in it. An answer that is gone is one whose body was not kept; anything else gone is an
 * error.
 */
export async function whole(item: Item, bodies: TableBodies | undefined): Promise<Item> {
  if (placesIn(item).length === 0) return item;
  const filled: Record<string, AttributeValue> = { ...item };
  for (const part of PARTS) {
    const place = item[placeOf(part)];
    if (place === undefined || !('S' in place)) continue;
    const read = bodies === undefined ? null : await bodies.get(place.S);
    // Other bytes than were put are no answer of anybody's.
    const bytes = read !== null && place.S.endsWith(`.${await sumOf(read)}`) ? read : null;
    if (bytes !== null)
      filled[part] = part === 'steps' ? { S: new TextDecoder().decode(bytes) } : { B: plain(bytes) };
    else if (part !== 'response_body') {
      const why =
        bodies === undefined
          ? `The ${part} of a record is in a body store, and this store was opened without one: pass bodies (a command: --app).`
          : `The ${part} of a record is not in the body store any more, or not as it was put: look at the record before it runs.`;
      throw new StoreError(why, { applied: 'no', transient: false });
    }
  }
  return filled;
}

async function asStoreError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new StoreError('The body store failed: nothing was written.', { applied: 'no', cause });
  }
}

/** Bytes are found by their digest, so that what was cut off, or written over, is known not to be them. */
async function sumOf(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function tooLarge(): StoreError {
  return new StoreError(
    'A record is larger than a DynamoDB item can be (400 KB): pass `bodies`, or limit inputs and steps.',
    { applied: 'no', transient: false },
  );
}

function sizeOf(value: AttributeValue | undefined): number {
  return value === undefined ? 0 : valueBytes(value);
}

function bytesOf(value: AttributeValue): Uint8Array {
  if ('B' in value) return value.B;
  return new TextEncoder().encode('S' in value ? value.S : '');
}

/** A Buffer would be equal in content and behave differently. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
