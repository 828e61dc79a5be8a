/**
 * What the engine tells while it works: one event for every outcome and for every turn an operator may care about. Events
 * carry ids as they are; a listener that logs should hash the key. A listener that throws disturbs nothing.
 */

import type { OutcomeKind } from './outcome.ts';
import type { Proof, RecordId, State } from './record.ts';

/** The types of event, in alphabetical order. */
export const EVENT_TYPES = [
  'attempt-time-up',
  'claim-abandoned',
  'claim-released',
  'claimed',
  'close-left-running',
  'commit-unclear',
  'contradiction',
  'fence-lost',
  'finished',
  'handed-over',
  'handler-error',
  'misuse',
  'outcome',
  'renewal-failed',
  'save-abandoned',
  'save-delayed',
  'save-recovered',
  'store-error',
  'transaction-not-started',
] as const;

/** The name of an event. */
export type EventType = (typeof EVENT_TYPES)[number];

/** The verbs of a store that the engine calls. */
export type StoreVerb = 'claim' | 'renew' | 'checkpoint' | 'finish' | 'find';

interface OfAttempt {
  readonly id: RecordId;
  readonly operation: string;
  readonly attempt: number;
}

/** An event. */
export type SamekeyEvent =
  /** The handler ran longer than `attemptTimeMaxMs`; its signal was aborted. */
  | ({ readonly type: 'attempt-time-up' } & OfAttempt)
  /** A claim's reply never came; the claim is remembered and released as soon as it is seen. */
  | { readonly type: 'claim-abandoned'; readonly id: RecordId; readonly operation: string }
  | { readonly type: 'claim-released'; readonly id: RecordId; readonly operation: string }
  /** An attempt starts; `resumed` tells why an earlier one may be repeated. */
  | ({
      readonly type: 'claimed';
      readonly resumed: { readonly proof: Proof | null; readonly reason: string | null } | null;
    } & OfAttempt)
  /** `close` stopped waiting. */
  | { readonly type: 'close-left-running'; readonly count: number }
  /** Nobody could say in time whether a transaction was committed; its client was told to ask again. */
  | ({ readonly type: 'commit-unclear'; readonly error: unknown } & OfAttempt)
  /** An attempt ended with an answer, but its record says something else: look at it. */
  | ({ readonly type: 'contradiction'; readonly wanted: State; readonly found: State | null } & OfAttempt)
  /** The claim was lost while the handler was running. */
  | ({ readonly type: 'fence-lost'; readonly found: State | null } & OfAttempt)
  /** The end of an attempt is recorded. */
  | ({
      readonly type: 'finished';
      readonly to: State;
      readonly proof: Proof | null;
      readonly reason: string | null;
    } & OfAttempt)
  /** The attempt goes on with the worker of a message; its record is `pending`. */
  | ({ readonly type: 'handed-over' } & OfAttempt)
  | ({ readonly type: 'handler-error'; readonly error: unknown } & OfAttempt)
  /** Samekey is used in a way that will hurt; sent once per code. */
  | { readonly type: 'misuse'; readonly code: string; readonly message: string }
  /** A request got its outcome. `id` is null when it never got as far as a key. */
  | {
      readonly type: 'outcome';
      readonly kind: OutcomeKind;
      readonly id: RecordId | null;
      readonly operation: string;
      readonly durationMs: number;
      /** Whether it was a replay from what this process had read a moment ago; the store was not asked. */
      readonly fromCache: boolean;
    }
  | { readonly type: 'renewal-failed'; readonly count: number }
  /** The answer of an attempt could not be stored and is given up; its record becomes `unknown` when the claim ends. */
  | ({ readonly type: 'save-abandoned' } & OfAttempt)
  /** The answer left before it was stored; the process keeps trying. */
  | ({ readonly type: 'save-delayed' } & OfAttempt)
  | ({ readonly type: 'save-recovered' } & OfAttempt)
  /** A call of the store failed, or its reply was lost (`applied: 'unknown'`). */
  | {
      readonly type: 'store-error';
      readonly verb: StoreVerb;
      readonly applied: 'no' | 'unknown';
      readonly error: unknown;
    }
  /** No connection, no BEGIN, or the claim could not be made sure of: the handler did not run, and its client was told 503. */
  | ({ readonly type: 'transaction-not-started'; readonly error: unknown } & OfAttempt);

/** Receives events, synchronously. */
export type EventListener = (event: SamekeyEvent) => void;
