/** The Lambda adapter: wraps a function behind API Gateway, an Application Load Balancer or a function URL. */

import type { Attempt } from '../../engine/attempt.ts';
import { registered } from '../../core/registered.ts';
import { OptionsError } from '../../core/errors.ts';
import { markProtected } from '../../http/marker.ts';
import { compileRoute, type RouteOptions } from '../../http/route.ts';
import { internalsOf, type Samekey } from '../../samekey.ts';
import type { LambdaContext, LambdaEvent, LambdaResult } from './event.ts';
import { answerEvent } from './lambda-exchange.ts';

/** Options of a protected function. */
export type LambdaOptions<Event extends LambdaEvent = LambdaEvent> = RouteOptions<Event>;

/** The application's function. `attempt` is null for requests that are not protected (GET, or no key required). */
export type LambdaHandler<Event extends LambdaEvent, Context extends LambdaContext> = (
  event: Event,
  context: Context,
  attempt: Attempt | null,
) => unknown;

const attempts = registered('attempts', () => new WeakMap<object, Attempt>());

/** The attempt that an event's function runs under; null when the request is not protected. */
export function attemptOf(event: LambdaEvent): Attempt | null {
  return attempts.get(event) ?? null;
}

/**
 * Protects a function: same key, same answer. An attempt ends before the function's own deadline, which its context
 * tells.
 *
 * ```ts
 * export const handler = idempotent(samekey, { policy: 'payments', scope: accountOf }, async (event) => ({
 *   statusCode: 201,
 *   body: JSON.stringify(await charge(JSON.parse(event.body ?? ''))),
 * }));
 * ```
 *
 * Throws `OptionsError` at once for options that cannot work.
 */
export function idempotent<
  Event extends LambdaEvent = LambdaEvent,
  Context extends LambdaContext = LambdaContext,
>(
  samekey: Samekey,
  options: LambdaOptions<Event>,
  handler: LambdaHandler<Event, Context>,
): (event: Event, context: Context) => Promise<LambdaResult> {
  const { engine, defaults } = internalsOf(samekey);
  const route = compileRoute<Event>(defaults, options, engine.world, engine.fingerprintSecrets);
  if (typeof handler !== 'function')
    throw new OptionsError('The handler of idempotent() is no function: pass async (event, context) => …');
  const answer = (event: Event, context: Context): Promise<LambdaResult> =>
    answerEvent(engine, route, null, event, context, (attempt) => {
      if (attempt !== null) attempts.set(event, attempt);
      return handler(event, context, attempt);
    });
  return markProtected(answer, { ...route, answers: true });
}
