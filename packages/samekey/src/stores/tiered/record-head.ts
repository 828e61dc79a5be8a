/**
 * The fields of a final record as plain JSON, and back: every field is looked at, because a cache may hold anything.
 */

import { type RecordId, type SamekeyRecord, STATES } from '../../core/record.ts';

/** A record that was read earlier. */
export interface Entry {
  readonly record: SamekeyRecord;
  /** The store's clock when it read the record, in milliseconds since 1970. */
  readonly readAt: number;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isWhole: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLines(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((line) => Array.isArray(line) && line.length === 2 && line.every(isText))
  );
}

function isFingerprint(value: unknown): boolean {
  return isObject(value) && isText(value['label']) && isText(value['digest']);
}

function isResponse(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { status, headers, trailers } = value;
  const isStatus = isWhole(status) && (status as number) >= 200 && (status as number) <= 599;
  return isStatus && isLines(headers) && (trailers === undefined || isLines(trailers));
}

/**
 * Every field but those that stand beside the head. A field that is new in the record does not compile until it is
 * named here.
 */
const FIELDS: Readonly<
  Record<Exclude<keyof SamekeyRecord, 'scope' | 'key' | 'input' | 'unreadable'>, Check>
> = {
  claimId: isText,
  attempt: isWhole,
  operation: isText,
  state: isOneOf(...STATES.filter((state) => state === 'completed' || state === 'failed')),
  lockedUntil: isWhole,
  claimTtlMs: isWhole,
  renewals: isWhole,
  whenClaimEnds: isOneOf('unknown', 'resume'),
  fingerprint: isFingerprint,
  proof: isOneOf(null, 'rolledBack', 'declared', 'settled', 'policy'),
  reason: orNull(isText),
  response: isResponse,
  formatVersion: isWhole,
  sealKeyId: orNull(isText),
  reconcileAfter: orNull(isWhole),
  inquiries: isWhole,
  createdAt: isWhole,
  finishedAt: orNull(isWhole),
  expiresAt: isWhole,
  replayMinMs: isWhole,
  attemptMax: isWhole,
  tombstoneMs: isWhole,
  recoveryPoint: orNull(isText),
  steps: orNull(isText),
  intentAt: orNull(isWhole),
};
const NAMES = Object.keys(FIELDS) as readonly (keyof typeof FIELDS)[];

/** What goes into the head of an entry. */
export function headOf(record: SamekeyRecord, readAt: number): unknown {
  const fields: Record<string, unknown> = {};
  for (const name of NAMES) fields[name] = record[name];
  const { status, headers, trailers } = record.response ?? { status: 0, headers: [] };
  fields['response'] = { status, headers, ...(trailers !== undefined && { trailers }) };
  return { readAt, inputLength: record.input?.length ?? null, fields };
}

/** The record of a head and of the bytes behind it, under the id it was asked for; null when it has not that shape. */
export function recordOfHead({ scope, key }: RecordId, head: unknown, bytes: Uint8Array): Entry | null {
  if (!isObject(head)) return null;
  const { readAt, inputLength, fields } = head;
  if (!isWhole(readAt) || !orNull(isWhole)(inputLength) || !isObject(fields)) return null;
  if (Object.keys(fields).length !== NAMES.length) return null;
  if (!NAMES.every((name) => name in fields && FIELDS[name](fields[name]))) return null;
  const inputBytes = (inputLength as number | null) ?? 0;
  const bodyEnd = bytes.length - inputBytes;
  if (bodyEnd < 0) return null;
  const record = {
    ...fields,
    scope,
    key,
    response: { ...(fields['response'] as object), body: new Uint8Array(bytes.subarray(0, bodyEnd)) },
    input: inputLength === null ? null : new Uint8Array(bytes.subarray(bodyEnd)),
  } as unknown as SamekeyRecord;
  return { record: Object.freeze(record), readAt: readAt as number };
}
