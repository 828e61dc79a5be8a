/**
 * What happens to rows inside an open transaction: read, decide by the state table, write under the fence. Knows
 * nothing of how the transaction was opened, so our own flushes and `within(tx)` are made of the same statements.
 */

import { giveUpRow, transitionRow } from '../../store/audit.ts';
import { InvariantError } from '../../core/errors.ts';
import { decideCheckpoint, decidePostpone, decideTakeUnknown, type View } from '../../store/machine/index.ts';
import { type Fence, isErased, type RecordId, type SamekeyRecord } from '../../core/record.ts';
import { afterCaller } from '../../core/scope.ts';
import type { SharedTimes } from '../../store/time/shared-time.ts';
import type {
  CheckpointRequest,
  CheckpointResult,
  HandResult,
  ListRequest,
  PostponeRequest,
  TakeUnknownRequest,
} from '../../store/store.ts';
import { type ColumnValue, number, recordValues, type Row, rowRecord } from '../sql/record-row.ts';
import type { Decide, RowOf } from '../verbs/change.ts';
import { listLimit } from '../verbs/reads.ts';
import type { DueWork } from '../verbs/upkeep.ts';
import type { SqliteAudit } from './audit.ts';
import { type ClaimWatch, heldBack, type StoreClock, type WatchedClaim } from './clock.ts';
import type { SqliteReferences } from './references.ts';
import { type Connection, expectOne } from './client.ts';
import * as sql from './statements.ts';

/** Rows inside an open transaction. */
export interface Records {
  find(id: RecordId): SamekeyRecord | null;
  /** Decides and writes, one request after the other: a later one sees what an earlier one wrote. */
  apply<Request extends RecordId, Result>(
    requests: readonly Request[],
    decide: Decide<Request, Result>,
    /** The row that a change leaves in the audit. */
    rowOf?: RowOf<Request>,
  ): Result[];
  /** The owners' notes, each with its reference. */
  checkpoint(requests: readonly CheckpointRequest[]): CheckpointResult[];
  /** Newest first. */
  list(request: ListRequest): SamekeyRecord[];
  /** What a worker may push on, the oldest first. */
  due(request: DueWork): SamekeyRecord[];
  /** Whether an unknown outcome is due for a look. */
  isUnknownDue(request: TakeUnknownRequest): boolean;
  /** Leaves unknown outcomes to a later look, or to an operator. */
  postpone(requests: readonly PostponeRequest[]): HandResult[];
  /** Unknown outcomes that are due, taken. */
  takeUnknown(request: TakeUnknownRequest): SamekeyRecord[];
  /** Accepted and not begun by the deadline. */
  neverStarted(limit: number): RecordId[];
  /** Unknown for so long. */
  neverKnown(unknownMaxMs: number, limit: number): RecordId[];
  /** Deletes records past retention and tombstone time; the scope of each. */
  reap(limit: number): readonly string[];
}

