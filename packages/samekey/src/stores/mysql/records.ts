/**
 * Rows of records: reading, locking, writing what the state table decided. Whatever is written was read under the row's
 * lock in the same transaction, and the write repeats the fence it was read with. Our own transactions never wait for a
 * row that somebody else holds: it is skipped (SKIP LOCKED) and told as `busy`. A user's transaction waits, as it would
 * for any of its rows.
 *
 * How many rows a driver says were changed is looked at nowhere: MySQL counts what is different, and settings change
 * what it counts.
 */

import type { NewAuditRow } from '../../store/audit.ts';
import { StoreError } from '../../core/errors.ts';
import { serverView, type View } from '../../store/machine/index.ts';
import { idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import { exact, number, RECORD_COLUMNS, recordValues, rowRecord } from '../sql/record-row.ts';
import { BUSY, type Decide, type RowOf } from '../verbs/change.ts';
import { insertAudit } from './audit.ts';
import { idCondition } from './conditions.ts';
import { bytesOf, decoded, literalOf, numberOf } from './literals.ts';
import type { Ask, SqlRow } from './client.ts';
import { dropReferences } from './references.ts';
import { WRITABLE } from './session.ts';
import { BYTE_TEXTS, COLUMNS, quote, type Tables, TEXTS } from './tables.ts';

/** A record as it was read. */
export interface Seen {
  readonly record: SamekeyRecord;
  /** Its row. */
  readonly row: string;
  /** The time of the reading, in milliseconds. */
  readonly now: number;
  /** The server's clock, where it was ahead of that. */
  readonly laterNow: number;
}

/** By `idText`. */
export type SeenById = ReadonlyMap<string, Seen>;

/** How a row that somebody else holds is met. */
export type Lock = '' | 'FOR UPDATE' | 'FOR UPDATE SKIP LOCKED';

/** As bytes; InnoDB's index takes 3,072. */
const ID_BYTES_MAX = 1_024;

/** Throws `StoreError` for ids that the table cannot keep as they are. */
export function checkIds(ids: readonly RecordId[]): void {
  for (const { scope, key } of ids) {
    for (const text of [exact(scope), exact(key)]) {
      // A character takes three bytes at most for each of its code units.
      if (text.length * 3 <= ID_BYTES_MAX || new TextEncoder().encode(text).length <= ID_BYTES_MAX) continue;
      throw new StoreError(
        `A scope or key takes more than ${ID_BYTES_MAX} bytes, the most that MySQL can keep unique: use a digest of it.`,
        { applied: 'no', transient: false },
      );
    }
  }
}

/** Reads records, each once; ids without a record are missing. */
export async function read(
  ask: Ask,
  tables: Tables,
  ids: readonly RecordId[],
  lock: Lock,
): Promise<SeenById> {
  const found = new Map<string, Seen>();
  if (ids.length === 0) return found;
  for (const row of await ask(readStatement(tables, inOrder(ids), lock))) {
    const seen = seenOf(row);
    found.set(idText(seen.record), seen);
  }
  return found;
}

/** The columns that {@link seenOf} reads. */
export function seenColumns({ now, later }: Tables): string {
  return `${now} AS now, ${later} AS later, r.id AS id, ${COLUMNS}`;
}

/** What a decision on it goes by. */
export function viewOf({ heldMs }: Tables, before: SamekeyRecord | null, seen: Seen | undefined): View {
  return serverView(before, seen?.now ?? 0, seen?.laterNow, heldMs);
}

/** A row in {@link seenColumns}. */
export function seenOf(row: SqlRow): Seen {
  const fields: Record<string, unknown> = {};
  for (const [i, name] of RECORD_COLUMNS.entries()) {
    const value = row[i + 3];
    fields[name] = BYTE_TEXTS.has(name) || TEXTS.has(name) ? decoded(value) : value;
  }
  const record = rowRecord(fields);
  return { now: number(row[0]), laterNow: number(row[1]), row: String(row[2]), record };
}

/**
 * Row by row by the unique index, whatever the statistics say: a derived table first, then a look-up for each of its
 * rows.
 */
function readStatement(tables: Tables, ids: readonly RecordId[], lock: Lock): string {
  const first = ids[0];
  if (ids.length === 1 && first !== undefined) {
    return `SELECT ${seenColumns(tables)} FROM ${tables.records} AS r WHERE ${idCondition(first)} ${lock}`;
  }
  const rows = ids.map(({ scope, key }) => `SELECT ${bytesOf(scope)} AS scope, ${bytesOf(key)} AS ${KEY}`);
  return (
    `SELECT ${seenColumns(tables)} FROM (${rows.join(' UNION ALL ')}) AS q ` +
    `STRAIGHT_JOIN ${tables.records} AS r FORCE INDEX (samekey_identity) ON r.scope = q.scope AND r.${KEY} = q.${KEY} ${lock}`
  );
}

const KEY = quote('key');

/** What is to become of a record that was seen; null deletes it. */
interface Change {
  readonly seen: Seen;
  readonly write: SamekeyRecord | null;
}

/**
 * Decides and writes, one request after the other: a later one sees what an earlier one wrote. Inside a transaction.
 * Gives {@link BUSY} where the row could not be had: somebody else holds it, or it has come or gone meanwhile.
 */
export async function apply<Request extends RecordId, Result>(
  ask: Ask,
  tables: Tables,
  requests: readonly Request[],
  decide: Decide<Request, Result>,
  options: {
    readonly lock?: Lock;
    readonly rowOf?: RowOf<Request> | undefined;
    readonly isBusyWithout?: boolean;
  } = {},
): Promise<(Result | typeof BUSY)[]> {
  const { lock = 'FOR UPDATE SKIP LOCKED', rowOf, isBusyWithout = false } = options;
  const locked = await read(ask, tables, requests, lock);
  const missing = requests.filter((request) => !locked.has(idText(request)));
  // What is there and was not given is held by somebody.
  const held = lock === 'FOR UPDATE SKIP LOCKED' ? await read(ask, tables, missing, '') : new Map();
  const changes = new Map<string, Change>();
  const audit: NewAuditRow[] = [];
  const results = requests.map((request) => {
    const id = idText(request);
    const seen = locked.get(id);
    if (held.has(id) || (seen === undefined && isBusyWithout)) return BUSY;
    const change = changes.get(id);
    const before = change === undefined ? (seen?.record ?? null) : change.write;
    const { write, result } = decide(before, request, viewOf(tables, before, seen));
    if (write === undefined) return result;
    // Nothing but a claim makes a record.
    if (seen === undefined || before === null) return BUSY;
    changes.set(id, { seen, write });
    const row = rowOf?.(before, write, request);
    if (row !== undefined) audit.push(row);
    return result;
  });
  await writeChanges(ask, tables, [...changes.values()]);
  await insertAudit(ask, tables, audit);
  return results;
}

async function writeChanges(ask: Ask, tables: Tables, changes: readonly Change[]): Promise<void> {
  const gone = changes.filter(({ write }) => write === null);
  const written = changes.flatMap(({ seen, write }) => (write === null ? [] : [{ seen, write }]));
  if (gone.length > 0) {
    const fences = gone.map(({ seen }) => `(${fence('', seen)})`);
    await ask(`DELETE FROM ${tables.records} WHERE (${fences.join(' OR ')}) AND (${WRITABLE}) = 0`);
    await dropReferences(
      ask,
      tables,
      gone.map(({ seen }) => seen.row),
    );
  }
  const statement = updateStatement(tables, written);
  if (statement !== undefined) await ask(statement);
}

function fence(alias: string, { row, record: { claimId, attempt } }: Seen): string {
  return `${alias}id = ${row} AND ${alias}claim_id = ${bytesOf(claimId)} AND ${alias}attempt = ${numberOf(attempt)}`;
}

/**
 * Sets only columns that change in one of the rows: a renewal carries no body. By CASE, not by joining a table made of
 * the values: there MariaDB (10.11.19) cuts long values without a word, or ends.
 */
function updateStatement(
  { records }: Tables,
  changes: readonly { readonly seen: Seen; readonly write: SamekeyRecord }[],
): string | undefined {
  const rows = changes.map(({ seen, write }) => ({
    seen,
    before: recordValues(seen.record),
    after: recordValues(write),
  }));
  const columns = RECORD_COLUMNS.flatMap((name, i) =>
    rows.some(({ before, after }) => before[i] !== after[i]) ? [{ name, i }] : [],
  );
  if (columns.length === 0) return undefined;
  const sets = columns.map(({ name, i }) => {
    const cells = rows.map(({ seen, after }) => ({
      row: seen.row,
      text: literalOf(after[i] ?? null, TEXTS.has(name)),
    }));
    const [cell] = cells;
    if (cell !== undefined && cells.every(({ text }) => text === cell.text))
      return `r.${quote(name)} = ${cell.text}`;
    return `r.${quote(name)} = CASE r.id ${cells.map(({ row, text }) => `WHEN ${row} THEN ${text}`).join(' ')} END`;
  });
  // So that others can end it if it stands still before its COMMIT.
  sets.push('r.holder = CONNECTION_ID()');
  const fences = rows.map(({ seen }) => `(${fence('r.', seen)})`).join(' OR ');
  return `UPDATE ${records} AS r FORCE INDEX (PRIMARY) SET ${sets.join(', ')} WHERE (${fences}) AND (${WRITABLE}) = 0`;
}

/** Two flushes that meet take their rows in one order, so neither waits for the other in a circle; each id once. */
export function inOrder<Id extends RecordId>(ids: readonly Id[]): readonly Id[] {
  if (ids.length < 2) return ids;
  const unique = new Map(ids.map((id) => [idText(id), id]));
  return [...unique.values()].toSorted((a, b) => compare(a.scope, b.scope) || compare(a.key, b.key));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
