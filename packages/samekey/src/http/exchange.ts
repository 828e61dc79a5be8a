/**
 * One HTTP exchange, as `handle` sees it: what was asked, how to run the application's handler while holding its
 * answer, and three ways to let an answer go. Adapters convert; they decide nothing.
 */

import type { HeardAttempt } from '../engine/attempt.ts';
import type { Emit } from '../engine/events.ts';
import type { KeptBytes } from '../engine/kept-bytes.ts';
import type { MatchedRoute } from '../core/operation.ts';
import type { HeaderLine, StoredResponse } from '../core/response.ts';
import type { World } from '../core/world.ts';

/** What was asked. */
export interface HttpRequest {
  readonly method: string;
  /** The path as received, without the query. */
  readonly path: string;
  /** The query as received, without its `?`; empty if there is none. */
  readonly query: string;
  /** The route that the protection stands at; null where it covers an application or a part of one (`use`). */
  readonly route: MatchedRoute | null;
  /** The field lines of a header, one entry for each line that there may have been. `name` is in lower case. */
  headerLines(name: string): readonly string[];
}

/** The request's body, read before anything is claimed. */
export type BodyRead =
  /** `decoded` has its content coding removed. */
  | { readonly kind: 'body'; readonly decoded: Uint8Array }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'unreadable'; readonly detail: string }
  /** An earlier parser took the bytes and kept none: a mistake of set-up, never an empty body (F31). */
  | { readonly kind: 'consumed' };

/**
 * How the application's handler ended; an `answered` one is held by the exchange until it is let go. One whose body
 * broke off after its status was given is answered too, without a body (F104).
 */
export type HandlerEnd =
  | {
      readonly kind: 'answered';
      readonly answer: StoredResponse;
      /** Somebody else may have answered for the handler, which is then still at work. */
      readonly isPerhapsAnothers?: boolean;
    }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** It ended and had answered nothing: no proof of anything. */
  | { readonly kind: 'silent'; readonly error: unknown };

/** What exchanges use of an engine. */
export interface ExchangeHost {
  readonly world: World;
  readonly emit: Emit;
  /** Room for copies of answers that stream. */
  readonly kept: KeptBytes;
  misuse(code: string, message: string): void;
}

/** One exchange. Exactly one of `pass`, `release`, `replace` and `fail` ends it. */
export interface Exchange<Native> {
  readonly request: HttpRequest;
  /** The framework's own request, for the scope function. */
  readonly native: Native;
  /** Asked again, it gives the same. */
  readBody(sizeMaxBytes: number): Promise<BodyRead>;
  /** Lets the handler run as if Samekey were not there. */
  pass(): void;
  /** Runs the handler and holds its answer. Called at most once. */
  run(attempt: HeardAttempt): Promise<HandlerEnd>;
  /** The answer as its head decides it (`body` null), when the handler has not ended but has begun to stream. */
  answerSoFar(): StoredResponse | null;
  /** Whether the handler's answer broke off: it cannot be released, only replaced. */
  readonly isBroken: boolean;
  /**
   * What the handler answers after the answer it was taken to have given, if the platform lets it be seen: then
   * somebody else had answered for it. Called at most once, after `run`.
   */
  onLateAnswer?(tell: (end: HandlerEnd) => void): void;
  /** Lets the held answer go, with these header lines added. */
  release(extra: readonly HeaderLine[]): void | Promise<void>;
  /** Drops whatever the handler answers, now or later, and sends this. */
  replace(answer: StoredResponse): void | Promise<void>;
  /** Hands an error to the framework: a mistake of set-up, or what the handler threw. */
  fail(error: unknown): void;
}
