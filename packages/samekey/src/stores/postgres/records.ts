/**
 * Reading records, and writing what the state table decided from the reading. Such a write happens only if the row
 * still is the very version that was read (its xmin, and the fence besides): a compare-and-set, not a read-then-write.
 * Everything that is not the hot path is made of these: claims that take over, settling, reopening, forgetting,
 * sweeping.
 */

import type { NewAuditRow } from '../../store/audit.ts';
import { serverView, type View } from '../../store/machine/index.ts';
import { idText, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import type { ServerTime } from '../../store/time/server-time.ts';
import { exact } from '../sql/record-row.ts';
import { BUSY, type Decide, type RowOf, unclear } from '../verbs/change.ts';
import { actCells, seenRow, writeRows } from './input-rows.ts';
import * as columns from './input-columns.ts';
import { type Arity, type Cell, inputValues } from './parameters.ts';
import type { Ask, SqlRow, Statement } from './client.ts';
import * as sql from './statements.ts';
import type { Tables } from './tables.ts';
import { rowIdText, type Seen, seenOf } from './seen.ts';

/** What is to become of a record that was seen: `undefined` leaves it, null deletes it. */
export interface Change {
  readonly seen: Seen;
  readonly write: SamekeyRecord | null | undefined;
  /** The row the audit gets in the same statement. */
  readonly audit?: NewAuditRow | undefined;
}

/** Rows of one schema. */
export interface Records {
  readonly tables: Tables;
  /** What a decision on it goes by. */
  view(seen: Seen | undefined): View;
  /** By `idText`; ids without a record are missing. */
  find(ask: Ask, ids: readonly RecordId[]): Promise<ReadonlyMap<string, Seen>>;
  /** Makes the changes whose rows still are what was seen; returns the `idText` of each that was made. */
  change(ask: Ask, changes: readonly Change[]): Promise<ReadonlySet<string>>;
  /** As `Change` of `stores/verbs` says; each id once. */
  apply<Request extends RecordId, Result>(
    ask: Ask,
    requests: readonly Request[],
    decide: Decide<Request, Result>,
    rowOf?: RowOf<Request>,
  ): Promise<readonly (Result | typeof BUSY)[]>;
}

/** Makes them. */
export function createRecords(tables: Tables, time: Pick<ServerTime, 'heldMs'>): Records {
  const finds = { one: sql.findStatement(tables, 'one'), many: sql.findStatement(tables, 'many') };
  const writes = both((arity) => sql.writeStatement(tables, arity, false));
  const deletes = both((arity) => sql.deleteStatement(tables, arity, false));
  const auditedWrites = both((arity) => sql.writeStatement(tables, arity, true));
  const auditedDeletes = both((arity) => sql.deleteStatement(tables, arity, true));

  function view(seen: Seen | undefined): View {
    return serverView(seen?.record ?? null, seen?.now ?? 0, seen?.laterNow, time.heldMs());
  }

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
    const made = new Set<string>();
    for (const audited of [false, true]) {
      const ours = changes.filter(({ audit }) => (audit !== undefined) === audited);
      const written = ours.flatMap(({ seen, write, audit }) => (write ? [{ seen, write, audit }] : []));
      const gone = ours.filter(({ write }) => write === null);
      for (const row of await writeOver(ask, written, audited)) made.add(rowIdText(row));
      for (const row of await remove(ask, gone, audited)) made.add(rowIdText(row));
    }
    return made;
  }

  async function writeOver(
    ask: Ask,
    written: Parameters<typeof writeRows>[0],
    audited: boolean,
  ): Promise<readonly SqlRow[]> {
    if (written.length === 0) return [];
    const arity = arityOf(written);
    const { rows, bodies } = writeRows(written);
    const width = columns.WRITE_INPUT.length + (audited ? columns.ACT_INPUT.length : 0);
    const values = [...inputValues(rows, width, arity), bodies, readAt(written)];
    return ask((audited ? auditedWrites : writes)[arity], values);
  }

  async function remove(ask: Ask, gone: readonly Change[], audited: boolean): Promise<readonly SqlRow[]> {
    if (gone.length === 0) return [];
    const arity = arityOf(gone);
    const rows = gone.map(({ seen, audit }) => [...seenRow(seen), ...actCells(audit)]);
    const width = columns.SEEN_INPUT.length + (audited ? columns.ACT_INPUT.length : 0);
    const values = [...inputValues(rows, width, arity), readAt(gone)];
    return ask((audited ? auditedDeletes : deletes)[arity], values);
  }

  return {
    tables,
    view,
    find,
    change,
    async apply(ask, requests, decide, rowOf) {
      let isWritten = false;
      const writing: Ask = async (statement, values) => {
        const rows = await ask(statement, values);
        isWritten ||= rows.length > 0;
        return rows;
      };
      const found = await find(ask, requests);
      const decided = requests.map((request) => {
        const seen = found.get(idText(request));
        const record = seen?.record ?? null;
        const { write, result } = decide(record, request, view(seen));
        const audit = record === null || write === undefined ? undefined : rowOf?.(record, write, request);
        return { id: idText(request), seen, write, result, audit };
      });
      try {
        const made = await change(
          writing,
          decided.flatMap(({ seen, write, audit }) => (seen === undefined ? [] : [{ seen, write, audit }])),
        );
        return decided.map(({ id, write, result }) => (write === undefined || made.has(id) ? result : BUSY));
      } catch (error) {
        throw isWritten ? unclear(error) : error;
      }
    },
  };
}

function both(make: (arity: Arity) => Statement): Record<Arity, Statement> {
  return { one: make('one'), many: make('many') };
}

/** One row goes out as the plain statement. */
export function arityOf(rows: readonly unknown[]): Arity {
  return rows.length === 1 ? 'one' : 'many';
}

/**
 * The oldest reading of a group, by the later clock: one that is late has seen that go on, whatever it is told of the
 * time.
 */
function readAt(changes: readonly { readonly seen: Seen }[]): string {
  return String(Math.min(...changes.map(({ seen }) => seen.laterNow)));
}
