/**
 * The stored row of `(scope, key)` (contract §3.1). Records are plain frozen data: a transition makes a new one.
 */

import type { StoredResponse } from './response.ts';

/** The states a record is stored in. `expired` is not among them: it follows from `expiresAt`. */
export type State = 'pending' | 'in_progress' | 'completed' | 'failed' | 'retryable' | 'unknown';

/** All states, in the order of contract §3.2. */
export const STATES: readonly State[] = [
  'pending',
  'in_progress',
  'completed',
  'failed',
  'retryable',
  'unknown',
];

/** What a record is found by. `scope` already carries the operation's identity (see `scope.ts`). */
export interface RecordId {
  readonly scope: string;
  readonly key: string;
}

/** What every write after a claim must match: the attempt number, and the claimId good for that attempt once. */
export interface Fence {
  readonly claimId: string;
  readonly attempt: number;
}

/** Why an earlier attempt is proven without effect (contract §1). */
export type Proof = 'rolledBack' | 'declared' | 'settled' | 'policy';

/**
 * What becomes of a record whose claim ended without a word from its owner: `unknown` when the attempt may have taken
 * effect (plain way), `resume` when the next attempt may run (transactional and phased ways, or by choice).
 */
export type WhenClaimEnds = 'unknown' | 'resume';

/** The digest of what must be equal on a retry, under a label that names how it was made. */
export interface Fingerprint {
  readonly label: string;
  readonly digest: string;
}

/** The record format this code writes; it reads this one and every earlier one. */
export const FORMAT_VERSION = 1;

/** The stored row of one `(scope, key)`. Times are milliseconds since 1970 by the store's clock. */
export interface SamekeyRecord extends RecordId, Fence {
  readonly operation: string;
  readonly state: State;
  /**
   * `in_progress`: the claim ends at this time unless renewed. `retryable`: no claim is granted before this time
   * (reopened or forgotten while its answer may still be replayed elsewhere). `pending`: its deadline. `unknown`: since
   * when nobody knows, which is when its owner gave it up or its last claim was over. Meaningless in final states.
   */
  readonly lockedUntil: number;
  /**
   * How long the claim was granted for, in milliseconds: what a contender on a monotonic clock must wait. Reopened or
   * forgotten: how long it is held back.
   */
  readonly claimTtlMs: number;
  /** How often the claim was renewed; a contender without a server clock watches it stand still. */
  readonly renewals: number;
  readonly whenClaimEnds: WhenClaimEnds;
  /** Null after an attempt declared itself correctable: the next claim binds its own. */
  readonly fingerprint: Fingerprint | null;
  /** Why the last attempt is proven without effect, if it is; `settled` also marks an outcome somebody else decided. */
  readonly proof: Proof | null;
  /** The last error code or remark, for people. */
  readonly reason: string | null;
  readonly response: StoredResponse | null;
  readonly formatVersion: number;
  readonly sealKeyId: string | null;
  /**
   * When a reconciler should look at an unknown outcome (next); null elsewhere. The end of the year 9999: given up, an
   * operator must look.
   */
  readonly reconcileAfter: number | null;
  /**
   * How often a reconciler has begun to ask about this unknown outcome: counted by the take, so a reconciler that died
   * while it asked counts too. 0 again with the next word of its owner or the next attempt; a settled record keeps it.
   */
  readonly inquiries: number;
  readonly createdAt: number;
  readonly finishedAt: number | null;
  /** End of the retention, frozen at first use; only a late finish may move it, and only later. */
  readonly expiresAt: number;
  /** How long a record lives at least after it became final, in milliseconds. */
  readonly replayMinMs: number;
  /**
   * How many attempts it has: the most that any code has allowed that claimed it, so that a bound made lower takes none
   * away (F118).
   */
  readonly attemptMax: number;
  /** How long the expired record still answers "gone" instead of running again, in milliseconds; 0 for not at all. */
  readonly tombstoneMs: number;
  /** The last committed phase, where a later attempt goes on; for people, the steps say it all. */
  readonly recoveryPoint: string | null;
  /**
   * Results of phases and effects so far, as JSON (`ways/steps.ts`); null before the first. Stores do not look inside.
   */
  readonly steps: string | null;
  /** When the intent of an effect was stored whose result is not; such a record does not expire. */
  readonly intentAt: number | null;
  /**
   * The operation's input as bytes, if others than the client may push it on; null for plain and transactional ways.
   */
  readonly input: Uint8Array | null;
  /** Set where a sealed part could not be opened: it is then null here, and nothing may be concluded from that. */
  readonly unreadable?: Unreadable;
}

