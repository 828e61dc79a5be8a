/**
 * The audit: what was done to records by hand, and what contradicted itself, as rows that are only ever added. A row
 * names the record and carries none of its content.
 *
 * Invariants: an act by hand and its row are one write, so neither is there without the other · an act that was
 * refused, or had been done before, leaves no row · nothing updates a row, and nothing deletes one but `pruneAudit` by
 * age.
 */

import { StoreError } from '../core/errors.ts';
import type { RecordId, SamekeyRecord, State } from '../core/record.ts';

/** Who acts by hand, and why; both go to the audit. */
export interface ByHand {
  /** For people; 1 to 1,000 characters that are not all blank. No personal data: it outlives the record. */
  readonly reason: string;
  /** Who did it, as the caller names people or programs; at most 200 characters. Null: not told. */
  readonly actor: string | null;
}

/**
 * What a row is about: an act by hand (`settle`, `reopen`, `forget`, `erase`, `requeue`, `drop`; `reveal`: somebody was
 * shown what a record holds), something that happened (`contradiction`, `give-up`), or any change of a record's state
 * (`transition`; only with the store's option `auditTransitions`).
 */
export type AuditAct =
  | 'settle'
  | 'reopen'
  | 'forget'
  | 'erase'
  | 'contradiction'
  | 'give-up'
  | 'requeue'
  | 'drop'
  | 'reveal'
  | 'transition';

/** All acts. */
export const AUDIT_ACTS: readonly AuditAct[] = [
  'settle',
  'reopen',
  'forget',
  'erase',
  'contradiction',
  'give-up',
  'requeue',
  'drop',
  'reveal',
  'transition',
];

/** A row to add; the store numbers it and gives it its time. */
export interface NewAuditRow extends RecordId {
  readonly operation: string | null;
  readonly attempt: number;
  readonly act: AuditAct;
  /** Null: there was no record, or the row is not about a change. */
  readonly from: State | null;
  /** Null: the record is gone, or the row is not about a change. For a `contradiction`: what its attempt wanted. */
  readonly to: State | null;
  readonly reason: string | null;
  readonly actor: string | null;
}

/** A row of the audit. For a message without a record `scope` is empty and `key` is the message's id. */
export interface AuditRow extends NewAuditRow {
  /** Grows; a decimal number, which may be larger than a double holds. */
  readonly seq: string;
  /** Milliseconds since 1970 by the store's clock. */
  readonly at: number;
}

/** Which rows somebody wants to see; newest first. */
export interface AuditRequest {
  readonly scope?: string;
  /** Of a record's key; with `scope`. */
  readonly key?: string;
  readonly acts?: readonly AuditAct[];
  /** Only rows with a smaller `seq`, for paging. */
  readonly before?: string;
  /** 1–1000; default 100. */
  readonly limit?: number;
}

/** Which rows are old enough to go. */
export interface PruneAuditRequest {
  /** By the store's clock; 0 or more. */
  readonly olderThanMs: number;
  readonly acts: readonly AuditAct[];
  /** Rows at most. */
  readonly limit: number;
}

/** The audit's verbs. */
export interface AuditStore {
  audit(request: AuditRequest): Promise<readonly AuditRow[]>;
  /**
   * Adds rows about what no write of the store stands for, such as contradictions; at most {@link NOTES_MAX} in one
   * call.
   */
  note(rows: readonly NewAuditRow[]): Promise<void>;
  /** Deletes old rows, the oldest first; returns how many. */
  pruneAudit(request: PruneAuditRequest): Promise<number>;
}

/** Rows of one `note` at most. */
export const NOTES_MAX = 1_000;
/** Characters of a reason at most. */
export const REASON_LENGTH_MAX = 1_000;
/** Characters of an actor's name at most. */
export const ACTOR_LENGTH_MAX = 200;

const LIST_LIMIT = 100;
const LIST_LIMIT_MAX = 1_000;

