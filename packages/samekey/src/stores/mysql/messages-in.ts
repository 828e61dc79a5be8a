/**
 * Messages come in: alone, in a user's transaction, or once more after they were dead.
 *
 * Invariant: in a group, places follow commits. Whoever puts messages into groups locks the groups' slots first, in one
 * order, until its transaction ends, and only then are places given (AUTO_INCREMENT, at the statement).
 */

import { StoreError } from '../../core/errors.ts';
import type { NewMessage, StoredMessage } from '../../store/message.ts';
import { decideEnqueue } from '../../store/machine/messages.ts';
import { numberOf } from './literals.ts';
import { INSERTED, insertedRow } from './message-rows.ts';
import type { Ask } from './client.ts';
import { checkIds } from './records.ts';
import { putReferences } from './references.ts';
import { GROUP_SLOTS, type Tables } from './tables.ts';

/** No literal holds it: they are digits. */
const NOW = ':now:';
/** A statement of this many rows or characters is sent, and another one begun. */
const ROWS_MAX = 500;
const LENGTH_MAX = 2 * 1024 * 1024;

/** Puts messages in. Inside a transaction if {@link needsTransaction} says so. */
export async function enqueue(ask: Ask, tables: Tables, all: readonly NewMessage[]): Promise<void> {
  // Made before anything is sent, so that a bad one stops nobody; the time is told when each is sent, after whatever
  // was waited for.
  const statements = insertStatements(
    { ...tables, now: NOW },
    all.map((message) => decideEnqueue(message, 0, 0)),
  );
  await lockGroups(ask, tables, all);
  for (const statement of statements) await ask(statement.replaceAll(NOW, tables.now));
  await putReferences(
    ask,
    tables,
    all.flatMap(({ owner, reference }) =>
      owner === null || reference === undefined ? [] : [{ owner, reference, effect: null }],
    ),
  );
}

/** Whether all of it is one statement that commits by itself. */
export function needsTransaction(all: readonly NewMessage[]): boolean {
  return all.length > 1 || all.some(({ group, reference }) => group !== null || reference !== undefined);
}

/** Messages that leave their place for one at the end of their group, with their own times. */
export async function enqueueAgain(ask: Ask, tables: Tables, all: readonly StoredMessage[]): Promise<void> {
  for (const statement of insertStatements({ ...tables, now: '0' }, all)) await ask(statement);
}

/** Locks the groups' slots until the transaction ends. Waits for whoever else puts messages into one of them. */
export async function lockGroups(
  ask: Ask,
  { groups }: Tables,
  all: readonly Pick<NewMessage, 'group'>[],
): Promise<void> {
  const slots = new Set(all.flatMap(({ group }) => (group === null ? [] : [slotOf(group)])));
  if (slots.size === 0) return;
  const wanted = [...slots].toSorted((a, b) => a - b).map(numberOf);
  const found = await ask(
    `SELECT slot FROM ${groups} FORCE INDEX (PRIMARY) WHERE slot IN (${wanted.join(', ')}) ORDER BY slot LIMIT ${slots.size} FOR UPDATE`,
  );
  if (found.length === slots.size) return;
  throw new StoreError(
    `The MySQL table ${groups} lacks rows, so messages of a group could overtake each other: restore it with the SQL that mysqlMigrations() prints.`,
    { applied: 'no', transient: false },
  );
}

/** FNV-1a; the same in every process for ever, or two of them would lock different rows for one group. */
export function slotOf(group: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < group.length; i += 1) hash = Math.imul(hash ^ group.charCodeAt(i), 0x01000193) >>> 0;
  return ((hash ^ (hash >>> 16)) >>> 0) % GROUP_SLOTS;
}

function insertStatements({ messages, now }: Tables, all: readonly StoredMessage[]): string[] {
  checkIds(all.flatMap(({ owner }) => owner ?? []));
  const batches: string[][] = [];
  let length = 0;
  for (const message of all) {
    const row = insertedRow(message, now);
    const batch = batches.at(-1);
    if (batch === undefined || batch.length === ROWS_MAX || length + row.length > LENGTH_MAX) {
      batches.push([row]);
      length = row.length;
    } else {
      batch.push(row);
      length += row.length;
    }
  }
  return batches.map((rows) => `INSERT INTO ${messages} (${INSERTED}) VALUES ${rows.join(', ')}`);
}