/** Why a sealed part of a record or a message could not be opened (`samekey/seal`). */
export interface Unreadable {
  /** The first part of which that is so. */
  readonly part: 'response' | 'steps' | 'input' | 'payload' | 'headers';
  readonly keyId: string;
  /** `missing-key`: the ring has no key of this id. `broken-seal`: it has, and it does not open it. */
  readonly cause: 'missing-key' | 'broken-seal';
}

/** Whether the record is final: nothing but expiry or an operator moves it. */
export function isFinal(record: SamekeyRecord): boolean {
  return record.state === 'completed' || record.state === 'failed';
}

/** Whether the record is past its retention. `pending`, `in_progress`, `unknown` and open intents never expire. */
export function isExpired(record: SamekeyRecord, now: number): boolean {
  const mayExpire = isFinal(record) || (record.state === 'retryable' && record.intentAt === null);
  return mayExpire && record.expiresAt <= now;
}

/** Whether the work of a `pending` record is with the worker of a message, and not waiting to be claimed. */
export function isHandedOver(record: SamekeyRecord): boolean {
  return record.state === 'pending' && record.attempt > 0;
}

/** The reason of a record whose steps the code that met it does not know. */
export const PHASES_CHANGED = 'phases-changed';
/** The reason of a record whose open effect is repeated by another rule than the code that met it has. */
export const EFFECT_RULE_CHANGED = 'effect-rule-changed';
/** The reason of a record whose transaction was ended inside the handler. */
export const ENDED_INSIDE = 'transaction-ended-inside';

/**
 * How long such a record is code's alone, in milliseconds: the time of a rolling deploy or of a rollback. Then
 * reconcilers ask about it, who may not know its steps either.
 */
export const LEFT_TO_CODE_MS = 3_600_000;

/**
 * Whether nobody knows its outcome because the code that met it did not fit what it holds, and nobody has settled it
 * since: code that fits takes it up again (F109), so that a rolling deploy and a rollback leave nothing behind.
 */
export function isLeftToCode({ state, reason }: Pick<SamekeyRecord, 'state' | 'reason'>): boolean {
  return state === 'unknown' && (reason === PHASES_CHANGED || reason === EFFECT_RULE_CHANGED);
}

/**
 * Whether a worker may push it on: accepted and not begun, resumable, or left to code that fits it; with its input
 * stored. What its client was told to correct waits for the client.
 */
export function isDue(record: SamekeyRecord, now: number, backoff: Backoff = {}): boolean {
  if (record.input === null || record.fingerprint === null) return false;
  if (record.state === 'pending') return !isHandedOver(record) && record.lockedUntil > now;
  const isOpen = record.state === 'retryable' ? !isExpired(record, now) : isLeftToCode(record);
  if (!isOpen) return false;
  return record.lockedUntil + pauseOf(record, backoff) <= now;
}

/** A place among those that are due (`DuePlace`): by `createdAt`, then by scope and key. Below 0: `a` comes first. */
export function compareDue(a: DueOrder, b: DueOrder): number {
  return a.createdAt - b.createdAt || compareText(a.scope, b.scope) || compareText(a.key, b.key);
}

type DueOrder = Pick<SamekeyRecord, 'createdAt' | 'scope' | 'key'>;

/** Both are ASCII, so code units are bytes. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** As in `DueRequest`. */
interface Backoff {
  readonly backoffMinMs?: number;
  readonly backoffMaxMs?: number;
}

/** How long a worker waits after an attempt: else a provider that is away for a moment would use up all of them. */
function pauseOf(
  { attempt, proof }: SamekeyRecord,
  { backoffMinMs = 0, backoffMaxMs = backoffMinMs }: Backoff,
): number {
  if (attempt < 2 || proof === 'settled') return 0;
  return Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(attempt - 2, DOUBLED_MAX));
}

/** Doubled so often at most: no clock counts further. */
export const DOUBLED_MAX = 30;

/**
 * How long the record's attempt has held its claim, or a pending request has waited, in milliseconds by the store's
 * clock; 0 in other states. Exact until the first renewal. From then on at most what it is, and at least two thirds of
 * it: a claim is renewed when a third to a half of it has passed. Where steps are recorded, each of which renews, it is
 * counted from the last of them.
 */
