/**
 * What became of a call, as one union on `outcome`: what a page can act on. `why` has the details, `next` says what to
 * show. Every answer is read whole; `response` is a fresh `Response` over its bytes.
 *
 * Invariant: after `unknown` the key is kept, and the same call goes on under it; only a person gives it up, by
 * `discard`.
 */

import type { Meaning } from './meanings.ts';

/** Of which operation, under which key (null if there is none), after how many requests. */
export interface OfOperation {
  readonly operation: string;
  readonly key: string | null;
  readonly tries: number;
}

/** It is done. */
export interface Done {
  readonly outcome: 'done';
  /**
   * `first`: it ran for this call · `replayed`: it had run before, this is the server's stored answer · `kept`: the
   * answer kept here, without a request · `unseen`: it is done, and its answer is not kept by the server any more.
   */
  readonly why: 'first' | 'replayed' | 'kept' | 'unseen';
  /** Show the answer; or ask whether it is meant again (`isEarlier`, `whenDone: 'ask'`); or look it up (no answer). */
  readonly next: 'show' | 'ask' | 'look-up';
  /** Null if nobody has kept it. */
  readonly response: Response | null;
  /** It was over before this call began: the answer is that of an earlier one. */
  readonly isEarlier: boolean;
  /** False: the server could not record it, so it cannot replay it. */
  readonly isStored: boolean;
}

/** It is certain that nothing happened. The next call has a new key. */
export interface Refused {
  readonly outcome: 'refused';
  /**
   * `stored`: by the handler, and every retry gets the same · `never-ran`: the server says that it did not begin ·
   * `never-sent`: no request has left.
   */
  readonly why: 'stored' | 'never-ran' | 'never-sent';
  /** Show what is wrong with it; or say that it was not sent. */
  readonly next: 'correct' | 'send';
  readonly response: Response | null;
}

/** Why it is not known. */
export type UnknownWhy =
  | Exclude<Meaning, Done['why'] | Refused['why'] | 'later'>
  /** No answer that counts: the network, time-outs, errors that may pass. */
  | 'no-answer'
  /** The caller's signal. */
  | 'aborted'
  /** Other content under this name is pending, or done: then `again()` is the way to mean it. This was not sent. */
  | 'other-request'
  /** Older than `pendingAgeMaxMs`: the server may have forgotten the key. Nothing was sent by this call. */
  | 'aged-out'
  /** No clock proves how old it is: `goOn()` sends it. Nothing was sent by this call. */
  | 'age-unknown'
  /** The pending store failed before anything was sent by this call. */
  | 'not-kept'
  /** The pending store holds what this version cannot read. Nothing was sent by this call. */
  | 'unreadable'
  /** The user has signed out (`clear`), or the request is kept without its secrets. The same call, by them, goes on. */
  | 'cleared';

/** It is not known what became of it. The key is kept: say so, and ask later. */
export interface Unknown {
  readonly outcome: 'unknown';
  readonly why: UnknownWhy;
  /**
   * `wait`: the same call again, later · `sign-in`: the same call again, signed in · `decide`: somebody looks what
   * became of it, then calls again or discards it.
   */
  readonly next: 'wait' | 'sign-in' | 'decide';
  /** The last answer, if there was one. */
  readonly response: Response | null;
  /** What the last request, the pending store or the signal failed with. */
  readonly error: unknown;
  readonly retryAfterMs: number | null;
}

/** The outcome of a call. */
export type ClientResult = OfOperation & (Done | Refused | Unknown);

/** The part of a result that what happened decides. */
export type Told = Done | Refused | Unknown;

/** What time alone may settle; about all else somebody has to decide. */
const WAITS: readonly UnknownWhy[] = [
  'outcome-unknown',
  'in-progress',
  'no-answer',
  'aborted',
  'not-kept',
  'cleared',
];

export function unknown(
  why: UnknownWhy,
  more: Partial<Pick<Unknown, 'response' | 'error' | 'retryAfterMs'>> = {},
): Unknown {
  return {
    outcome: 'unknown',
    why,
    next: why === 'sign-in' ? why : WAITS.includes(why) ? 'wait' : 'decide',
    response: null,
    error: null,
    retryAfterMs: null,
    ...more,
  };
}

export function refused(why: Refused['why'], response: Response | null = null): Refused {
  return { outcome: 'refused', why, next: why === 'never-sent' ? 'send' : 'correct', response };
}

export function done(
  why: Done['why'],
  response: Response | null,
  isStored = true,
  isEarlier = false,
  isAsking = false,
): Done {
  const next = isAsking ? 'ask' : response === null ? 'look-up' : 'show';
  return { outcome: 'done', why, next, response, isEarlier, isStored };
}

/** What the client tells `onEvent`. Never a key, an address or a body. */
export type ClientEvent = { readonly operation: string } & (
  | { readonly type: 'key-made' }
  | { readonly type: 'joined' }
  | { readonly type: 'try'; readonly number: number }
  | {
      readonly type: 'waiting';
      readonly because: 'lost' | 'timed-out' | 'answer' | 'in-progress';
      readonly status: number | null;
      readonly delayMs: number;
    }
  | { readonly type: 'waiting'; readonly because: 'offline' }
  | { readonly type: 'settled'; readonly outcome: 'done' | 'refused'; readonly status: number }
  | { readonly type: 'aged-out'; readonly ageMs: number | null }
  | { readonly type: 'other-request' }
  | { readonly type: 'dropped'; readonly by: 'cancel' | 'discard' | 'again' }
  | { readonly type: 'pending-store-error'; readonly error: unknown }
);
