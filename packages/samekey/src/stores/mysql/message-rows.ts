/**
 * Messages as rows of MySQL: reading, locking, writing, and nothing decided. As with records, whatever is written was
 * read under the row's lock in the same transaction, and the write repeats the state and the lease it was read with.
 */

import type { StoredMessage } from '../../store/message.ts';
import type { RecordId } from '../../core/record.ts';
import { MESSAGE_COLUMNS, messageOf, messageValues } from '../sql/message-row.ts';
import { exact, number } from '../sql/record-row.ts';
import { bytesOf, decoded, literalOf, numberOf } from './literals.ts';
import type { Ask, SqlRow } from './client.ts';
import type { Lock } from './records.ts';
import { WRITABLE } from './session.ts';
import { quote, type Tables } from './tables.ts';

/** A message as it was read. */
export interface SeenMessage {
  readonly message: StoredMessage;
  /** The server's time of the reading, in milliseconds. */
  readonly now: number;
}

/** What is to become of a message that was seen; null deletes it. */
export interface MessageChange {
  readonly before: StoredMessage;
  readonly after: StoredMessage | null;
}

/** With a character set; the others hold bytes or numbers. */
const TEXTS: ReadonlySet<string> = new Set(['state', 'provider_id', 'last_error', 'headers', 'payload']);
/** Counted from the server's time of the statement, where a message comes in. */
const FROM_NOW: ReadonlySet<string> = new Set(['due_at', 'created_at']);

/** The columns that {@link seenMessage} reads, of a row called `m`. */
export function messageColumns({ now }: Tables): string {
  return `${now} AS now, m.place, ${MESSAGE_COLUMNS.map((name) => `m.${quote(name)}`).join(', ')}`;
}

/** A row in {@link messageColumns}. */
export function seenMessage(row: SqlRow): SeenMessage {
  const [now, place, ...values] = row;
  const message = messageOf(place, (column) => decoded(values[MESSAGE_COLUMNS.indexOf(column)]));
  return { now: number(now), message };
}

/** The names of the columns of {@link insertedRow}. */
export const INSERTED: string = MESSAGE_COLUMNS.map(quote).join(', ');

/** A new message's values; it was made for time 0, and the server adds its time. */
export function insertedRow(message: StoredMessage, now: string): string {
  const cells = messageValues(message).map((value, i) => {
    const name = MESSAGE_COLUMNS[i] ?? '';
    const literal = literalOf(value, TEXTS.has(name));
    if (!FROM_NOW.has(name)) return literal;
    return name === 'created_at' ? `${now} + ${literal} + ${WRITABLE}` : `${now} + ${literal}`;
  });
  return `(${cells.join(', ')})`;
}

/**
 * Locks the rows of these places; what is not there is missing. Waits: only statements of ours hold a message that was
 * committed.
 */
export async function lockPlaces(
  ask: Ask,
  tables: Tables,
  places: readonly number[],
): Promise<Map<number, SeenMessage>> {
  if (places.length === 0) return new Map();
  const rows = await ask(
    `SELECT ${messageColumns(tables)} FROM ${tables.messages} AS m FORCE INDEX (PRIMARY) ` +
      `WHERE m.place IN (${placesOf(places)}) ORDER BY m.place FOR UPDATE`,
  );
  return byPlace(rows);
}

/** Those of these ids that are dead, locked or as they are; each once. */
export async function readDead(
  ask: Ask,
  tables: Tables,
  ids: readonly string[],
  lock: Lock,
): Promise<readonly SeenMessage[]> {
  if (ids.length === 0) return [];
  const rows = await ask(
    `SELECT ${messageColumns(tables)} FROM ${tables.messages} AS m FORCE INDEX (samekey_messages_dead) ` +
      `WHERE m.dead_id IN (${[...new Set(ids)].map(bytesOf).join(', ')}) ORDER BY m.dead_id ${lock}`,
  );
  const byId = new Map(rows.map(seenMessage).map((seen) => [seen.message.id, seen]));
  return [...new Set(ids)].flatMap((id) => byId.get(id) ?? []);
}

