/**
 * Handlers that run outside of a transaction of ours: whatever they do has happened when they return, so what they
 * return ends the attempt, also where it cannot be stored.
 */

import type { Attempt, Ending } from '../engine/attempt.ts';
import { answerOf, tellIfUnmade } from './reply.ts';
import { response } from '../core/response.ts';
import type { Handler } from '../engine/work.ts';

/** The engine's handler of such a function. */
export function outright(run: (attempt: Attempt) => unknown): Handler {
  return {
    async start(attempt, owner): Promise<Ending> {
      let returned: unknown;
      try {
        returned = await run(attempt);
      } catch (error) {
        return { kind: 'threw', error, response: response(500) };
      }
      tellIfUnmade(returned, owner);
      return { kind: 'answered', ...answerOf(returned) };
    },
  };
}
