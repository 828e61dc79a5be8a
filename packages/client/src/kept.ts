/**
 * An operation in the pending store: entered before anything is sent, marked as sent before the first request leaves,
 * settled after.
 *
 * Invariants: a key is made only where there is none, or where the last one is settled · what another call has written
 * meanwhile is looked at again, never overwritten · keys that were sent live in memory too, so that a store that is
 * cleared in flight makes no second one (F128) · every loop is bounded.
 */

import type { Answer } from './answer.ts';
import { checkOwnKey, looksLikeCounter } from './keys.ts';
import type { Settings, WhenDone } from './options.ts';
import type { ReadRequest } from './request.ts';
import { done, refused, type Told, unknown } from './results.ts';
import {
  keepAnswer,
  type KeptAnswer,
  keptResponse,
  type PendingRow,
  readRow,
  type Row,
  type SettledRow,
} from './row.ts';

/** The pending store failed, or holds what cannot be read: nothing may be sent. */
export class NotKept {
  readonly error: unknown;
  constructor(error: unknown) {
    this.error = error;
  }
}

/** A call that enters. */
interface Entering {
  readonly operation: string;
  readonly request: ReadRequest;
  /** The caller's own key. */
  readonly ownKey: string | null;
  /** Only this key is gone on with, and none is made: what is resumed. */
  readonly onlyKey: string | null;
  readonly whenDone: WhenDone;
  /** Key of the row that was settled when the call began: what ended since is one intent with it. */
  readonly endedKey: string | null;
}

/** A row as it stands. `text` is null where the store has lost it and memory has not. */
export interface Found<Of extends Row = Row> {
  readonly row: Of;
  readonly text: string | null;
}

/** What it enters: the row to send under, what it is told instead, or nothing that could be resumed. */
type Entered =
  | (Found<PendingRow> & { readonly isFirst: boolean })
  | { readonly told: Told; readonly key: string }
  | null;

/** More writers than this at one moment are a fault. */
const TURNS_MAX = 20;

/** A store that does not answer is one that fails: whoever waits for it holds the turn of the others. */
function orNotKept<Value>(
  { world, timeMaxMs, tryTimeMaxMs }: Settings,
  promise: Promise<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(new NotKept(error));
    const timer = world.setTimer(Math.min(timeMaxMs, tryTimeMaxMs), () => fail(new Error('Too slow.')));
    promise.then(resolve, fail).finally(() => timer.cancel());
  });
}

/** Reads a row; throws {@link NotKept}. */
export function look(settings: Settings, operation: string): Promise<Found | null> {
  const { pending, live } = settings;
  const sent = live.get(operation);
  const read = pending.read(operation).then((text) => {
    if (text === null) return sent === undefined ? null : { text, row: sent };
    const row = readRow(text);
    if (row.stage === 'settled' || row.key !== sent?.key) live.delete(operation);
    return { text, row };
  });
  return orNotKept(settings, read);
}

/**
 * Writes what `next` makes of what is there, looking again while others write; or `end`, where it says so. Throws
 * {@link NotKept}.
 */
async function change<Next extends Row, End>(
  settings: Settings,
  operation: string,
  next: (found: Found | null) => Next | { readonly end: End },
): Promise<Found<Next> | { readonly end: End }> {
  const { pending, live } = settings;
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const found = await look(settings, operation);
    const row = next(found);
    if ('end' in row) return row;
    const text = JSON.stringify(row);
    const before = found && found.text;
    if (text !== before && !(await orNotKept(settings, pending.swap(operation, before, text)))) continue;
    if (row.stage === 'sent') live.set(operation, row);
    else live.delete(operation);
    return { row, text };
  }
  throw new NotKept(new Error('Too many changes.'));
}

/** Enters. Throws {@link NotKept}. */
export async function enter(settings: Settings, entering: Entering): Promise<Entered> {
  const { operation, onlyKey } = entering;
  let isFirst = false;
  const entered = await change<PendingRow, Entered>(settings, operation, (found) => {
    const row = found?.row;
    if (onlyKey !== null && row?.key !== onlyKey) return { end: null };
    const told = row === undefined ? null : meet(settings, entering, row);
    if (row !== undefined && told !== null) return { end: { told, key: row.key } };
    isFirst = row === undefined || row.stage === 'settled';
    return row === undefined || row.stage === 'settled'
      ? fresh(settings, entering)
      : { ...row, isShared: true };
  });
  if ('end' in entered) return entered.end;
  settings.emit({ type: isFirst ? 'key-made' : 'joined', operation });
  return { ...entered, isFirst };
}

function fresh(settings: Settings, { request: { digest, kept: request }, ownKey }: Entering): PendingRow {
  const { world } = settings;
  const key = ownKey ?? checkOwnKey(settings.makeKey());
  if (looksLikeCounter(key)) world.warn('SAMEKEY_COUNTER', 'A key looks like a counter.');
  return { v: 1, key, digest, createdAt: world.wallNow(), stage: 'new', request, isShared: false };
}

