/** Names and expressions that all statements are made of. */

import { SERVER_TOLERANCE_MS } from '../../store/time/server-time.ts';
import { RECORD_COLUMNS } from '../sql/record-row.ts';
import { asHex, BYTE_COLUMNS } from './byte-columns.ts';

/** Where the store's tables are, and by which clock it goes. */
export interface Tables {
  readonly schema: string;
  readonly records: string;
  readonly messages: string;
  readonly audit: string;
  readonly counters: string;
  readonly references: string;
  readonly meta: string;
  /** How texts call all of it. */
  readonly place: string;
  /** SQL of the server's clock. */
  readonly now: string;
  /**
   * `t`: the time of the statement, `now`, and what must hold for it, computed once; `later`: the server's clock where
   * that is ahead and not believed, for lives.
   */
  readonly clock: string;
  /** The same inside a user's transaction, whose lock_timeout is the user's. */
  readonly clockWithin: string;
  /** The same after `limit`: an error in any transaction but the one that it has met. */
  readonly clockOpen: string;
  /**
   * The record's columns as the store reads them, times in milliseconds, bytes as hexadecimal text; of a row called
   * `r`.
   */
  readonly columns: string;
}

/** The lock wait of a statement of ours at most; only an insert of the very same key can make it wait at all. */
const LOCK_TIME_MAX_MS = 250;

/** Columns kept as timestamptz: people read the table, and no session's time zone changes an instant (F45). */
const TIMES: ReadonlySet<string> = new Set([
  'locked_until',
  'reconcile_after',
  'intent_at',
  'created_at',
  'finished_at',
  'expires_at',
]);

/**
 * In the statement, not in the session: a pooler may hand each statement to another one. Never weakened: remote_apply
 * stays; and where no standby is synchronous, it means the same as on. Inside a user's transaction it holds for its
 * COMMIT.
 */
const DURABLE =
  "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') " +
  "THEN 'on' ELSE current_setting('synchronous_commit') END, true) AS durable";

/** A setting that is gone with its transaction: 1, or empty, which is no number (22P02). */
export const OPEN_SETTING = 'samekey.open';
export const ENDED_MARK = 'samekey: ended inside';
const OPEN = `coalesce(nullif(current_setting('${OPEN_SETTING}', true), ''), '${ENDED_MARK}')::int AS open`;

/**
 * What a query on unknown outcomes by age must say word for word to find their index, and below what one must say that
 * asks for those that are due. Both mean "is unknown", and neither follows from the other: else the planner would take
 * the one index for the other, read all of it and sort.
 */
export const IS_UNKNOWN = "reconcile_after > '-infinity'::timestamptz";
export const MAY_BE_DUE = "reconcile_after < 'infinity'::timestamptz";

/**
 * The server's clock where it is near what the time is believed to be, else that (F117). Nothing is believed before the
 * first look.
 */
const NOW = `CASE WHEN c.clock < c.bound - ${interval(String(SERVER_TOLERANCE_MS))} OR c.clock > c.bound + ${interval(String(SERVER_TOLERANCE_MS))}
  THEN c.bound ELSE c.clock END`;
const NOW_AND_LATER = `${NOW} AS now, greatest(c.clock, ${NOW}) AS later`;

/** Makes them. `now` is the SQL of the clock: `clock_timestamp()`, never the start of a transaction (F46). */
export function createTables(schema: string, now: string): Tables {
  const quoted = quote(schema);
  // Materialized: evaluated once, whatever the plan. Whole milliseconds, as the records are compared in.
  const clock = (...more: readonly string[]): string =>
    `t AS MATERIALIZED (SELECT ${[NOW_AND_LATER, DURABLE, ...more].join(', ')}
  FROM (SELECT date_trunc('milliseconds', ${now}) AS clock, ${instant('$bound::bigint')} AS bound) c)`;
  return Object.freeze({
    schema: quoted,
    now,
    records: `${quoted}.samekey_records`,
    messages: `${quoted}.samekey_messages`,
    audit: `${quoted}.samekey_audit`,
    counters: `${quoted}.samekey_counters`,
    references: `${quoted}.samekey_references`,
    meta: `${quoted}.samekey_meta`,
    place: `The PostgreSQL schema ${quoted}`,
    clock: clock(`set_config('lock_timeout', '${LOCK_TIME_MAX_MS}', true) AS bounded`),
    clockWithin: clock(),
    clockOpen: clock(OPEN),
    // Each has a name of its own: libraries that give rows as objects would fold two of one name into one.
    columns: RECORD_COLUMNS.map(columnOf).join(', '),
  });
}

function columnOf(name: string): string {
  if (TIMES.has(name)) return `${milliseconds(`r.${name}`)} AS ${name}`;
  return BYTE_COLUMNS.has(name) ? `${asHex(`r.${name}`)} AS ${name}` : `r.${name}`;
}

/** What `seenOf` reads of a row called `r`: the time, the later one, the version, the columns. */
export function seenColumns({ columns }: Tables): string {
  return `${milliseconds('t.now')} AS now_ms, ${milliseconds('t.later')} AS later_ms, r.xmin::text AS version, ${columns}`;
}

/** An identifier, quoted. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** An instant as whole milliseconds since 1970; exact, because `extract` gives a numeric. */
export function milliseconds(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::bigint`;
}

/** A number of milliseconds as an interval. */
export function interval(ms: string): string {
  return `${ms} * interval '1 millisecond'`;
}

/** The instant of a number of milliseconds since 1970. */
export function instant(ms: string): string {
  return `(timestamptz 'epoch' + ${interval(ms)})`;
}
