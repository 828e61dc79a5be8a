/** The SQL of records: one row each, named by its whole key, its condition in its WHERE. */

import { RECORD_COLUMNS, recordValues } from '../../sql/record-row.ts';
import type { SamekeyRecord } from '../../../core/record.ts';
import { NEVER } from '../../../store/machine/index.ts';
import type { SqlValue, Statement } from '../client.ts';
import { statement } from '../statements.ts';
import { COLUMNS, type Layout, typeOf } from './layout.ts';

/** A statement and what it is given. */
export interface Bound {
  readonly statement: Statement;
  readonly values: readonly SqlValue[];
}

/** Counted from the time of the statement: what is held from the one that is judged by, lives from the later one. */
const FROM_NOW: ReadonlySet<string> = new Set(['locked_until', 'created_at']);

/**
 * Inserts the record of a fresh key, made at time 0: the server adds its time. Gives creation and expiry, or no row.
 */
export function insertStatement({ records, now, later }: Layout): Statement {
  const values = RECORD_COLUMNS.map((name, i) => {
    const value = `$${i + 1}::${typeOf(name)}`;
    if (name === 'expires_at') return `${later} + ${value}`;
    return FROM_NOW.has(name) ? `${now} + ${value}` : value;
  });
  const due = RECORD_COLUMNS.indexOf('locked_until') + 1;
  return statement(
    'plain_insert',
    `INSERT INTO ${records} (${RECORD_COLUMNS.join(', ')}, version, due_at)
VALUES (${values.join(', ')}, 1, ${now} + $${due}::bigint)
ON CONFLICT (scope, key) DO NOTHING RETURNING created_at, expires_at`,
  );
}

/** What a record is made of, as parameters. */
export function parametersOf(record: SamekeyRecord): SqlValue[] {
  return recordValues(record).map(parameterOf);
}

function parameterOf(value: string | number | bigint | Uint8Array | null): SqlValue {
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
}

/** The time, and the later one, in milliseconds. */
export function timeStatement({ now, later }: Layout): Statement {
  return statement('plain_time', `SELECT ${now}, ${later}`);
}

/**
 * The record of $1 and $2: the time and the later one (0 where a statement of its own asks for them), the version, the
 * columns.
 */
export function readStatement(layout: Layout, lock: '' | 'FOR UPDATE'): Statement {
  return statement(
    lock === '' ? 'plain_read' : 'plain_lock',
    `SELECT ${seenColumns(layout)} FROM ${layout.records} r WHERE r.scope = $1::text AND r.key = $2::text ${lock}`.trimEnd(),
  );
}

/** What `seenOf` reads. */
export function seenColumns({ facts, now, later }: Layout): string {
  return `${facts.oneClock ? `${now}, ${later}` : '0::bigint, 0::bigint'}, r.version, ${COLUMNS}`;
}

/** Which columns a write sets; each holds those before it. A renewal carries neither answer nor input. */
const SETS: readonly ReadonlySet<string>[] = [
  new Set([
    'state',
    'attempt',
    'claim_id',
    'locked_until',
    'claim_ttl_ms',
    'renewals',
    'proof',
    'reason',
    'reconcile_after',
    'inquiries',
    'finished_at',
    'expires_at',
    'intent_at',
  ]),
  new Set(RECORD_COLUMNS.filter((name) => name !== 'input')),
  new Set(RECORD_COLUMNS),
];

/**
 * Writes `after` over `before`, which was read in `version`; only until `deadline` by the later clock, because the
 * times in it were computed from the reading. Gives a row if it was written.
 */
export function updateStatement(
  { records, later }: Layout,
  version: string,
  before: SamekeyRecord,
  after: SamekeyRecord,
  deadline: number,
): Bound {
  const [old, young] = [recordValues(before), recordValues(after)];
  const changed = RECORD_COLUMNS.filter((_, i) => old[i] !== young[i]);
  const size = SETS.findIndex((columns) => changed.every((name) => columns.has(name)));
  const values: SqlValue[] = [];
  const parameter = (value: SqlValue, type: string): string => `$${values.push(value)}::${type}`;
  const sets = RECORD_COLUMNS.flatMap((name, i) =>
    SETS[size]?.has(name) === true && name !== 'scope' && name !== 'key'
      ? [`${name} = ${parameter(parameterOf(young[i] ?? null), typeOf(name))}`]
      : [],
  );
  sets.push(`due_at = ${parameter(String(dueAt(after)), 'bigint')}`, 'version = version + 1');
  const fence = fenceOf(parameter, version, before);
  const text = `UPDATE ${records} SET ${sets.join(', ')} WHERE ${fence} AND ${later} <= ${parameter(String(deadline), 'bigint')} RETURNING version`;
  return { statement: statement(`plain_write_${size}`, text), values };
}

/** Deletes what was read in `version`. Gives a row if it was deleted. */
export function deleteStatement({ records }: Layout, version: string, before: SamekeyRecord): Bound {
  const values: SqlValue[] = [];
  const parameter = (value: SqlValue, type: string): string => `$${values.push(value)}::${type}`;
  const fence = fenceOf(parameter, version, before);
  return {
    statement: statement('plain_delete', `DELETE FROM ${records} WHERE ${fence} RETURNING version`),
    values,
  };
}

/** Versions begin again after a deletion, claimIds never repeat: both are compared. */
function fenceOf(
  parameter: (value: SqlValue, type: string) => string,
  version: string,
  { scope, key, claimId, attempt, state }: SamekeyRecord,
): string {
  const terms = [
    `scope = ${parameter(scope, 'text')}`,
    `key = ${parameter(key, 'text')}`,
    `version = ${parameter(version, 'bigint')}`,
    `claim_id = ${parameter(claimId, 'text')}`,
    `attempt = ${parameter(String(attempt), 'integer')}`,
    `state = ${parameter(state, 'text')}`,
  ];
  return terms.join(' AND ');
}

/**
 * When somebody must look at it: the end of a claim or deadline, since when nobody knows, or when it may be deleted.
 */
function dueAt({ state, lockedUntil, expiresAt, tombstoneMs }: SamekeyRecord): number {
  if (state !== 'completed' && state !== 'failed' && state !== 'retryable') return lockedUntil;
  return Math.min(NEVER, expiresAt + tombstoneMs);
}