/** What a call is told by what it finds; null: it goes on with it, or begins anew where it is settled. */
export function meet(settings: Settings, entering: Entering, row: Row): Told | null {
  const { operation, request, ownKey } = entering;
  const isOurKey = (ownKey ?? row.key) === row.key;
  if (row.stage === 'settled' && !isOurKey) return null;
  if (isOurKey && request.digest === row.digest)
    return row.stage === 'settled' ? meetSettled(settings, entering, row) : null;
  // An own key never changes, whatever became of it.
  if (row.stage === 'settled' && ownKey === null && isPast(settings, entering, row)) return null;
  settings.emit({ type: 'other-request', operation });
  return unknown('other-request');
}

/** Whether a call is another operation than one that is over. What began before its end is one intent with it (F24). */
function isPast(settings: Settings, entering: Entering, { key, settledAt, answer }: SettledRow): boolean {
  if (answer?.outcome !== 'done') return true;
  const isOver = settings.world.wallNow() - settledAt > settings.settledKeptMs;
  return key === entering.endedKey && (isOver || entering.whenDone === 'again');
}

/** The kept answer, if it is one to this call; null: the operation is over, and this is a new one. */
function meetSettled(settings: Settings, entering: Entering, row: SettledRow): Told | null {
  const { ownKey, onlyKey, whenDone, endedKey } = entering;
  const { key, answer } = row;
  const isEarlier = key === endedKey;
  const mayBeNew = isEarlier && key !== onlyKey;
  if (answer === null) {
    // Given up before this call began, or while it waited for its turn.
    if (mayBeNew) return null;
    return row.neverSent === true ? refused('never-sent') : unknown('aborted');
  }
  const isRefused = answer.outcome === 'refused';
  // Whoever tries again after a refusal means it; so does who buys a second coffee.
  // Under an own key the server is asked again: it has kept the refusal, or has never begun.
  if (mayBeNew && (isRefused || key !== ownKey) && isPast(settings, entering, row)) return null;
  const response = keptResponse(answer);
  return isRefused
    ? refused('stored', response)
    : done('kept', response, { isEarlier, ...(isEarlier && whenDone === 'ask' && { next: 'ask' }) });
}

/**
 * Looks whether it is still to be sent, and says in the store that it is, before a request leaves. Null: a person has
 * given it up, or it is settled. Throws {@link NotKept}.
 */
export async function markSent(
  settings: Settings,
  operation: string,
  key: string,
): Promise<Found<PendingRow> | null> {
  const marked = await change<PendingRow, null>(settings, operation, (found) =>
    found?.row.key === key && found.row.stage !== 'settled' ? { ...found.row, stage: 'sent' } : { end: null },
  );
  return 'end' in marked ? null : marked;
}

function settledOf(
  settings: Settings,
  { v, key, digest, createdAt }: Row,
  answer: KeptAnswer | null,
): SettledRow {
  return { v, key, digest, createdAt, stage: 'settled', settledAt: settings.world.wallNow(), answer };
}

/**
 * Drops what a person gives up: what is there, if `may` says so of it, and nothing that came meanwhile. Whether it did.
 * Rejects with the pending store's error.
 */
export async function drop(
  settings: Settings,
  operation: string,
  by: 'cancel' | 'discard' | 'again',
  may: (row: Row) => boolean,
): Promise<boolean> {
  try {
    let key: string | undefined;
    const dropped = await change<SettledRow, null>(settings, operation, (found) => {
      const row = found?.row;
      if (row === undefined || !may(row) || row.key !== (key ??= row.key)) return { end: null };
      return { ...settledOf(settings, row, null), neverSent: row.stage === 'new' };
    });
    if ('end' in dropped) return false;
    settings.emit({ type: 'dropped', operation, by });
    return true;
  } catch (error) {
    throw error instanceof NotKept ? error.error : error;
  }
}

/**
 * Settles. False if what was certain of one request alone is not any more, because somebody has joined since, or has
 * settled it.
 */
export async function settle(
  settings: Settings,
  operation: string,
  { row: { key }, text }: Found<PendingRow>,
  outcome: KeptAnswer['outcome'],
  answer: Answer,
  isForAll: boolean,
): Promise<boolean> {
  try {
    const kept = keepAnswer(outcome, answer, settings.answerSizeMaxBytes);
    const settled = await change<SettledRow, boolean>(settings, operation, (found) => {
      if (found?.row.key !== key || found.row.stage === 'settled') return { end: isForAll };
      return isForAll || found.text === text ? settledOf(settings, found.row, kept) : { end: false };
    });
    if ('end' in settled) return settled.end;
    settings.emit({ type: 'settled', operation, outcome, status: answer.status });
    return true;
  } catch (error) {
    // The answer is the caller's all the same; the next call asks the server again under the same key.
    settings.emit({
      type: 'pending-store-error',
      operation,
      error: error instanceof NotKept ? error.error : error,
    });
    return isForAll;
  }
}
