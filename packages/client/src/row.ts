/**
 * What is kept of an operation, and how it is written: one JSON text a name.
 *
 * Invariants: a key never occurs in two rows · a row that is replaced has another text, so compare-and-set on texts is
 * safe · a row is `sent` before its first request leaves: what is `new` was never sent · of headers only those are kept
 * that say what the body is, and those that the caller names because they decide; credentials never · a settled row has
 * no request any more, only its digest · after `clear` no row has a request or an answer to read · in whatever version
 * what is somebody's content is in `request` and `answer` alone: so a tab with older code can take it out when its user
 * signs out, and leaves whatever else it cannot read, such as the key of a payment that runs.
 */

import type { Answer } from './answer.ts';
import { fromBase64, toBase64 } from './base64.ts';
import type { Stamp } from './clock.ts';

/** The request of an operation, as it is sent again. */
export interface KeptRequest {
  /** Empty, as the address, where another session has sealed it. */
  readonly method: string;
  /** Absolute, without fragment. */
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Base64, or null for no body. */
  readonly body: string | null;
  readonly credentials: RequestCredentials | null;
  /** False: its body was left out as a secret. Then only the same call goes on with it. */
  readonly isWhole: boolean;
}

/** An answer as it is kept; `body` in base64, null where it was too large: no part of it is given for the whole. */
export interface KeptAnswer {
  readonly outcome: 'done' | 'refused';
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | null;
}

interface Common {
  readonly v: 1;
  readonly key: string;
  /** SHA-256 over method, address, headers that decide, kind of body and body. */
  readonly digest: string;
  readonly created: Stamp;
  /** Which page has made it: its monotonic clock is that of `created`. */
  readonly page: string;
}

/** Not settled: the key must not change. `new`: no request has left. */
export interface PendingRow extends Common {
  readonly stage: 'new' | 'sent';
  /** Null: the user has signed out, or the row cannot be read. */
  readonly request: KeptRequest | null;
  /** Somebody else sends under this key too, or did: an answer that is no replay may not speak for theirs. */
  readonly isShared: boolean;
}

/** Settled: kept for a while, so that a second click, the back button or another tab gets the same answer. */
export interface SettledRow extends Common {
  readonly stage: 'settled';
  readonly request?: undefined;
  readonly settled: Stamp;
  /** Which page has settled it. */
  readonly by: string;
  /**
   * Null: a person has given it up. Said and not deleted, so that other tabs can tell it from a store that was
   * cleared.
   */
  readonly answer: KeptAnswer | null;
  /** Given up before any request of it had left, whoever would have sent it. */
  readonly neverSent?: boolean;
}

export type Row = PendingRow | SettledRow;

/** A request of which nothing is kept here: only the same call goes on with its row. */
export const LEFT_OUT: KeptRequest = {
  method: '',
  url: '',
  headers: [],
  body: null,
  credentials: null,
  isWhole: false,
};

/** What cannot be read may have been sent, under a key that nobody knows: a person decides. */
const UNREADABLE = {
  v: 1,
  key: '',
  stage: 'sent',
  request: null,
  // Later than any: no clock can date it. Such a number is a number in JSON too.
  created: { wall: Number.MAX_SAFE_INTEGER, page: 0, server: null },
} as PendingRow | object;

const isStamp = ({ wall, page }: Stamp): boolean => wall + page >= 0;

/** Whether all is there that is gone by. Throws for some that are no rows. */
function isRow(row: Row): boolean {
  if (row.v !== 1 || typeof row.key !== 'string' || !isStamp(row.created)) return false;
  if (row.stage === 'settled')
    return isStamp(row.settled) && (row.answer === null || /^(done|refused)$/.test(row.answer.outcome));
  headersOf(row.request?.headers ?? []);
  return true;
}

/** Reads a row. One of a newer version or of another shape, or none at all, is one of no key. */
export function readRow(text: string): Row {
  try {
    const row = JSON.parse(text) as Row;
    if (isRow(row)) return row;
  } catch {
    // Not ours.
  }
  return UNREADABLE as PendingRow;
}

/** A row of another version as it stands; what is no row at all is one of no key. */
export function newerRow(text: string | null): Row {
  try {
    return { ...UNREADABLE, ...(JSON.parse(text ?? '') as object) } as Row;
  } catch {
    return UNREADABLE as Row;
  }
}

/** What stays of a row when its user signs out: its key and digest, if it was sent, and whether it is done. */
export function bareOf(row: Row): Row {
  const { v, stage, answer } = row as SettledRow;
  const isDone = v !== 1 || answer?.outcome === 'done';
  return {
    ...row,
    // What is undefined is not written.
    request: stage === 'settled' ? undefined : null,
    answer: answer && (isDone ? { ...answer, headers: [], body: null } : null),
  } as Row;
}

/** A fresh response over kept bytes; null for a redirect that the browser hides, and what Fetch has no status for. */
export function responseOf({ status, headers, body }: Answer): Response | null {
  if (status < 200 || status > 599) return null;
  // Fetch: these may not have a body at all.
  const isBare = [204, 205, 304].includes(status);
  return new Response(isBare ? null : body, { status, headers });
}

/** The answer of a settled row, marked as what it is (F107); null if it is not kept whole. */
export function keptResponse({ status, headers, body }: KeptAnswer): Response | null {
  if (body === null) return null;
  try {
    const marked = headersOf(headers);
    marked.set('idempotency-replayed', 'true');
    return responseOf({ status, headers: marked, body: fromBase64(body) });
  } catch {
    // Not as it was kept: what became of it is known all the same.
    return null;
  }
}

export function headersOf(lines: readonly (readonly [string, string])[]): Headers {
  return new Headers(lines as [string, string][]);
}

/** What is kept of an answer. Its `Set-Cookie` is the browser's, and never readable there. */
export function keepAnswer(outcome: KeptAnswer['outcome'], answer: Answer, sizeMaxBytes: number): KeptAnswer {
  return {
    outcome,
    status: answer.status,
    headers: [...answer.headers].filter(([name]) => name !== 'set-cookie'),
    body: answer.body.length > sizeMaxBytes ? null : toBase64(answer.body),
  };
}
