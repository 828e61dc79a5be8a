/**
 * Reading records, and writing what the state table decided from the reading: a compare-and-set over the version that
 * was read. Every verb but the insert of a fresh key is made of these.
 */

import { serverView, type View } from '../../../store/machine/index.ts';
import type { RecordId, SamekeyRecord } from '../../../core/record.ts';
import type { ServerTime } from '../../../store/time/server-time.ts';
import { exact, number, RECORD_COLUMNS, rowRecord } from '../../sql/record-row.ts';
import { BUSY, type Decide, type RowOf } from '../../verbs/change.ts';
import { fieldsOf } from '../byte-columns.ts';
import type { Ask, SqlRow } from '../client.ts';
import { isLockTimeout } from '../errors.ts';
import { DECISION_TIME_MAX_MS } from '../statements.ts';
import { insertAudit } from './audit.ts';
import type { Layout } from './layout.ts';
import { deleteStatement, readStatement, timeStatement, updateStatement } from './statements.ts';

/** A record as it was read. */
interface Seen {
  readonly record: SamekeyRecord;
  readonly version: string;
  /** The time of the reading, in milliseconds. */
  readonly now: number;
  /** The server's clock, where it was ahead of that. */
  readonly laterNow: number;
}

/** Reading and writing rows. */
export interface Records {
  readonly layout: Layout;
  /** What a decision on it goes by. */
  view(seen: Seen | undefined): View;
  /** The time. */
  time(ask: Ask): Promise<number>;
  /** One record; undefined if there is none. `FOR UPDATE` only inside a transaction. */
  read(ask: Ask, id: RecordId, lock?: '' | 'FOR UPDATE'): Promise<Seen | undefined>;
  /** Writes or deletes what was seen; false: it is no longer that. */
  write(ask: Ask, seen: Seen, after: SamekeyRecord | null): Promise<boolean>;
  /**
   * Reads, decides, writes. `rowOf`: what an act by hand leaves in the audit; then it must be asked inside a
   * transaction.
   */
  apply<Request extends RecordId, Result>(
    ask: Ask,
    request: Request,
    decide: Decide<Request, Result>,
    options?: ApplyOptions<Request>,
  ): Promise<Result | typeof BUSY>;
}

/** How a decision is applied. */
interface ApplyOptions<Request> {
  readonly lock?: '' | 'FOR UPDATE';
  readonly rowOf?: RowOf<Request> | undefined;
}

/** Makes them. */
export function createRecords(layout: Layout, serverTime: Pick<ServerTime, 'heldMs'>): Records {
  const reads = { '': readStatement(layout, ''), 'FOR UPDATE': readStatement(layout, 'FOR UPDATE') };
  const clock = timeStatement(layout);

  async function times(ask: Ask): Promise<SqlRow> {
    return (await ask(clock, []))[0] ?? [];
  }

  function view(seen: Seen | undefined): View {
    return serverView(seen?.record ?? null, seen?.now ?? 0, seen?.laterNow, serverTime.heldMs());
  }

  async function read(ask: Ask, id: RecordId, lock: '' | 'FOR UPDATE' = ''): Promise<Seen | undefined> {
    // Before the row: a time too early never ends a claim too early.
    const asked = layout.facts.oneClock ? undefined : await times(ask);
    const [row] = await ask(reads[lock], [exact(id.scope), exact(id.key)]);
    return row && seenOf(row, asked);
  }

  async function write(ask: Ask, seen: Seen, after: SamekeyRecord | null): Promise<boolean> {
    const { record, version, laterNow } = seen;
    const { statement, values } =
      after === null
        ? deleteStatement(layout, version, record)
        : updateStatement(layout, version, record, after, laterNow + DECISION_TIME_MAX_MS);
    try {
      return (await ask(statement, values)).length > 0;
    } catch (error) {
      if (isLockTimeout(error)) return false;
      throw error;
    }
  }

  return {
    layout,
    view,
    time: async (ask) => number((await times(ask))[0]),
    read,
    write,
    async apply(ask, request, decide, { lock = '', rowOf } = {}) {
      const seen = await read(ask, request, lock);
      const before = seen?.record ?? null;
      const { write: after, result } = decide(before, request, view(seen));
      if (after === undefined) return result;
      // Nothing but a claim makes a record.
      if (seen === undefined || !(await write(ask, seen, after))) return BUSY;
      const row = rowOf?.(seen.record, after, request);
      if (row !== undefined) await insertAudit(ask, layout, row);
      return result;
    },
  };
}

/** A row of `seenColumns`; `times` where a statement of its own asked for them. */
export function seenOf(row: SqlRow, times: SqlRow = row): Seen {
  const record = rowRecord(fieldsOf(RECORD_COLUMNS, row, 3));
  return { now: number(times[0]), laterNow: number(times[1]), version: String(row[2]), record };
}
