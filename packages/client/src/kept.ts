/**
 * An operation in the pending store: entered before anything is sent, marked as sent before the first request leaves,
 * settled after.
 *
 * Invariants: a key is made only where there is none, or where the last one is settled · what another call has written
 * meanwhile is looked at again, never overwritten · keys that were sent live in memory too, so that a store that is
 * cleared or fails in flight makes no second one (F128) · once the user has signed out nothing leaves and nothing is
 * told or kept but that it is done (F84) · every loop is bounded.
 */

import type { Answer } from './answer.ts';
import { checkOwnKey, looksLikeCounter, uuidV4 } from './keys.ts';
import type { Settings, WhenDone } from './options.ts';
import type { ReadRequest } from './request.ts';
import { done, refused, type Told, unknown } from './results.ts';
import {
  bareOf,
  keepAnswer,
  type KeptAnswer,
  keptResponse,
  newerRow,
  type PendingRow,
  readRow,
  type Row,
  type SettledRow,
} from './row.ts';
import { cleared, inOurTime, ofStore, Stopped } from './stopped.ts';

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
  /** What {@link signedOut} said when the call began. */
  readonly signedOut: string | null;
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

/** So many settled rows are kept of a user, and so often they are looked at. */
const SETTLED_MAX = 1_000;
const SETTLED_TURNS = 100;

/** More writers than this at one moment are a fault. */
const TURNS_MAX = 20;

/**
 * Which sign-out was the last one, in whatever tab; null: none, or nobody knows. Under the one name that no operation
 * has: a call that began before it must not leave after it, though there was no row yet that could say so.
 */
export function signedOut({ pending }: Settings): Promise<string | null> {
  return pending.read('').catch(() => null);
}

/** A user signs out. Rejects with the pending store's error. */
export function signOut(settings: Settings): Promise<unknown> {
  const { pending } = settings;
  const marking = pending.read('').then((before) => pending.swap('', before, uuidV4()));
  return ofStore(inOurTime(settings, marking));
}

/** Reads a row; throws {@link Stopped}. */
export async function look(settings: Settings, operation: string): Promise<Found | null> {
  const { pending, live } = settings;
  const sent = live.get(operation);
  const text = await inOurTime(settings, pending.read(operation)).catch((error: unknown) => {
    if (sent === undefined) throw error;
    return null;
  });
  if (text === null) return sent === undefined ? null : { text, row: sent };
  const row = rowOf(settings, operation, text);
  if (row !== sent && (row.stage === 'settled' || row.key !== sent?.key)) live.delete(operation);
  return { text, row };
}

/** The row that a text says; or what memory knows better: it is over, and the store could not be told. */
function rowOf({ live }: Settings, operation: string, text: string): Row {
  const row = readRow(text);
  const ours = live.get(operation);
  return ours?.stage === 'settled' && row.stage === 'sent' && row.key === ours.key ? ours : row;
}

/**
 * Writes what `next` makes of what is there, looking again while others write; or `end`, where it says so. Throws
 * {@link Stopped}. `isAlways`: also what is there already, as far as one can read it.
 */
async function change<Next extends Row, End>(
  settings: Settings,
  operation: string,
  next: (found: Found | null) => Next | { readonly end: End },
  isAlways = false,
): Promise<Found<Next> | { readonly end: End }> {
  const { pending, live } = settings;
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const found = await look(settings, operation);
    const row = next(found);
    if ('end' in row) return row;
    const text = JSON.stringify(row);
    const before = found && found.text;
    const isKept =
      (text === before && !isAlways) ||
      (await inOurTime(settings, pending.swap(operation, before, text)).catch((error: unknown) => {
        // A store that fails in flight does not end what memory holds as well.
        if (settings.isCleared || row.stage !== 'sent' || live.get(operation)?.key !== row.key) throw error;
        return true;
      }));
    if (!isKept) continue;
    if (row.stage === 'sent') live.set(operation, row);
    else live.delete(operation);
    return { row, text };
  }
  throw new Stopped(unknown('not-kept', { error: new Error('Too many changes.') }));
}

