/**
 * Records as fields of a hash: few, because each costs the server and the wire as much as its bytes. `head` is what
 * scripts look at and change, as words; `made` and `end` are what a claim and an end write once, as texts between NULs;
 * what may be large has a field of its own. People read them with `redis-cli HGETALL`; docs/internals/redis.md names
 * the words.
 *
 * Invariants: what is written reads back equal to the byte · a word that is not there is `-`, a text that is not there
 * is empty and one that is there begins with `=`.
 */

import type { Proof, SamekeyRecord, State, WhenClaimEnds } from '../../core/record.ts';
import type { StoredResponse } from '../../core/response.ts';
import { exact, linesOf, linesText, shown } from '../sql/record-row.ts';
import type { Argument } from './client.ts';
import { unreadableRecord } from './errors.ts';

/** A record, and what a compare-and-set on it must match. */
export interface Seen {
  readonly record: SamekeyRecord;
  readonly version: string;
  /** The server's time when it was read, in milliseconds. */
  readonly now: number;
}

/**
 * The words of `head`, in their order. `due` is 1 when the record has an input and a fingerprint. `claim_id` is the
 * last, as it may hold blanks.
 */
export const HEAD_WORDS: readonly string[] = [
  'version',
  'state',
  'attempt',
  'created_at',
  'locked_until',
  'expires_at',
  'finished_at',
  'reconcile_after',
  'intent_at',
  'claim_ttl_ms',
  'renewals',
  'replay_min_ms',
  'tombstone_ms',
  'due',
  'claim_id',
];

/** `head` from `claim_ttl_ms` on: what a fresh claim knows without a clock. */
export function tailOf(record: SamekeyRecord): string {
  const { claimTtlMs, renewals, replayMinMs, tombstoneMs, input, fingerprint, claimId } = record;
  const due = input !== null && fingerprint !== null ? 1 : 0;
  return `${claimTtlMs} ${renewals} ${replayMinMs} ${tombstoneMs} ${due} ${exact(claimId)}`;
}

/** `head` without its version, which the scripts count. */
export function headOf(record: SamekeyRecord): string {
  const { state, attempt, createdAt, lockedUntil, expiresAt, finishedAt, reconcileAfter, intentAt } = record;
  const times = `${createdAt} ${lockedUntil} ${expiresAt} ${finishedAt ?? '-'} ${reconcileAfter ?? '-'} ${intentAt ?? '-'}`;
  return `${state} ${attempt} ${times} ${tailOf(record)}`;
}

/** What a claim writes once. Throws `StoreError` for text that cannot be kept. */
export function madeOf(record: SamekeyRecord): string {
  const { scope, key, operation, whenClaimEnds, formatVersion, attemptMax, fingerprint, sealKeyId } = record;
  const print = fingerprint === null ? '\0' : `=${exact(fingerprint.label)}\0=${exact(fingerprint.digest)}`;
  const seal = sealKeyId === null ? '' : `=${exact(sealKeyId)}`;
  const way = `${whenClaimEnds}\0${formatVersion}\0${attemptMax}`;
  return `${exact(scope)}\0${exact(key)}\0${exact(operation)}\0${way}\0${print}\0${seal}`;
}

/** How the last attempt ended, without the body of its answer; empty when there is nothing to say. */
export function endOf({ proof, reason, inquiries, response }: SamekeyRecord): string {
  if (proof === null && reason === null && inquiries === 0 && response === null) return '';
  const told = `${optional(proof)}\0${optional(shown(reason))}\0${inquiries}`;
  if (response === null) return `${told}\0\0\0\0`;
  const { status, headers, trailers, body } = response;
  const lines = `${linesText(headers)}\0${trailers === undefined ? '' : linesText(trailers)}`;
  return `${told}\0${status}\0${lines}\0${body === null ? '' : '1'}`;
}

/** The fields beside `head`: those with a value, then the names of those without. */
export function fieldsOf(record: SamekeyRecord): {
  readonly set: readonly Argument[];
  readonly drop: readonly string[];
} {
  return pairsOf([
    ['made', madeOf(record)],
    ['end', endOf(record) || null],
    ['response_body', record.response?.body ?? null],
    ['recovery_point', shown(record.recoveryPoint)],
    ['steps', record.steps],
    ['input', record.input],
  ]);
}

