/**
 * What the engine tells while it works: one event for every outcome and for every turn an operator may care about.
 * Events carry ids as they are; a listener that logs should hash the key. A listener that throws disturbs nothing.
 */

import type { Ending } from './attempt.ts';
import type { OutcomeKind } from '../core/outcome.ts';
import type { Proof, RecordId, State, Unreadable } from '../core/record.ts';

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
  'handler-ended',
  'handler-error',
  'limiter-failed',
  'misuse',
  'outcome',
  'record-unreadable',
  'renewal-failed',
  'save-abandoned',
  'save-delayed',
  'save-recovered',
  'store-call',
  'store-error',
  'stream-not-kept',
  'transaction-not-started',
] as const;

/** The name of an event. */
export type EventType = (typeof EVENT_TYPES)[number];

/** How a handler ended, as {@link Ending} says. */
type HandlerEnding = Ending['kind'];

/** The verbs of a store that the engine calls. */
export type StoreVerb = 'claim' | 'renew' | 'checkpoint' | 'finish' | 'find' | 'reservations';

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
      /** Whom it runs for: `run` is a request, `take` a worker that pushes on what is unfinished. */
      readonly entry: 'run' | 'take';
      /** From asking for the claim that was granted to having it. */
      readonly durationMs: number;
    } & OfAttempt)
  /** `close` stopped waiting for requests, and for claims that were given up. */
  | { readonly type: 'close-left-running'; readonly count: number }
  /** Nobody could say in time whether a transaction was committed; its client was told to ask again. */
  | ({ readonly type: 'commit-unclear'; readonly error: unknown } & OfAttempt)
  /** An attempt ended with an answer, but its record says something else: look at it. */
  | ({
      readonly type: 'contradiction';
      readonly wanted: State;
      readonly found: State | null;
      /** The effect whose call ended when the record had gone on without it: it may have happened twice. */
      readonly effect?: string;
    } & OfAttempt)
  /** The claim was lost while the handler was running. */
  | ({ readonly type: 'fence-lost'; readonly found: State | null } & OfAttempt)
  /** The end of an attempt is recorded. */
  | ({
      readonly type: 'finished';
      readonly to: State;
      readonly proof: Proof | null;
      readonly reason: string | null;
      /** How long writing it took; 0 when the operation's own transaction had written it. */
      readonly durationMs: number;
      /** How long the attempt had held its claim. */
      readonly claimAgeMs: number;
    } & OfAttempt)
  /** The attempt goes on with the worker of a message; its record is `pending`. */
  | ({ readonly type: 'handed-over' } & OfAttempt)
  /** A handler has returned or thrown, in whatever way; `ending` says how. */
  | ({
      readonly type: 'handler-ended';
      readonly ending: HandlerEnding;
      readonly durationMs: number;
    } & OfAttempt)
  | ({ readonly type: 'handler-error'; readonly error: unknown } & OfAttempt)
  /** A limiter failed or took too long; what became of the request is told by `whenLimiterFails`. */
  | { readonly type: 'limiter-failed'; readonly operation: string; readonly error: unknown }
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
      /** The attempt that ran for it; null when nothing did. */
      readonly attempt: number | null;
      /** Whether it was noted for a worker now, and not by an earlier request. */
      readonly accepted: boolean;
      /** As of `claimed`; `accept`: a request for a deferred operation. */
      readonly entry: 'run' | 'accept' | 'take';
    }
  /** A sealed part of a record could not be opened: its request is told 503, and nothing runs. */
  | ({ readonly type: 'record-unreadable'; readonly id: RecordId; readonly operation: string } & Unreadable)
  | { readonly type: 'renewal-failed'; readonly count: number }
  /** The answer of an attempt could not be stored and is given up; its record becomes `unknown` when the claim ends. */
  | ({ readonly type: 'save-abandoned' } & OfAttempt)
  /** The answer left before it was stored; the process keeps trying. */
  | ({ readonly type: 'save-delayed' } & OfAttempt)
  | ({ readonly type: 'save-recovered' } & OfAttempt)
  /**
   * A call of the store came back, with or without an answer. `rows` travelled together, `busy` of them were locked by
   * somebody and go again.
   */
  | {
      readonly type: 'store-call';
      readonly verb: StoreVerb;
      readonly rows: number;
      readonly busy: number;
      readonly durationMs: number;
      readonly failed: boolean;
    }
  /**
   * A call of the store failed, or its reply was lost (`applied: 'unknown'`). `note`: a contradiction that was to go to
   * the audit.
   */
  | {
      readonly type: 'store-error';
      readonly verb: StoreVerb | 'note';
      readonly applied: 'no' | 'unknown';
      readonly error: unknown;
    }
  /**
   * An answer that streams is not kept, because the copies of other streams have taken all of `keptBytesMax`: its
   * record ends without a body, and a retry is told `response-not-stored`.
   */
  | ({ readonly type: 'stream-not-kept' } & OfAttempt)
  /**
   * No connection, no BEGIN, or the claim could not be made sure of: the handler did not run, and its client was told
   * 503.
   */
  | ({ readonly type: 'transaction-not-started'; readonly error: unknown } & OfAttempt);

/** Receives events, synchronously. */
export type EventListener = (event: SamekeyEvent) => void;

/**
 * Sends an event on; null when nobody listens. Call it as `emit?.({ … })`: without a listener the event is not even
 * made, which the hot path of every request would pay for.
 */
export type Emit = ((event: SamekeyEvent) => void) | null;