/**
 * All that is there, of the store and of memory, by operation. What is settled is dropped when it is old, and above a
 * number, the oldest first: however much there was, it is found in one look (F135).
 */
export async function all(settings: Settings): Promise<Map<string, Found>> {
  const { pending, live } = settings;
  const found = new Map<string, Found>();
  for (const [operation, row] of live) found.set(operation, { text: null, row });
  for (const [operation, text] of await ofStore(inOurTime(settings, pending.rows())))
    if (operation !== '') found.set(operation, { text, row: rowOf(settings, operation, text) });
  const settled = [...found].flatMap(([operation, { text, row }]) =>
    row.stage === 'settled' ? [{ operation, text, row }] : [],
  );
  // By a wall clock alone the newest would be the last one, once that is set back.
  const rank = ({ row: { settled: at, by } }: { readonly row: SettledRow }): number =>
    by === settings.page ? 1e14 + at.page : (at.server ?? at.wall);
  // oxlint-disable-next-line unicorn/no-array-sort -- browsers of 2022 have no toSorted (F140), and the list is ours
  settled.sort((a, b) => rank(b) - rank(a));
  for (const [index, { operation, text, row }] of settled.entries())
    if (index >= SETTLED_MAX || isOver(settings, row))
      await inOurTime(settings, pending.swap(operation, text, null)).catch(() => false);
  return found;
}

/** Enters. Throws {@link Stopped}. */
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
      : { ...row, isShared: true, request: entering.request.kept };
  });
  if ('end' in entered) return entered.end;
  settings.emit({ type: isFirst ? 'key-made' : 'joined', operation });
  return { ...entered, isFirst };
}

function fresh(settings: Settings, { request: { digest, kept: request }, ownKey }: Entering): PendingRow {
  const { world, page } = settings;
  const key = ownKey ?? checkOwnKey(settings.makeKey());
  if (looksLikeCounter(key)) world.warn('SAMEKEY_COUNTER', 'A key looks like a counter.');
  return { v: 1, key, digest, created: settings.clock.now(), page, stage: 'new', request, isShared: false };
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
  if (row.key === '') return unknown('unreadable');
  settings.emit({ type: 'other-request', operation });
  return unknown('other-request');
}

/** Whether a call is another operation than one that is over. What began before its end is one intent with it (F24). */
function isPast(settings: Settings, entering: Entering, row: SettledRow): boolean {
  if (row.answer?.outcome !== 'done') return true;
  return row.key === entering.endedKey && (isOver(settings, row) || entering.whenDone === 'again');
}

/** Whether it was kept long enough; not if nobody knows how long that was. */
function isOver({ clock, page, settledKeptMs }: Settings, row: SettledRow): boolean {
  return (clock.since(row.settled, row.by === page) ?? 0) > settledKeptMs;
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
    : done('kept', response, true, isEarlier, isEarlier && whenDone === 'ask');
}

/**
 * Looks whether it is still to be sent, and says in the store that it is, before a request leaves. Throws
 * {@link Stopped}.
 */
export async function markSent(
  settings: Settings,
  { operation, signedOut: before }: Pick<Entering, 'operation' | 'signedOut'>,
  key: string,
): Promise<Found<PendingRow>> {
  const marked = await change<PendingRow, Stopped>(settings, operation, (found) => {
    const row = found?.row;
    if (row?.key !== key || row.stage === 'settled') return { end: new Stopped(null) };
    // Its user has signed out, here or in another tab: what would be sent has somebody else's credentials.
    if (settings.isCleared || row.request === null) return { end: cleared() };
    return {
      ...row,
      stage: 'sent',
      created: row.page === settings.page ? settings.clock.dated(row.created) : row.created,
    };
  });
  if ('end' in marked) throw marked.end;
  // Asked after it was written: who signs out from now on finds it.
  const now = await inOurTime(settings, signedOut(settings)).catch(() => null);
  if (now !== null && now !== before) throw cleared();
  return marked;
}