/** Makes the row operations of one connection: `watch` is on claims, `leases` on who asks about unknown outcomes. */
export function createRecords(
  connection: Connection,
  clock: StoreClock,
  watch: ClaimWatch,
  audit: SqliteAudit,
  auditTransitions: boolean,
  leases: ClaimWatch,
  referring: SqliteReferences,
): Records {
  function find(id: RecordId): SamekeyRecord | null {
    const row = connection.get(sql.SELECT_RECORD, id.scope, id.key);
    return row === undefined ? null : rowRecord(row);
  }

  function view(record: SamekeyRecord | null, times: SharedTimes): View {
    const claimLeftMs = leftMs(record, times.now);
    return { ...times, claimOver: claimLeftMs === 0, claimLeftMs };
  }

  function leftMs(record: SamekeyRecord | null, now: number): number {
    if (record?.state === 'in_progress') return watch.see(record);
    // Nobody runs under it: the file's time will do.
    if (record?.state === 'pending') return Math.max(0, record.lockedUntil - now);
    const held = heldBack(record);
    return held === null ? 0 : watch.see(held);
  }

  /** Whether anything was written. */
  function write(
    id: RecordId,
    before: SamekeyRecord | null,
    after: SamekeyRecord | null | undefined,
    now: number,
  ): boolean {
    const held = heldBack(after === undefined ? before : after);
    if (after?.state === 'in_progress') watch.restart(after);
    else if (held !== null) watch.see(held);
    else if (after !== undefined || before?.state !== 'in_progress') watch.drop(id);
    if (after === undefined) return false;

    if (before === null) {
      if (after !== null) insert(after);
    } else if (after === null) {
      referring.remove(before);
      remove(before);
    } else if (after.state === 'in_progress' && after.attempt === 1 && after.claimId !== before.claimId) {
      // An expired key starts a new life, in a row of its own: rowids grow with created_at, which `list` relies on.
      remove(before);
      insert(after);
    } else {
      expectOne(
        connection.run(sql.UPDATE_RECORD, ...recordValues(after).slice(2), ...fence(before)),
        'update',
      );
    }
    if (after !== null && isErased(after)) referring.remove(after);
    const row = auditTransitions ? transitionRow(before, after) : undefined;
    if (row !== undefined) audit.add([row], now);
    return true;
  }

  function insert(record: SamekeyRecord): void {
    expectOne(connection.run(sql.INSERT_RECORD, ...recordValues(record)), 'insert');
  }

  function remove(record: SamekeyRecord): void {
    expectOne(connection.run(sql.DELETE_RECORD, ...fence(record)), 'delete');
  }

  function apply<Request extends RecordId, Result>(
    requests: readonly Request[],
    decide: Decide<Request, Result>,
    rowOf?: RowOf<Request>,
  ): Result[] {
    const times = clock.times(connection);
    const { now } = times;
    let written = false;
    const results = requests.map((request) => {
      const before = find(request);
      const decision = decide(before, request, view(before, times));
      if (write(request, before, decision.write, now)) written = true;
      if (rowOf !== undefined && before !== null && decision.write !== undefined) {
        const row = rowOf(before, decision.write, request);
        if (row !== undefined) audit.add([row], now);
      }
      return decision.result;
    });
    // A replay writes nothing at all: its COMMIT costs no fsync.
    if (written) clock.save(connection, now);
    return results;
  }

  /** By the file's time; and if the last one that took it never said a word, by the watch, as with claims. */
  function unknownDue({ operations, limit }: TakeUnknownRequest, now: number): SamekeyRecord[] {
    const text = sql.selectUnknownDue(operations?.length ?? null);
    const rows = connection.all(text, now, ...(operations ?? []), limit + LEASED_MAX);
    const due = rows.filter((row) => {
      // Without an inquiry, what an earlier end of the record has left there.
      if (number(row['inquiries']) === 0 || row['lease_ms'] === null) return true;
      return leases.see(asked(rowRecord(row), number(row['lease_ms']))) === 0;
    });
    return due.slice(0, limit).map(rowRecord);
  }

  return {
    find,
    apply,
    checkpoint(requests) {
      const results = apply(requests, decideCheckpoint);
      for (const [i, { reference, ...owner }] of requests.entries()) {
        if (reference !== undefined && results[i]?.kind === 'applied') referring.put(owner, reference);
      }
      return results;
    },
    list(request) {
      const { operation, scope, caller, key, createdBefore } = request;
      const states = [...new Set(request.states)];
      if (request.states !== undefined && states.length === 0) return [];
      const text = sql.selectList({
        states: states.length,
        openOnly: states.length > 0 && !states.includes('completed') && !states.includes('failed'),
        operation: operation !== undefined,
        scope: scope !== undefined,
        caller: caller !== undefined,
        key: key !== undefined,
        createdBefore: createdBefore !== undefined,
      });
      const callers = caller === undefined ? [] : [caller, `${caller}|`, afterCaller(caller)];
      const filters = [operation, scope, ...callers, key, createdBefore].filter(
        (value) => value !== undefined,
      );
      const values: ColumnValue[] = [...states, ...filters, listLimit(request)];
      return connection.all(text, ...values).map(rowRecord);
    },
    due({ operations, limit, after, backoffMinMs, backoffMaxMs }) {
      const now = clock.now(connection);
      const times: ColumnValue[] = [now, now, backoffMaxMs, backoffMinMs, now];
      const place = [after?.createdAt ?? -1, after?.scope ?? '', after?.key ?? ''];
      const values: ColumnValue[] = [...times, ...operations, ...place, limit];
      return connection.all(sql.selectDue(operations.length), ...values).map(rowRecord);
    },
    neverStarted(limit) {
      const rows = connection.all(sql.SELECT_NEVER_STARTED, clock.now(connection), limit);
      return rows.map(rowId);
    },
    neverKnown(unknownMaxMs, limit) {
      return connection.all(sql.SELECT_NEVER_KNOWN, clock.now(connection) - unknownMaxMs, limit).map(rowId);
    },
    isUnknownDue: (request) => unknownDue({ ...request, limit: 1 }, clock.now(connection)).length > 0,
    postpone(requests) {
      const results = apply(requests, decidePostpone, giveUpRow);
      for (const [i, request] of requests.entries()) {
        if (results[i]?.kind !== 'applied') continue;
        connection.run(sql.UPDATE_LEASE, null, ...fence({ ...request, state: 'unknown' }));
      }
      return results;
    },
    takeUnknown(request) {
      const times = clock.times(connection);
      const { now } = times;
      const taken: SamekeyRecord[] = [];
      for (const before of unknownDue(request, now)) {
        const after = decideTakeUnknown(before, request, view(before, times));
        if (after === undefined) continue;
        write(before, before, after, now);
        expectOne(connection.run(sql.UPDATE_LEASE, request.leaseMs, ...fence(after)), 'lease');
        leases.restart(asked(after, request.leaseMs));
        taken.push(after);
      }
      if (taken.length > 0) clock.save(connection, now);
      return taken;
    },
    reap(limit) {
      const now = clock.now(connection);
      const rows = connection.all(sql.SELECT_PURGEABLE, now, limit);
      if (rows.length === 0) return [];
      const rowids = rows.map((row) => number(row['rowid']));
      referring.removeOf(rowids);
      const deleted = connection.run(sql.DELETE_ROWS, JSON.stringify(rowids));
      if (deleted !== rows.length) throw new InvariantError('the reaper did not delete what it found');
      clock.save(connection, now);
      return rows.map((row) => String(row['scope']));
    },
  };
}

function rowId(row: Row): RecordId {
  return { scope: String(row['scope']), key: String(row['key']) };
}

/** So many may be with others at once before those behind them are seen. */
const LEASED_MAX = 1000;

/** What is watched of who asks about an unknown outcome. */
function asked(record: SamekeyRecord, leaseMs: number): WatchedClaim {
  return { ...record, renewals: record.inquiries, claimTtlMs: leaseMs };
}

function fence(
  record: RecordId & Fence & Pick<SamekeyRecord, 'state'>,
): [string, string, string, number, string] {
  return [record.scope, record.key, record.claimId, record.attempt, record.state];
}
