/**
 * A load of customers who do what customers do: each clicks twice, which sends two requests with one key at once; many
 * lose the answer at some moment on its way; and each request is sent again under its key until there is an answer.
 */

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventListener } from 'samekey';
import type { IntentCharges } from './intents.ts';
import { judge, type LoadLedger, type LoadProgress, type Served } from './load-ledger.ts';
import { send } from './customer-request.ts';

/** A load to be run. */
interface LoadOptions {
  readonly origin: string;
  readonly customers: number;
  readonly signal: AbortSignal;
  /** Whether customers also place orders, and some leave once they know that theirs is noted; default false. */
  readonly withOrders?: boolean;
  /** How often a click is sent at most; default 40. */
  readonly sendsMax?: number;
  /** Customers come over this time for each hundred of them, in milliseconds; default 2,000. */
  readonly arrivalMsPerHundred?: number;
  /** What decides about amounts, losses and pauses, from 0 to 1; default `Math.random`. */
  readonly random?: () => number;
  /** The provider's own counts, asked for at the end. */
  readonly charges: () => Promise<readonly IntentCharges[]>;
}

/** A load: to be told events from the start, then run once. */
export interface Load {
  readonly onEvent: EventListener;
  progress(): LoadProgress;
  /** Rejects with the signal's reason when aborted. */
  run(): Promise<LoadLedger>;
}

const CLICKS = 2;
/** Two of five requests lose their answer, so that about one customer in three loses several. */
const LOSS_RATE = 0.4;
/** Up to when an answer may be lost: a little longer than the provider takes. */
const LOSS_MAX_MS = 900;
/** With orders: how many place one, and how many leave early. */
const ORDER_RATE = 0.5;
const LEAVE_RATE = 0.2;
/** Customers come over this time for each hundred of them. */
const ARRIVAL_MS_PER_HUNDRED = 2_000;
const PAUSE_MAX_MS = 300;
/** Nobody is that unlucky: 0.4 to the power of 40. */
const SENDS_MAX = 40;

/** What a customer has come for. */
interface Errand {
  readonly path: 'payments' | 'orders';
  readonly leaves: boolean;
}

/** Makes a load. */
export function createLoad(options: LoadOptions): Load {
  const { origin, customers, signal, sendsMax = SENDS_MAX, random = Math.random } = options;
  const { arrivalMsPerHundred = ARRIVAL_MS_PER_HUNDRED, withOrders = false } = options;
  const agent = new Agent({ keepAlive: true });
  const intents = new Set<string>();
  const count = { served: 0, executed: 0, replayed: 0, inProgress: 0, lost: 0, requests: 0 };

  /** Sends one click until it is answered: the answer's text, or null; undefined when the customer has left. */
  async function click(
    intent: string,
    body: string,
    { path, leaves }: Errand,
  ): Promise<string | null | undefined> {
    for (let sends = 0; sends < sendsMax; sends++) {
      const loseAfterMs = random() < LOSS_RATE ? random() * LOSS_MAX_MS : null;
      count.requests++;
      count.inProgress++;
      const answer = await send({ url: `${origin}/${path}`, agent, key: intent, body, loseAfterMs, signal });
      count.inProgress--;
      if (answer === null) count.lost++;
      else if (answer.status === 201) return answer.text;
      // From then on the worker has it, whoever still asks.
      else if (leaves && answer.status === (path === 'orders' ? 202 : 409)) return undefined;
      // A 5xx means that nothing has happened: the operation's policy is `standard`.
      else if (answer.retryAfterMs === null && answer.status < 500) return null;
      await pause(answer?.retryAfterMs ?? random() * PAUSE_MAX_MS, undefined, { signal });
    }
    return null;
  }

  async function serve(number: number): Promise<Served> {
    const intent = `load-${randomUUID()}`;
    intents.add(intent);
    const errand: Errand = {
      path: withOrders && random() < ORDER_RATE ? 'orders' : 'payments',
      leaves: withOrders && random() < LEAVE_RATE,
    };
    const body = JSON.stringify({
      customerId: `cus_${number}`,
      amountCents: 100 + Math.floor(random() * 9_900),
      currency: 'usd',
    });
    await pause(random() * (customers / 100) * arrivalMsPerHundred, undefined, { signal });
    const answers = await Promise.all(Array.from({ length: CLICKS }, () => click(intent, body, errand)));
    count.served++;
    return { intent, answers: answers.filter((answer) => answer !== undefined) };
  }

  return {
    onEvent(event) {
      if (event.type !== 'outcome' || event.id === null || !intents.has(event.id.key)) return;
      if (event.kind === 'executed') count.executed++;
      if (event.kind === 'replay') count.replayed++;
    },
    progress: () => ({ customers, ...count }),
    async run() {
      // Each customer listens.
      setMaxListeners(0, signal);
      try {
        const served = await Promise.all(Array.from({ length: customers }, (_, index) => serve(index + 1)));
        const charged = (await options.charges()).filter(({ intent }) => intents.has(intent));
        return {
          intents: customers,
          clicks: customers * CLICKS,
          requests: count.requests,
          lost: count.lost,
          executed: count.executed,
          replayed: count.replayed,
          charges: charged.reduce((sum, { charges }) => sum + charges, 0),
          faults: judge(served, charged),
        };
      } finally {
        agent.destroy();
      }
    },
  };
}