/** How many rows an `audit` gives at most. */
export function auditLimit({ limit }: AuditRequest): number {
  return Math.min(LIST_LIMIT_MAX, Math.max(1, limit ?? LIST_LIMIT));
}

/** The row that an act by hand leaves. What is forgotten is gone, although its key may be held for a while. */
export function handRow(
  act: AuditAct,
  before: SamekeyRecord,
  after: SamekeyRecord | null,
  { reason, actor }: ByHand,
): NewAuditRow {
  const { scope, key, operation, attempt, state: from } = before;
  const to = act === 'forget' ? null : (after?.state ?? null);
  return { scope, key, operation, attempt, act, from, to, reason, actor };
}

/** The row of an unknown outcome that is given up; undefined for one that is only looked at later. */
export function giveUpRow(
  before: SamekeyRecord,
  after: SamekeyRecord | null,
  { afterMs, reason }: { readonly afterMs: number | null; readonly reason: string | null },
): NewAuditRow | undefined {
  if (afterMs !== null) return undefined;
  const { scope, key, operation, attempt, state: from } = before;
  const row = { scope, key, operation, attempt, from, to: after?.state ?? null, actor: null };
  return { ...row, act: 'give-up', reason: reason?.slice(0, REASON_LENGTH_MAX) ?? null };
}

/**
 * The row of a change of state, for stores that write it themselves; undefined when neither state nor attempt nor claim
 * changed. A record that goes leaves none: forgetting has a row of its own, and what was reaped had ended before.
 */
export function transitionRow(
  before: SamekeyRecord | null,
  after: SamekeyRecord | null,
): NewAuditRow | undefined {
  if (after === null) return undefined;
  const { scope, key, operation, attempt, claimId, state: to, reason } = after;
  if (before?.state === to && before.attempt === attempt && before.claimId === claimId) return undefined;
  const from = before?.state ?? null;
  return { scope, key, operation, attempt, act: 'transition', from, to, reason, actor: null };
}

/** Throws `StoreError` (nothing applied) unless each act by hand says why, within bounds. */
export function checkByHand(acts: readonly ByHand[]): void {
  for (const { reason, actor } of acts) {
    if (typeof reason !== 'string' || reason.trim() === '' || reason.length > REASON_LENGTH_MAX) {
      const found =
        typeof reason === 'string' ? `of ${reason.length} characters` : `of type ${typeof reason}`;
      throw refused(
        `An act by hand needs a reason of 1 to ${REASON_LENGTH_MAX} characters that are not all blank; this one is ${found}: say why.`,
      );
    }
    if (actor !== null && (typeof actor !== 'string' || actor === '' || actor.length > ACTOR_LENGTH_MAX)) {
      const found = typeof actor === 'string' ? `of ${actor.length} characters` : `of type ${typeof actor}`;
      throw refused(
        `The actor of an act by hand is a name of 1 to ${ACTOR_LENGTH_MAX} characters, or null; this one is ${found}.`,
      );
    }
  }
}

/** Throws `StoreError` (nothing applied) unless the request says why, and names a caller as `callerScope` does. */
export function checkErase(request: ByHand & { readonly scope: string }): void {
  checkByHand([request]);
  if (request.scope === '' || request.scope.includes('|')) {
    throw refused(
      `erase() takes the caller's part of a scope; it was given ${request.scope === '' ? 'an empty text' : 'one with an operation'}: pass callerScope(parts).`,
    );
  }
}

/** Throws `StoreError` (nothing applied) for more rows than one call may add. */
export function checkNotes(rows: readonly NewAuditRow[]): void {
  if (rows.length > NOTES_MAX)
    throw refused(
      `note() takes at most ${NOTES_MAX} rows; it was given ${rows.length}: call it again for the rest.`,
    );
}

function refused(message: string): StoreError {
  return new StoreError(message, { applied: 'no', transient: false });
}