/** Deletes the dead letters of records that are erased. */
export async function dropDeadOf(ask: Ask, { messages }: Tables, ids: readonly RecordId[]): Promise<void> {
  if (ids.length === 0) return;
  const owners = ids.map(
    ({ scope, key }) => `m.dead_scope = ${bytesOf(scope)} AND m.${quote('key')} = ${bytesOf(key)}`,
  );
  const rows = await ask(
    `SELECT m.place FROM ${messages} AS m FORCE INDEX (samekey_messages_dead_owner) WHERE ${owners.join(' OR ')} FOR UPDATE`,
  );
  if (rows.length > 0)
    await ask(`DELETE FROM ${messages} WHERE place IN (${placesOf(rows.map((row) => number(row[0])))})`);
}

/** The first of each group that is not dead, as last committed; by one step in the index for each. */
export async function firstOf(
  ask: Ask,
  { messages }: Tables,
  groups: Iterable<string>,
): Promise<readonly { readonly place: number; readonly parked: boolean }[]> {
  const parts = [...new Set(groups)].map(
    (group) =>
      `(SELECT m.place, m.parked FROM ${messages} AS m FORCE INDEX (samekey_messages_line) ` +
      `WHERE m.line = ${bytesOf(exact(group))} ORDER BY m.line, m.place LIMIT 1)`,
  );
  if (parts.length === 0) return [];
  const rows = await ask(parts.join(' UNION ALL '));
  return rows.map(([place, parked]) => ({ place: number(place), parked: number(parked) === 1 }));
}

/** Writes and deletes rows that are locked. By CASE, as those of records. */
export async function writeMessages(
  ask: Ask,
  { messages }: Tables,
  changes: readonly MessageChange[],
): Promise<void> {
  const gone = changes.filter(({ after }) => after === null);
  if (gone.length > 0) {
    const fences = gone.map(({ before }) => `(${fence('', before)})`);
    await ask(`DELETE FROM ${messages} WHERE (${fences.join(' OR ')}) AND (${WRITABLE}) = 0`);
  }
  const rows = changes.flatMap(({ before, after }) =>
    after === null ? [] : [{ message: before, before: messageValues(before), after: messageValues(after) }],
  );
  const sets = MESSAGE_COLUMNS.flatMap((name, i) => {
    if (rows.every(({ before, after }) => before[i] === after[i])) return [];
    const cells = rows.map(({ message, after }) => ({
      place: message.place,
      text: literalOf(after[i] ?? null, TEXTS.has(name)),
    }));
    const isOne = cells.every(({ text }) => text === cells[0]?.text);
    const value = isOne
      ? cells[0]?.text
      : `CASE m.place ${cells.map(({ place, text }) => `WHEN ${numberOf(place)} THEN ${text}`).join(' ')} END`;
    return [`m.${quote(name)} = ${value}`];
  });
  if (sets.length === 0) return;
  const fences = rows.map(({ message }) => `(${fence('m.', message)})`).join(' OR ');
  await ask(
    `UPDATE ${messages} AS m FORCE INDEX (PRIMARY) SET ${sets.join(', ')} WHERE (${fences}) AND (${WRITABLE}) = 0`,
  );
}

function fence(alias: string, { place, state, started, leaseId }: StoredMessage): string {
  const lease = leaseId === null ? 'IS NULL' : `= ${bytesOf(leaseId)}`;
  return `${alias}place = ${numberOf(place)} AND ${alias}state = ${literalOf(state, true)} AND ${alias}started = ${numberOf(started)} AND ${alias}lease_id ${lease}`;
}

function byPlace(rows: readonly SqlRow[]): Map<number, SeenMessage> {
  return new Map(rows.map(seenMessage).map((seen) => [seen.message.place, seen]));
}

function placesOf(places: readonly number[]): string {
  return [...new Set(places)].map(numberOf).join(', ');
}
