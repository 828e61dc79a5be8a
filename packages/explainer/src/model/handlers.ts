/** The handler of the shop, and the ways in which people put keys around it by hand. */

import { NO_ATTEMPT, type StageHandler } from './stage-exchange.ts';
import { type CallFault, NoReply } from './stage-provider.ts';
import type { Stage } from './stage.ts';
import type { LaneId } from './trace.ts';
import { type HttpAnswer, type HttpRequest, header, json, type Serve } from './http-lines.ts';

/** How a handler calls the provider. */
interface HandlerOptions {
  /** What goes wrong with each call; default nothing. */
  readonly fault?: () => CallFault;
  /** The answer when the provider does not reply; default 502. */
  readonly whenNoReply?: HttpAnswer;
  /** Whether the key is passed on to the provider; default it is not. */
  readonly passesKey?: boolean;
  /** What the provider is told that it is for; default the order in the request. */
  readonly orderOf?: (request: HttpRequest) => string;
}

/** Charges and answers 201. When the provider does not reply it answers 502. */
export function chargeAndAnswer(stage: Stage, lane: LaneId, options: HandlerOptions = {}): StageHandler {
  const { fault = () => ({}), whenNoReply = NO_REPLY, passesKey = false, orderOf } = options;
  return async (request, attempt) => {
    const { order: own, amountCents } = JSON.parse(request.body) as OrderBody;
    const order = orderOf?.(request) ?? own;
    try {
      const caller = { lane, world: stage.world(lane) };
      const key = passesKey ? attempt.key : null;
      const charge = await stage.provider.charge(caller, { order, amountCents, key }, fault());
      return json(201, { order, paid: amountCents, charge: charge.id });
    } catch (error) {
      if (error instanceof NoReply) return whenNoReply;
      throw error;
    }
  };
}

const NO_REPLY = json(502, { error: 'the provider did not answer' });

interface OrderBody {
  readonly order: string;
  readonly amountCents: number;
}

/** No protection at all: each request runs. */
export function unprotected(handler: StageHandler): Serve {
  return (request) => handler(request, NO_ATTEMPT);
}

/** Looks whether the key is known, works, and remembers the key afterwards. */
export function lookThenRemember(stage: Stage, lane: LaneId, handler: StageHandler): Serve {
  return async (request): Promise<HttpAnswer> => {
    const key = (header(request, 'Idempotency-Key') ?? '').replaceAll('"', '');
    const known = await stage.byHand.read(lane, key);
    if (known !== null) return { ...known, headers: [...known.headers, ['Idempotency-Replayed', 'true']] };
    const answer = await handler(request, NO_ATTEMPT);
    await stage.byHand.write(lane, key, answer);
    return answer;
  };
}
