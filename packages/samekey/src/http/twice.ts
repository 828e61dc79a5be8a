/**
 * A request that goes through a door twice: a mistake of set-up that is told of, and leaves no key behind that nobody
 * can use.
 */

import type { Attempt } from '../engine/attempt.ts';
import { OptionsError } from '../core/errors.ts';
import type { ExchangeHost } from './exchange.ts';

/**
 * The error of it. The inner door would meet its own claim, or hold an answer that is held already; nothing has run
 * yet, which the outer attempt is told.
 */
export function protectedTwice(host: Pick<ExchangeHost, 'misuse'>, outer: Attempt): OptionsError {
  outer.notExecuted();
  const error = new OptionsError(
    'This request went through idempotent() twice: use it for the whole application or on the route, not in both.',
  );
  host.misuse('protected-twice', error.message);
  return error;
}
