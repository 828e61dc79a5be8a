/**
 * The handlers of the simulated workers: notes are passed on under their key, entries of an account go in order, shipments are the work of an
 * order, bombs kill whoever handles them while faults last.
 *
 * Invariant: they are honest. One that says that nothing happened has had no effect, and none lands later.
 */

import { NotExecutedError, OutcomeUnknownError } from 'samekey/internals/core/errors';
import { reply } from 'samekey/internals/ways/reply';
import {
  type Delivery,
  type MessageHandler,
  type ReceivedMessage,
  relay,
} from 'samekey/internals/worker/index';
import { Refused } from '../simulator/provider.ts';
import { noteCharge } from './application.ts';
import { pause, shipmentOf, type WorkersContext } from './context.ts';
import type { DeliveryFacts, Ended } from './facts.ts';
import type { Machine } from './machines.ts';
import { CALL_MAX_MS, type Topic } from './scenario.ts';

interface Payload {
  readonly body: number;
  readonly key: string;
  readonly attempt: number;
}

type Message = ReceivedMessage<Payload>;
type Handler = MessageHandler<Payload>;

/** Those of a machine: of older code, without `entry`. */
export function handlersOf(context: WorkersContext, machine: Machine): Readonly<Record<string, Handler>> {
  const { random } = context;

  const audited =
    (handle: (message: Message, delivery: Delivery, facts: DeliveryFacts) => Promise<unknown>): Handler =>
    async (message, delivery) => {
      const facts = context.auditor.starts(machine.name, message, delivery);
      context.trace(
        null,
        () => `${machine.name} begins ${message.topic} ${message.id}, delivery ${delivery.number}`,
      );
      try {
        const answer = await handle(message, delivery, facts);
        facts.ended = isRefusal(answer) ? 'refused' : 'success';
        return answer;
      } catch (error) {
        facts.ended = endOf(error);
        throw error;
      } finally {
        context.trace(null, () => `${message.id}, delivery ${delivery.number}: ${facts.ended}`);
      }
    };

  /** Something at the provider, after a while; a hang, and a blow on the way. */
  async function work(
    facts: DeliveryFacts,
    what: string,
    downstreamKey: string | null,
    key: string,
  ): Promise<number> {
    const { rates } = context.scenario;
    const isSlow = !context.calm && random.chance(rates.slow);
    await pause(machine.world, isSlow ? random.between(500, 3_000) : random.pick([1, 5, 50]));
    context.strike(machine);
    await pause(machine.world, random.pick([0, 5, 50]));
    if (!context.calm && random.chance(rates.hang)) await new Promise(() => undefined);
    const { charge } = await declared(
      context.provider.charge(machine.world, {
        what,
        downstreamKey,
        landsWithinMs: CALL_MAX_MS / 2,
        landed(made) {
          facts.effects += 1;
          if (downstreamKey !== null) noteCharge(context, what, made);
          if (what.startsWith('ship ')) context.landed({ operation: 'order', key, charge: made });
        },
      }),
    );
    context.strike(machine);
    await pause(machine.world, random.pick([0, 5, 50]));
    return charge;
  }

  const publish = relay<Payload>(async ({ id, payload }, delivery) => {
    const facts = context.auditor.facts.deliveries.findLast((one) => one.id === id) as DeliveryFacts;
    return `note ${await work(facts, id, delivery.downstreamKey, payload.key)}`;
  });

  const handlers: Readonly<Record<Topic, Handler>> = {
    note: audited(async (message, delivery) => publish(message, delivery)),
    // Its receiver knows no keys: each delivery is one more entry.
    entry: audited(async ({ id, payload }, delivery, facts) => {
      if (!context.calm && random.chance(context.scenario.rates.doubt / 4)) {
        facts.gaveUp = true;
        delivery.giveUp();
      }
      await work(facts, id, null, payload.key);
    }),
    ship: audited(async ({ payload }, delivery, facts) => {
      const { key, attempt } = payload;
      const { doubt } = context.scenario.rates;
      if (!context.calm && random.chance(0.35)) context.standStill(machine);
      if (!context.calm && random.chance(doubt / 2))
        throw new OutcomeUnknownError('its carrier does not answer');
      const charge = await work(facts, shipmentOf(key, attempt), delivery.downstreamKey, key);
      const answer = { charge };
      if (context.calm) return reply(201, answer);
      if (random.chance(context.scenario.rates.doubt))
        throw new OutcomeUnknownError('it may have been shipped');
      if (random.chance(0.1)) throw new TypeError('on purpose');
      return random.chance(0.05) ? reply(422, answer) : reply(201, answer);
    }),
    bomb: audited(async (_message, _delivery, facts) => {
      if (context.calm) return;
      facts.ended = null;
      context.kill(machine);
      await new Promise(() => undefined);
    }),
  };
  const { entry: _, ...old } = handlers;
  return machine.isNew ? handlers : old;
}

/** A refused connection is the only failure that proves anything. */
function endOf(error: unknown): Ended {
  if (error instanceof NotExecutedError) return 'declined';
  return error instanceof OutcomeUnknownError ? 'unknown' : 'failed';
}

function isRefusal(answer: unknown): boolean {
  return ((answer as { readonly status?: number } | undefined)?.status ?? 0) >= 400;
}

/** What the provider has refused before it took it is declared as such. */
async function declared<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof Refused ? new NotExecutedError('the connection was refused') : error;
  }
}