function settledOf({ clock, page: by }: Settings, row: Row, answer: KeptAnswer | null): SettledRow {
  // What is undefined is not written.
  return { ...row, request: undefined, stage: 'settled', settled: clock.now(), by, answer };
}

/** Given up, as its row says from then on. */
function givenUp(settings: Settings, row: Row): SettledRow {
  return { ...settledOf(settings, row, null), neverSent: row.stage === 'new' };
}

/** What each verb is for. */
const GIVES_UP: Readonly<Record<'cancel' | 'discard' | 'again', readonly Row['stage'][]>> = {
  cancel: ['new'],
  discard: ['new', 'sent'],
  again: ['settled'],
};

/**
 * Drops what a person gives up: what is there, or this key alone, and nothing that came meanwhile. Whether it did.
 * Rejects with the pending store's error.
 */
export async function drop(
  settings: Settings,
  operation: string,
  by: keyof typeof GIVES_UP,
  onlyKey: string | null,
): Promise<boolean> {
  let key = onlyKey;
  const dropping = change<SettledRow, null>(settings, operation, (found) => {
    const row = found?.row;
    if (row === undefined || row.key !== (key ??= row.key) || !GIVES_UP[by].includes(row.stage))
      return { end: null };
    return givenUp(settings, row);
  });
  if ('end' in (await ofStore(dropping))) return false;
  settings.emit({ type: 'dropped', operation, by });
  return true;
}

/**
 * Leaves of a row what may stay when its user signs out. Written though it reads the same: a store behind the first,
 * or what another session has sealed, may hold more. Rejects with the pending store's error.
 */
export function strip(settings: Settings, operation: string, isUnsettledToo: boolean): Promise<unknown> {
  const next = (found: Found | null): Row | { end: null } => {
    if (found === null) return { end: null };
    const { row, text } = found;
    if (row.stage === 'new' || isUnsettledToo) return givenUp(settings, row);
    return bareOf(row.key === '' ? newerRow(text) : row);
  };
  const stripping = change<Row, null>(settings, operation, next, true);
  return ofStore(stripping);
}

/**
 * Settles. False if what was certain of one request alone is not any more, because somebody has joined since, or has
 * settled it. Throws {@link Stopped} if the user has signed out meanwhile: then it is noted, and told to nobody.
 */
export async function settle(
  settings: Settings,
  operation: string,
  { row: { key }, text }: Found<PendingRow>,
  outcome: KeptAnswer['outcome'],
  answer: Answer,
  isForAll: boolean,
): Promise<boolean> {
  let isBare = settings.isCleared;
  let over: Row | undefined;
  try {
    const kept = keepAnswer(outcome, answer, settings.answerSizeMaxBytes);
    const settled = await change<Row, boolean>(settings, operation, (found) => {
      const row = found?.row;
      isBare ||= row?.stage === 'sent' && row.request === null;
      if (row?.key !== key || row.stage === 'settled') return { end: isForAll };
      if (!isForAll && found?.text !== text) return { end: false };
      const now = settledOf(settings, row, kept);
      over = isBare ? bareOf(now) : now;
      return over;
    });
    if (isBare) throw cleared();
    if ('end' in settled) return settled.end;
    settings.emit({ type: 'settled', operation, outcome, status: answer.status });
    settings.settledCount += 1;
    if (settings.settledCount % SETTLED_TURNS === 0) await all(settings).catch(() => null);
    return true;
  } catch (error) {
    const told = error instanceof Stopped ? error.told : null;
    if (told?.why === 'cleared') throw error;
    // The answer is the caller's all the same, and of the next call in this page; of another one the server is asked.
    if (over !== undefined && isForAll) settings.live.set(operation, over);
    settings.emit({ type: 'pending-store-error', operation, error: told === null ? error : told.error });
    return isForAll;
  }
}