/** Of some fields: which get a value, and which lose theirs. */
export function pairsOf(fields: readonly (readonly [name: string, value: Argument | null])[]): {
  readonly set: readonly Argument[];
  readonly drop: readonly string[];
} {
  const set: Argument[] = [];
  const drop: string[] = [];
  for (const [name, value] of fields) {
    if (value === null) drop.push(name);
    else set.push(name, value);
  }
  return { set, drop };
}

/** What HGETALL gave: a name, a value, and so on; null when there is nothing. */
export function seenOf(flat: readonly unknown[], now: number): Seen | null {
  if (flat.length === 0) return null;
  const fields = new Map<string, unknown>();
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(textOf(flat[i]), flat[i + 1]);
  const [version = ''] = textOf(fields.get('head')).split(' ', 1);
  return { record: recordOf((name) => fields.get(name) ?? null), version, now };
}

/** The fields that most questions need, without what may be large. */
export const SMALL_FIELDS: readonly string[] = ['head', 'made', 'end', 'recovery_point'];

/** What HMGET gave for {@link SMALL_FIELDS}; null when there is nothing, or nothing that can be read. */
export function smallOf(values: readonly unknown[]): SamekeyRecord | null {
  const [head, made] = values;
  if (head === null || head === undefined || made === null || made === undefined) return null;
  return recordOf((name) => values[SMALL_FIELDS.indexOf(name)] ?? null);
}

/** A reply as text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : String(value);
}

function recordOf(field: (name: string) => unknown): SamekeyRecord {
  const [head, made] = [field('head'), field('made')];
  if (head === null || made === null) throw unreadableRecord();
  const words = textOf(head).split(' ');
  const [, state, attempt, createdAt, lockedUntil, expiresAt, finishedAt, reconcileAfter, intentAt] = words;
  const [ttl, renewals, replayMin, tombstone] = words.slice(9);
  const [scope = '', key = '', operation = '', whenClaimEnds, format, attemptMax, ...print] =
    textOf(made).split('\0');
  const [label = '', digest = '', seal = ''] = print;
  const end = field('end');
  const [proof = '', reason = '', inquiries, ...answer] = end === null ? [] : textOf(end).split('\0');
  const [steps, recoveryPoint] = [field('steps'), field('recovery_point')];
  return Object.freeze<SamekeyRecord>({
    scope,
    key,
    operation,
    // A state only newer code knows stays what it is: such a record is judged by its format version before its state.
    state: state as State,
    attempt: Number(attempt),
    claimId: words.slice(HEAD_WORDS.length - 1).join(' '),
    lockedUntil: Number(lockedUntil),
    claimTtlMs: Number(ttl),
    renewals: Number(renewals),
    whenClaimEnds: whenClaimEnds as WhenClaimEnds,
    fingerprint: label === '' ? null : { label: label.slice(1), digest: digest.slice(1) },
    proof: optionalOf(proof) as Proof | null,
    reason: optionalOf(reason),
    response: responseOf(answer, field('response_body')),
    formatVersion: Number(format),
    sealKeyId: optionalOf(seal),
    reconcileAfter: timeOf(reconcileAfter),
    inquiries: Number(inquiries ?? 0),
    createdAt: Number(createdAt),
    finishedAt: timeOf(finishedAt),
    expiresAt: Number(expiresAt),
    replayMinMs: Number(replayMin),
    attemptMax: Number(attemptMax),
    tombstoneMs: Number(tombstone),
    recoveryPoint: recoveryPoint === null ? null : textOf(recoveryPoint),
    steps: steps === null ? null : textOf(steps),
    intentAt: timeOf(intentAt),
    input: bytesOf(field('input')),
  });
}

function responseOf(
  [status = '', headers = '', trailers = '', hasBody]: readonly string[],
  body: unknown,
): StoredResponse | null {
  if (status === '') return null;
  return {
    status: Number(status),
    headers: linesOf(headers),
    body: hasBody === '1' ? (bytesOf(body) ?? NOT_READ) : null,
    ...(trailers === '' ? {} : { trailers: linesOf(trailers) }),
  };
}

/** Of a body that was not asked for. */
const NOT_READ = new Uint8Array(0);

function optional(text: string | null): string {
  return text === null ? '' : `=${text}`;
}

function optionalOf(text: string): string | null {
  return text === '' ? null : text.slice(1);
}

function timeOf(word: string | undefined): number | null {
  return word === undefined || word === '-' ? null : Number(word);
}

/** A view costs no copy. */
function bytesOf(value: unknown): Uint8Array | null {
  if (value === null || !ArrayBuffer.isView(value)) return null;
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}