export function attemptAgeMs(record: SamekeyRecord, now: number): number {
  const { state, createdAt, lockedUntil, claimTtlMs, renewals, steps } = record;
  const lifeMs = Math.max(0, now - createdAt);
  if (state === 'pending') return lifeMs;
  if (state !== 'in_progress') return 0;
  const sinceRenewalMs = Math.min(claimTtlMs, Math.max(0, now - (lockedUntil - claimTtlMs)));
  if (renewals === 0 || steps !== null) return sinceRenewalMs;
  return Math.max(sinceRenewalMs, Math.min(lifeMs, sinceRenewalMs + (renewals * claimTtlMs) / 3));
}

/** Whether the record is past its retention and past its time as a tombstone: it may be deleted, and acts as absent. */
export function isPurgeable(record: SamekeyRecord, now: number): boolean {
  return isExpired(record, now) && record.expiresAt + record.tombstoneMs <= now;
}

/**
 * Of the records under all names of an operation, in the order of looking, the one that counts: what was forgotten or
 * is past must not hide one that lives. Undefined where none lives.
 */
export function firstLiving(records: readonly SamekeyRecord[], now: number): SamekeyRecord | undefined {
  return records.find((record) => !isForgotten(record) && !isPurgeable(record, now));
}

/**
 * How long a process may answer from what it read (`replay-cache.ts`), in milliseconds, counted on its own clock from
 * when it asked.
 */
export const REPLAY_TRUST_MAX_MS = 5_000;

/**
 * How long a reopened or forgotten key whose answer could be replayed waits before it runs again, in milliseconds by
 * the store's clock: what may still be trusted elsewhere, and a second for clocks that do not run alike.
 */
export const REOPEN_DELAY_MS = 6_000;

/** Whether an answer of this record may be replayed, by the store or from what a process read earlier. */
export function isReplayable(record: SamekeyRecord, now: number): boolean {
  return (
    isFinal(record) && record.response !== null && record.response.body !== null && !isExpired(record, now)
  );
}

const ERASED = 'erased:';

/** How the claimId of a pointer begins (`pointer.ts`). */
export const POINTER_CLAIM = 'pointer:';

/** The reason of what was given back because it belongs under another identity; nothing ran under it. */
export const NAME_EXPIRED = 'former-name-expired';

/** Whether it was to become a pointer, and whoever laid it did not come so far: nothing ever ran under it. */
export function isHalfPointer({ state, claimId }: Pick<SamekeyRecord, 'state' | 'claimId'>): boolean {
  return state !== 'completed' && claimId.startsWith(POINTER_CLAIM);
}

/**
 * Whether it was a pointer of a caller whose records were erased: nothing ever runs there, and where it led is
 * forgotten.
 */
export function isErasedPointer({ claimId }: Pick<SamekeyRecord, 'claimId'>): boolean {
  return claimId.startsWith(ERASED + POINTER_CLAIM);
}

/** Whether a pointer may take its place: nothing ever ran there, or it was given back to be used so. */
export function isVacant(record: SamekeyRecord): boolean {
  if (record.steps !== null || isFinal(record)) return false;
  return isHalfPointer(record) || (record.state === 'retryable' && record.reason === NAME_EXPIRED);
}

const FORGOTTEN = 'forgotten:';

/**
 * The claimId of what is left of a forgotten record until its key acts as never used. Another one than its owner's, so
 * that every write under the old fence is refused by the fence alone.
 */
export function forgottenClaimId(claimId: string): string {
  return FORGOTTEN + claimId;
}

/** Whether the record was forgotten and only keeps its key from running too early. */
export function isForgotten(record: SamekeyRecord): boolean {
  return record.state === 'retryable' && record.claimId.startsWith(FORGOTTEN);
}

const REOPENED = 'reopened:';

/**
 * The claimId of a reopened record. Another one than its owner's, so that a late copy of the end that the owner wrote
 * long ago does not undo what was done by hand.
 */
export function reopenedClaimId(claimId: string): string {
  return REOPENED + claimId;
}

/** Whether the record was reopened or forgotten by hand, and nobody has claimed it since. */
export function isByHand({ claimId }: Pick<SamekeyRecord, 'claimId'>): boolean {
  return claimId.startsWith(REOPENED) || claimId.startsWith(FORGOTTEN);
}

/**
 * The claimId of an erased record. Another one than its owner's, so that nothing that comes late under the old fence
 * brings its content back.
 */
export function erasedClaimId(claimId: string): string {
  return ERASED + claimId;
}

/** Whether the record was erased: what it held is gone, and its key never runs again. */
export function isErased(record: SamekeyRecord): boolean {
  return isFinal(record) && record.claimId.startsWith(ERASED);
}

/** One string for one `(scope, key)`, injective because the length of the scope leads; for maps in memory. */
export function idText(id: RecordId): string {
  return `${id.scope.length}:${id.scope}${id.key}`;
}
