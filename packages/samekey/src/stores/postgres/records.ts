/**
 * Reading records, and writing what the state table decided from the reading. Such a write happens only if the row still is
 * the very version that was read (its xmin, and the fence besides): a compare-and-set, not a read-then-write. Everything
 * that is not the hot path is made of these: claims that take over, settling, reopening, forgetting, sweeping.
 */

import { StoreError } from '../../core/errors.ts';
import { type Decision, serverView, type View } from '../../core/machine.ts';
import { idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import type { HandResult } from '../../core/store.ts';
import { exact, number, RECORD_COLUMNS, rowRecord } from '../sql/record-row.ts';
import { seenRow, writeRows } from './input.ts';
import * as columns from './input-columns.ts';
import type { Ask } from './link.ts';
import { type Arity, type Cell, inputValues } from './parameters.ts';
import type { SqlRow } from './postgres-client.ts';
import * as sql from './statements.ts';
import type { Tables } from './tables.ts';

/** A record as it was read. */
export interface Seen {
  readonly record: SamekeyRecord;
  /** Which version of the row: the transaction that wrote it. */
  readonly version: string;
  /** The server's time of the reading, in milliseconds. */
  readonly now: number;
}

/** What is to become of a record that was seen: `undefined` leaves it, null deletes it. */
export interface Change {
  readonly seen: Seen;
  readonly write: SamekeyRecord | null | undefined;
}

/** Rows of one schema. */
export interface Records {
  readonly tables: Tables;
  /** By `idText`; ids without a record are missing. */
  find(ask: Ask, ids: readonly RecordId[]): Promise<ReadonlyMap<string, Seen>>;
  /** Makes the changes whose rows still are what was seen; returns the `idText` of each that was made. */
  change(ask: Ask, changes: readonly Change[]): Promise<ReadonlySet<string>>;
  /** Decides and writes, again where somebody was faster. */
  byHand<Request extends RecordId>(
    ask: Ask,
    requests: readonly Request[],
    decide: (record: SamekeyRecord | null, request: Request, view: View) => Decision<HandResult>,
  ): Promise<readonly HandResult[]>;
}

/** An operator's write tries this often, with pauses that grow to 100 ms. */
const HAND_TRIES_MAX = 20;

/** Makes them. */
export function createRecords(tables: Tables): Records {
  const finds = { one: sql.findStatement(tables, 'one'), many: sql.findStatement(tables, 'many') };
  const writes = { one: sql.writeStatement(tables, 'one'), many: sql.writeStatement(tables, 'many') };
  const deletes = { one: sql.deleteStatement(tables, 'one'), many: sql.deleteStatement(tables, 'many') };

  async function find(ask: Ask, ids: readonly RecordId[]): Promise<ReadonlyMap<string, Seen>> {
    const found = new Map<string, Seen>();
    if (ids.length === 0) return found;
    const arity = arityOf(ids);
    const cells = ids.map(({ scope, key }): readonly Cell[] => [exact(scope), exact(key)]);
    for (const row of await ask(finds[arity], inputValues(cells, columns.FIND_INPUT.length, arity))) {
      const seen = seenOf(row);
      found.set(idText(seen.record), seen);
    }
    return found;
  }

  async function change(ask: Ask, changes: readonly Change[]): Promise<ReadonlySet<string>> {
    const written: { readonly seen: Seen; readonly write: SamekeyRecord }[] = [];
    const gone: Seen[] = [];
    for (const { seen, write } of changes) {
      if (write === null) gone.push(seen);
      else if (write !== undefined) written.push({ seen, write });
    }
    const made = new Set<string>();
    const tell = (rows: readonly SqlRow[]): void => {
      for (const row of rows) made.add(rowIdText(row));
    };
    if (written.length > 0) {
      const arity = arityOf(written);
      const { rows, bodies } = writeRows(written);
      const values = [...inputValues(rows, columns.WRITE_INPUT.length, arity), bodies];
      tell(await ask(writes[arity], [...values, readAt(written.map(({ seen }) => seen))]));
    }
    if (gone.length > 0) {
      const arity = arityOf(gone);
      const values = inputValues(gone.map(seenRow), columns.SEEN_INPUT.length, arity);
      tell(await ask(deletes[arity], [...values, readAt(gone)]));
    }
    return made;
  }

  return {
    tables,
    find,
    change,
    async byHand(ask, requests, decide) {
      const results = new Map<number, HandResult>();
      for (let tries = 0; results.size < requests.length; tries += 1) {
        if (tries > 0) await pause(Math.min(100, 5 * tries));
        if (tries === HAND_TRIES_MAX) throw held();
        const open = [...requests.entries()].filter(([i]) => !results.has(i));
        const found = await find(
          ask,
          open.map(([, request]) => request),
        );
        const decided = open.map(([i, request]) => {
          const seen = found.get(idText(request));
          const record = seen?.record ?? null;
          return { i, seen, ...decide(record, request, serverView(record, seen?.now ?? 0)) };
        });
        const made = await change(
          ask,
          decided.flatMap(({ seen, write }) => (seen === undefined ? [] : [{ seen, write }])),
        );
        for (const { i, seen, write, result } of decided) {
          if (write === undefined || (seen !== undefined && made.has(idText(seen.record)))) {
            results.set(i, result);
          }
        }
      }
      return requests.map((_, i) => results.get(i) as HandResult);
    },
  };
}

/** One row goes out as the plain statement. */
export function arityOf(rows: readonly unknown[]): Arity {
  return rows.length === 1 ? 'one' : 'many';
}

/** The id that the first two columns hold, as `idText` writes it. */
export function rowIdText(row: SqlRow): string {
  return idText({ scope: String(row[0]), key: String(row[1]) });
}

/** A row of the find statement: time, version, columns. */
export function seenOf(row: SqlRow): Seen {
  const fields = Object.fromEntries(RECORD_COLUMNS.map((name, i) => [name, row[i + 2]]));
  return { now: number(row[0]), version: String(row[1]), record: rowRecord(fields) };
}

/** The oldest reading of a group. */
function readAt(seen: readonly Seen[]): string {
  return String(Math.min(...seen.map(({ now }) => now)));
}

function held(): StoreError {
  return new StoreError(
    'PostgreSQL record is held by another transaction: let it end, or end it, and try again.',
    { applied: 'no' },
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
