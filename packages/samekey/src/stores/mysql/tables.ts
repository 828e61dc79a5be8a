/** Names and expressions that all statements are made of. */

import { SERVER_TOLERANCE_MS, type ServerTime } from '../../store/time/server-time.ts';
import { RECORD_COLUMNS } from '../sql/record-row.ts';

/** Where the store's tables are, and by which clock it goes. */
export interface Tables {
  readonly records: string;
  readonly audit: string;
  readonly counters: string;
  readonly messages: string;
  readonly groups: string;
  readonly references: string;
  readonly meta: string;
  /** Where they are; undefined: in the connection's own. */
  readonly database: string | undefined;
  /** SQL of the server's clock, in whole milliseconds since 1970. */
  readonly clock: string;
  /**
   * SQL of the time, for a statement that is sent now: the clock where it is near what the time is believed to be, else
   * that (F117).
   */
  readonly now: string;
  /** The later of the two, for lives. */
  readonly later: string;
  /** By how much claims and leases are held back right now, in milliseconds. */
  readonly heldMs: number;
}

/**
 * The server's time. UTC_TIMESTAMP is the statement's own time, not that of its transaction (F46), and in no time zone
 * of a session (F45); the difference of two times in UTC has no summer.
 */
export const SERVER_CLOCK = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000)";

/** Rows of `samekey_groups`, for ever: processes of all versions must lock the same one for a group. */
export const GROUP_SLOTS: number = 16 ** 3;

/** Columns with a character set; the others hold bytes or numbers. */
export const TEXTS: ReadonlySet<string> = new Set([
  'operation',
  'state',
  'when_claim_ends',
  'proof',
  'reason',
  'response_headers',
  'response_trailers',
  'recovery_point',
  'steps',
]);

/** Texts that identify, kept as bytes. */
export const BYTE_TEXTS: ReadonlySet<string> = new Set([
  'scope',
  'key',
  'claim_id',
  'fingerprint_label',
  'fingerprint_digest',
  'seal_key_id',
]);

/**
 * Makes them; without a database, the connection's own. `time`: what the time is believed to be; absent where only
 * names are wanted.
 */
export function createTables(
  database: string | undefined,
  clock: string,
  time?: Pick<ServerTime, 'bound' | 'heldMs'>,
): Tables {
  const prefix = database === undefined ? '' : `${quote(database)}.`;
  function now(): string {
    const bound = time?.bound();
    if (bound === undefined) return clock;
    const [least, most] = [bound - SERVER_TOLERANCE_MS, bound + SERVER_TOLERANCE_MS];
    return `(CASE WHEN ${clock} BETWEEN ${least} AND ${most} THEN ${clock} ELSE ${bound} END)`;
  }
  return Object.freeze({
    records: `${prefix}samekey_records`,
    audit: `${prefix}samekey_audit`,
    counters: `${prefix}samekey_counters`,
    messages: `${prefix}samekey_messages`,
    groups: `${prefix}samekey_groups`,
    references: `${prefix}samekey_references`,
    meta: `${prefix}samekey_meta`,
    database,
    clock,
    get now() {
      return now();
    },
    get later() {
      return `GREATEST(${clock}, ${now()})`;
    },
    get heldMs() {
      return Math.ceil(time?.heldMs() ?? 0);
    },
  });
}

/** The record's columns, of a row called `r`. */
export const COLUMNS: string = RECORD_COLUMNS.map((name) => `r.${quote(name)}`).join(', ');

/** An identifier, quoted; `key` is a word of SQL. Never with double quotes, which are texts without ANSI_QUOTES. */
export function quote(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
