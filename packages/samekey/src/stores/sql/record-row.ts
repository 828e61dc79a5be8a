/**
 * Records as rows: the one place where fields and columns meet, for every store that speaks SQL. Columns are named for
 * people who look into the table with a SQL shell: numbers are milliseconds since 1970, header lines are JSON, bodies
 * bytes.
 *
 * Invariants: what is written reads back equal to the byte, also an empty body beside one that was not kept · columns
 * this code does not know are ignored, so a record of newer code is still readable enough to be reported as such · text
 * that SQL databases cut or alter (NUL, lone surrogates) is refused where it identifies, replaced where it is for
 * people.
 */

import { StoreError } from '../../core/errors.ts';
import type { Proof, RecordId, SamekeyRecord, State, WhenClaimEnds } from '../../core/record.ts';
import type { HeaderLine, StoredResponse } from '../../core/response.ts';

/** What a driver takes and gives for one column. */
export type ColumnValue = string | number | bigint | Uint8Array | null;

/** A row as drivers give it; types differ between them, so each field is read through a converter. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of a record, in the order of {@link recordValues}; `scope` and `key` lead. */
export const RECORD_COLUMNS: readonly string[] = [
  'scope',
  'key',
  'operation',
  'state',
  'attempt',
  'claim_id',
  'locked_until',
  'claim_ttl_ms',
  'renewals',
  'when_claim_ends',
  'fingerprint_label',
  'fingerprint_digest',
  'proof',
  'reason',
  'response_status',
  'response_headers',
  'response_trailers',
  'format_version',
  'seal_key_id',
  'reconcile_after',
  'inquiries',
  'created_at',
  'finished_at',
  'expires_at',
  'replay_min_ms',
  'attempt_max',
  'tombstone_ms',
  'recovery_point',
  'steps',
  'intent_at',
  'input',
  'response_body',
];

/** The values of a record for {@link RECORD_COLUMNS}. Throws `StoreError` for identifying text that SQL would alter. */
export function recordValues(record: SamekeyRecord): ColumnValue[] {
  const { fingerprint, response } = record;
  return [
    exact(record.scope),
    exact(record.key),
    exact(record.operation),
    record.state,
    record.attempt,
    exact(record.claimId),
    record.lockedUntil,
    record.claimTtlMs,
    record.renewals,
    record.whenClaimEnds,
    fingerprint === null ? null : exact(fingerprint.label),
    fingerprint === null ? null : exact(fingerprint.digest),
    record.proof,
    shown(record.reason),
    response?.status ?? null,
    response === null ? null : linesText(response.headers),
    response?.trailers === undefined ? null : linesText(response.trailers),
    record.formatVersion,
    record.sealKeyId === null ? null : exact(record.sealKeyId),
    record.reconcileAfter,
    record.inquiries,
    record.createdAt,
    record.finishedAt,
    record.expiresAt,
    record.replayMinMs,
    record.attemptMax,
    record.tombstoneMs,
    shown(record.recoveryPoint),
    record.steps,
    record.intentAt,
    record.input,
    response?.body ?? null,
  ];
}

/** The record in a row. */
export function rowRecord(row: Row): SamekeyRecord {
  const label = textOrNull(row['fingerprint_label']);
  return Object.freeze<SamekeyRecord>({
    scope: text(row['scope']),
    key: text(row['key']),
    operation: text(row['operation']),
    // A state only newer code knows stays what it is: such a record is judged by its format version before its state.
    state: text(row['state']) as State,
    attempt: number(row['attempt']),
    claimId: text(row['claim_id']),
    lockedUntil: number(row['locked_until']),
    claimTtlMs: number(row['claim_ttl_ms']),
    renewals: number(row['renewals']),
    whenClaimEnds: text(row['when_claim_ends']) as WhenClaimEnds,
    fingerprint: label === null ? null : { label, digest: text(row['fingerprint_digest']) },
    proof: textOrNull(row['proof']) as Proof | null,
    reason: textOrNull(row['reason']),
    response: rowResponse(row),
    formatVersion: number(row['format_version']),
    sealKeyId: textOrNull(row['seal_key_id']),
    reconcileAfter: numberOrNull(row['reconcile_after']),
    inquiries: number(row['inquiries']),
    createdAt: number(row['created_at']),
    finishedAt: numberOrNull(row['finished_at']),
    expiresAt: number(row['expires_at']),
    replayMinMs: number(row['replay_min_ms']),
    attemptMax: number(row['attempt_max']),
    tombstoneMs: number(row['tombstone_ms']),
    recoveryPoint: textOrNull(row['recovery_point']),
    steps: textOrNull(row['steps']),
    intentAt: numberOrNull(row['intent_at']),
    input: bytesOrNull(row['input']),
  });
}

/** Throws `StoreError` when an id holds text that SQL would alter: it could meet the record of another key. */
export function checkIds(ids: readonly RecordId[]): void {
  for (const { scope, key } of ids) {
    exact(scope);
    exact(key);
  }
}

/** A number column; drivers give int8 as number, bigint or text. */
export function number(value: unknown): number {
  return typeof value === 'number' ? value : Number(value);
}

function rowResponse(row: Row): StoredResponse | null {
  if (row['response_status'] === null) return null;
  const trailers = textOrNull(row['response_trailers']);
  return {
    status: number(row['response_status']),
    headers: linesOf(text(row['response_headers'])),
    body: bytesOrNull(row['response_body']),
    ...(trailers === null ? {} : { trailers: linesOf(trailers) }),
  };
}

/**
 * NUL ends a text for some drivers (libsql), a lone surrogate becomes U+FFFD in UTF-8: both would make two keys one.
 */
// oxlint-disable-next-line no-control-regex
const ALTERED = /[\u0000\u{d800}-\u{dfff}]/gu;

/** Whether nothing in a text would be altered: for Node's own look, which is faster than an expression. */
function isPlain(value: string): boolean {
  const look = value as string & { isWellFormed?(): boolean };
  const isWellFormed = look.isWellFormed?.() ?? !new RegExp(ALTERED).test(value);
  return isWellFormed && !value.includes('\0');
}

/** Text that identifies: returned as it is, or refused with `StoreError` when SQL would alter it. */
export function exact(value: string): string {
  if (isPlain(value)) return value;
  throw new StoreError(
    'A scope, key, operation or fingerprint holds a NUL or half of a surrogate pair, which this store cannot keep as it is: ' +
      'encode it before it reaches the store.',
    { applied: 'no', transient: false },
  );
}

/** Text for people: what SQL would alter is replaced. */
export function shown(value: string | null): string | null {
  if (value === null || isPlain(value)) return value;
  return value.replaceAll(ALTERED, '\u{fffd}');
}

/** Header lines as JSON, which escapes what SQL text would alter, so that values come back as they were. */
export function linesText(lines: readonly HeaderLine[]): string {
  return JSON.stringify(lines).replaceAll('\u{0}', '\\u0000');
}

/** The header lines in such a text. */
export function linesOf(json: string): HeaderLine[] {
  return JSON.parse(json) as HeaderLine[];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : String(value);
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : text(value);
}

function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : number(value);
}

/** Drivers give bytes as Uint8Array, Buffer or ArrayBuffer (libsql's `all`); a view costs no copy. */
function bytesOrNull(value: unknown): Uint8Array | null {
  if (value === null || value === undefined) return null;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return new Uint8Array(value as ArrayBuffer);
}
