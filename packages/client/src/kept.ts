/**
 * An operation in the pending store: entered before anything is sent, settled after.
 *
 * Invariants: a key is made only where there is none, or where the last one is settled · what another call has written
 * meanwhile is looked at again, never overwritten · every loop is bounded.
 */

import { judge, type Answer } from './answer.ts';
import { checkOwnKey, looksLikeCounter } from './keys.ts';
import type { Settings } from './options.ts';
import type { ReadRequest } from './request.ts';
import type { Told } from './results.ts';
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
  /** Wall clock at which the call began. */
  readonly startedAt: number;
}

/** What it enters: the row to send under, what it is told instead, or nothing that could be resumed. */
type Entered =
  | { readonly row: PendingRow; readonly text: string; readonly isFirst: boolean }
  | { readonly told: Told; readonly key: string }
  | null;

/** More writers than this at one moment are a fault. */
const TURNS_MAX = 20;

function orNotKept<Value>(promise: Promise<Value>): Promise<Value> {
  return promise.catch((error: unknown) => {
    throw new NotKept(error);
  });
}

/** Reads a row; throws {@link NotKept}. */
export function look(settings: Settings, operation: string): Promise<{ text: string; row: Row } | null> {
  const read = settings.pending.read(operation);
  return orNotKept(read.then((text) => (text === null ? null : { text, row: readRow(text) })));
}

/** Compare and set; throws {@link NotKept}. */
export function swap(
  settings: Settings,
  operation: string,
  expected: string | null,
  next: string | null,
): Promise<boolean> {
  return orNotKept(settings.pending.swap(operation, expected, next));
}

/** Enters. Throws {@link NotKept}. */
export async function enter(settings: Settings, entering: Entering): Promise<Entered> {
  const { operation, request, ownKey, onlyKey } = entering;
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const found = await look(settings, operation);
    if (onlyKey !== null && found?.row.key !== onlyKey) return null;
    if (found?.row.state === 'pending') {
      const told = refuse(settings, entering, found.row);
      if (told !== null) return { told, key: found.row.key };
      const row: PendingRow = { ...found.row, isShared: true };
      const text = JSON.stringify(row);
      if (text !== found.text && !(await swap(settings, operation, found.text, text))) continue;
      settings.emit({ type: 'joined', operation });
      return { row, text, isFirst: false };
    }
    if (found?.row.state === 'settled') {
      const told = meetSettled(settings, entering, found.row);
      if (told !== null) return { told, key: found.row.key };
    }
    const key = ownKey ?? checkOwnKey(settings.makeKey());
    if (looksLikeCounter(key)) settings.world.warn('SAMEKEY_COUNTER', 'A key looks like a counter.');
    const { digest, kept } = request;
    const createdAt = settings.world.wallNow();
    const common = { v: 1, key, digest, createdAt } as const;
    const row: PendingRow = { ...common, state: 'pending', request: kept, isShared: false };
    const text = JSON.stringify(row);
    if (!(await swap(settings, operation, found?.text ?? null, text))) continue;
    settings.emit({ type: 'key-made', operation });
    return { row, text, isFirst: true };
  }
  throw new NotKept(new Error('Too many changes.'));
}

/** Why a pending operation is not gone on with by this call, or null. */
export function refuse(settings: Settings, { operation, request, ownKey }: Entering, row: Row): Told | null {
  if (request.digest === row.digest && (ownKey ?? row.key) === row.key) return null;
  settings.emit({ type: 'other-request', operation });
  return { kind: 'other-request' };
}

/** The kept answer, if it is one to this call; null: the operation is over, and this is a new one. */
function meetSettled(settings: Settings, entering: Entering, row: SettledRow): Told | null {
  const { request, ownKey, onlyKey, startedAt } = entering;
  if (ownKey === row.key) {
    const told = refuse(settings, entering, row);
    if (told !== null) return told;
  }
  const isSame = row.digest === request.digest;
  const isKept = settings.world.wallNow() - row.settledAt <= settings.settledKeptMs;
  // A refusal is an answer to the calls that were waiting for it; whoever tries again means it.
  const answers = row.answer.kind !== 'refused' || row.settledAt >= startedAt;
  if (ownKey !== row.key && onlyKey !== row.key && !(isSame && isKept && answers)) return null;
  const response = keptResponse(row.answer);
  return row.answer.kind === 'refused'
    ? { kind: 'refused', response, isReplayed: true, isKeyKept: false }
    : { kind: 'replayed', response, from: 'kept' };
}

/** Settles. Whether the key is free now: false if the answer may not speak for others, or could not be kept. */
export async function settle(
  settings: Settings,
  operation: string,
  entered: { readonly row: PendingRow; readonly text: string },
  kind: KeptAnswer['kind'],
  answer: Answer,
): Promise<boolean> {
  const { key, digest, createdAt } = entered.row;
  let { text } = entered;
  try {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const settledAt = settings.world.wallNow();
      const kept = keepAnswer(kind, answer, settings.answerSizeMaxBytes);
      const next: SettledRow = {
        v: 1,
        key,
        digest,
        createdAt,
        state: 'settled',
        settledAt,
        answer: kept,
      };
      if (await swap(settings, operation, text, JSON.stringify(next))) {
        settings.emit({ type: 'settled', operation, kind, status: answer.status });
        return true;
      }
      const now = await look(settings, operation);
      if (now === null || now.row.key !== key || now.row.state === 'settled') return true;
      // Somebody joined since: what was certain is not any more.
      if (judge(answer, false).isKeyKept) return false;
      text = now.text;
    }
    return false;
  } catch (error) {
    // The answer is the caller's all the same; the next call asks the server again under the same key.
    settings.emit({
      type: 'pending-store-error',
      operation,
      error: error instanceof NotKept ? error.error : error,
    });
    return false;
  }
}
