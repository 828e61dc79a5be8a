/**
 * Names and columns of the tables. Times are milliseconds since 1970, as records have them: no type differs between
 * engines.
 */

import { SERVER_TOLERANCE_MS } from '../../../store/time/server-time.ts';
import { RECORD_COLUMNS } from '../../sql/record-row.ts';
import { asHex, BYTE_COLUMNS } from '../byte-columns.ts';
import { quote } from '../tables.ts';
import type { EngineFacts } from './engines.ts';

/** Where the tables are, and by which clock they go. */
export interface Layout {
  readonly facts: EngineFacts;
  /** The schema's name, not quoted. */
  readonly schema: string;
  readonly records: string;
  readonly audit: string;
  readonly counters: string;
  readonly meta: string;
  /** How texts call all of it. */
  readonly place: string;
  /**
   * SQL of the server's clock in milliseconds; stable within a statement, so that Citus computes it where the statement
   * arrives.
   */
  readonly clock: string;
  /** SQL of the time: the clock where it is near what the time is believed to be, else that (F117). */
  readonly now: string;
  /** The later of the two, for lives. */
  readonly later: string;
}

/** Makes it. `clock`: SQL of an instant. */
export function createLayout(facts: EngineFacts, schema: string, clock: string): Layout {
  const quoted = quote(schema);
  const clockMs = `floor(extract(epoch FROM ${clock}) * 1000)::bigint`;
  const [least, most] = ['-', '+'].map((sign) => `$bound::bigint ${sign} ${SERVER_TOLERANCE_MS}`);
  const now = `CASE WHEN ${clockMs} < ${least} OR ${clockMs} > ${most} THEN $bound::bigint ELSE ${clockMs} END`;
  return Object.freeze({
    facts,
    schema,
    records: `${quoted}.samekey_plain_records`,
    audit: `${quoted}.samekey_plain_audit`,
    counters: `${quoted}.samekey_plain_counters`,
    meta: `${quoted}.samekey_plain_meta`,
    place: `The schema ${quoted} of ${facts.title}`,
    clock: clockMs,
    now,
    later: `greatest(${clockMs}, ${now})`,
  });
}

/** The server's time when the statement arrived: never the start of a transaction (F46). */
export const SERVER_CLOCK = 'statement_timestamp()';

/** A type of the four that all engines have. */
type ColumnType = 'text' | 'integer' | 'bigint' | 'bytea';

const INTEGERS: ReadonlySet<string> = new Set([
  'attempt',
  'renewals',
  'response_status',
  'format_version',
  'inquiries',
]);
const TIMES: ReadonlySet<string> = new Set([
  'locked_until',
  'claim_ttl_ms',
  'reconcile_after',
  'created_at',
  'finished_at',
  'expires_at',
  'replay_min_ms',
  'attempt_max',
  'tombstone_ms',
  'intent_at',
]);

/** The type of a column of records. */
export function typeOf(column: string): ColumnType {
  if (INTEGERS.has(column)) return 'integer';
  if (TIMES.has(column)) return 'bigint';
  return BYTE_COLUMNS.has(column) ? 'bytea' : 'text';
}

/** A record's columns as they are read, bytes as hexadecimal text; of a row called `r`. */
export const COLUMNS: string = RECORD_COLUMNS.map((name) =>
  BYTE_COLUMNS.has(name) ? asHex(`r.${name}`) : `r.${name}`,
).join(', ');
