/** Serves an operation as a function of AWS Lambda: the event becomes the operation's input, its reply the answer. */

import { markProtected } from '../../http/marker.ts';
import { compileServed, type ServeOptions } from '../../http/serve.ts';
import { createStatus, type StatusOptions } from '../../http/status.ts';
import { toResponse } from '../../http-fetch/fetch-exchange.ts';
import type { Operation } from '../../ways/define-operation.ts';
import { type LambdaContext, type LambdaEvent, type LambdaResult, resultOf } from './event.ts';
import { answerEvent } from './lambda-exchange.ts';

/**
 * The function of what `samekey.transactional` and its like have defined. Requests that are not protected (GET) answer
 * 405. Throws `OptionsError`.
 */
export function serve<Input, Event extends LambdaEvent = LambdaEvent>(
  operation: Operation<Input, unknown>,
  options: ServeOptions<Event, Input>,
): (event: Event, context?: LambdaContext) => Promise<LambdaResult> {
  const { engine, route, wrapped } = compileServed<Event, Input>(operation, options);
  const notAllowed = { statusCode: 405, headers: { allow: [...route.methods].join(', ') } };
  const answer = (event: Event, context?: LambdaContext): Promise<LambdaResult> =>
    answerEvent(engine, route, wrapped, event, context, () => notAllowed);
  return markProtected(answer, { ...route, answers: true });
}

/** The status resource of an operation: 202 while it is unfinished, then the stored answer; 404 for anybody else's. */
export function serveStatus<Event extends LambdaEvent = LambdaEvent>(
  operation: Operation<never, unknown>,
  options: StatusOptions<Event>,
): (event: Event) => Promise<LambdaResult> {
  const status = createStatus<Event>(operation, options);
  return async (event) => {
    const answer = await status(event);
    return resultOf(toResponse(answer), answer.body ?? new Uint8Array(0), event);
  };
}
