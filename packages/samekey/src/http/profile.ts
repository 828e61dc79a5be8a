/**
 * A profile: how outcomes look on the wire. It renders; it decides nothing, least of all which record a request belongs
 * to: a deploy that changes how a 409 looks must not make a retry run again (F72).
 */

import type { HeaderLine, StoredResponse } from '../core/response.ts';
import type { ProblemOutcome } from './problem.ts';

/** How outcomes look on the wire. */
export interface Profile {
  readonly name: string;
  /**
   * The answer for an outcome in which the handler's own answer is not given. `keyHeader`: the header that carries the
   * route's keys, the JSON Pointer (`/idempotency_key`) of the body's member that does, the parameter of the query
   * (`?requestId`), or header and member (`X-Payment#/id`).
   */
  render(outcome: ProblemOutcome, keyHeader?: string): StoredResponse;
  /**
   * Header lines of an answer that the handler gave, now or earlier; default none. `isFinal`: whether every retry gets
   * this answer; null: nobody knows yet. A line whose name the answer has already is left out.
   */
  answerHeaders?(answer: {
    readonly status: number;
    readonly isFinal: boolean | null;
    readonly key: string;
  }): readonly HeaderLine[];
  /** Header lines of a replay. */
  readonly replayHeaders: readonly HeaderLine[];
}
