/**
 * Reading records, and writing what the state table decided from the reading: a compare-and-set over the version that was read. Every
 * verb but the insert of a fresh key is made of these.
 */

import type { NewAuditRow } from '../../../core/audit.ts';
import { type Decision, serverView, type View } from '../../../core/machine.ts';
import type { RecordId, SamekeyRecord } from '../../../core/record.ts';
import { exact, number, RECORD_COLUMNS, rowRecord } from '../../sql/record-row.ts';
import { fieldsOf } from '../byte-columns.ts';
import type { Ask } from '../link.ts';
import type { SqlRow } from '../postgres-client.ts';
import { isLockTimeout } from '../postgres-errors.ts';
import { DECISION_TIME_MAX_MS } from '../statements.ts';
import { insertAudit } from './audit.ts';
import type { Layout } from './layout.ts';
import { deleteStatement, readStatement, timeStatement, updateStatement } from './statements.ts';

/** A record as it was read. */
export interface Seen {
  readonly record: SamekeyRecord;
  readonly version: string;
  /** The server's time of the reading, in milliseconds. */
  readonly now: number;
}

/** The state table's decision for one verb. */
export type Decide<Request, Result> = (
  record: SamekeyRecord | null,
  request: Request,
  view: View,
) => Decision<Result>;

/** Somebody was at the row in between, or holds it. */
export const BUSY: { readonly kind: 'busy' } = Object.freeze({ kind: 'busy' as const });

/** Reading and writing rows. */
export interface Records {
  readonly layout: Layout;
  /** The server's time. */
  time(ask: Ask): Promise<number>;
  /** One record; undefined if there is none. `FOR UPDATE` only inside a transaction. */
  read(ask: Ask, id: RecordId, lock?: '' | 'FOR UPDATE'): Promise<Seen | undefined>;
  /** Writes or deletes what was seen; false: it is no longer that. */
  write(ask: Ask, seen: Seen, after: SamekeyRecord | null): Promise<boolean>;
  /** Reads, decides, writes. `rowOf`: what an act by hand leaves in the audit; then it must be asked inside a transaction. */
  apply<Request extends RecordId, Result>(
    ask: Ask,
    request: Request,
    decide: Decide<Request, Result>,
    options?: ApplyOptions<Request>,
  ): Promise<Result | typeof BUSY>;
}

/** How a decision is applied. */
export interface ApplyOptions<Request> {
  readonly lock?: '' | 'FOR UPDATE';
  readonly rowOf?: (
    before: SamekeyRecord,
    after: SamekeyRecord | null,
    request: Request,
  ) => NewAuditRow | undefined;
}

/** Makes them. */
export function createRecords(layout: Layout): Records {
  const reads = { '': readStatement(layout, ''), 'FOR UPDATE': readStatement(layout, 'FOR UPDATE') };
  const clock = timeStatement(layout);

  async function time(ask: Ask): Promise<number> {
    return number((await ask(clock, []))[0]?.[0]);
  }

  async function read(ask: Ask, id: RecordId, lock: '' | 'FOR UPDATE' = ''): Promise<Seen | undefined> {
    // Before the row: a time too early never ends a claim too early.
    const now = layout.facts.oneClock ? undefined : await time(ask);
    const [row] = await ask(reads[lock], [exact(id.scope), exact(id.key)]);
    return row && seenOf(row, now);
  }

  async function write(ask: Ask, seen: Seen, after: SamekeyRecord | null): Promise<boolean> {
    const { record, version, now } = seen;
    const { statement, values } =
      after === null
        ? deleteStatement(layout, version, record)
        : updateStatement(layout, version, record, after, now + DECISION_TIME_MAX_MS);
    try {
      return (await ask(statement, values)).length > 0;
    } catch (error) {
      if (isLockTimeout(error)) return false;
      throw error;
    }
  }

  return {
    layout,
    time,
    read,
    write,
    async apply(ask, request, decide, { lock = '', rowOf } = {}) {
      const seen = await read(ask, request, lock);
      const before = seen?.record ?? null;
      const { write: after, result } = decide(before, request, serverView(before, seen?.now ?? 0));
      if (after === undefined) return result;
      // Nothing but a claim makes a record.
      if (seen === undefined || !(await write(ask, seen, after))) return BUSY;
      const row = rowOf?.(seen.record, after, request);
      if (row !== undefined) await insertAudit(ask, layout, row);
      return result;
    },
  };
}

/** A row of `seenColumns`; `now` where a statement of its own asked for it. */
export function seenOf(row: SqlRow, now?: number): Seen {
  const record = rowRecord(fieldsOf(RECORD_COLUMNS, row, 2));
  return { now: now ?? number(row[0]), version: String(row[1]), record };
}
