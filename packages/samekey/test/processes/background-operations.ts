/**
 * The operations of the proof of background work. What each writes holds a number drawn there, and its answer repeats it: only what was
 * recorded first can be in an answer. Every call of the provider carries a key that is the same in each attempt.
 */

import { randomUUID } from 'node:crypto';
import { type EffectRule, type Operation, reply, type Samekey } from 'samekey';
import { createOutbox } from 'samekey/outbox';
import type { MessageHandler } from 'samekey/worker';
import type { BackgroundDatabase } from './background-database.ts';
import { type BackgroundInput, type OperationName, TIMES } from './background-protocol.ts';

const DAY_MS = 86_400_000;
/** One connection a call: one that is kept could be closed by the provider at the moment of the next. */
const HANG_UP = { connection: 'close' };

/** A call that the provider refused or never saw. */
export async function pay(
  providerPort: number,
  kind: string,
  { reference, amount }: BackgroundInput,
  key: string,
  signal?: AbortSignal,
): Promise<string> {
  const timeOut = AbortSignal.timeout(TIMES.callTimeoutMs);
  const response = await fetch(`http://127.0.0.1:${providerPort}/payments`, {
    method: 'POST',
    signal: signal === undefined ? timeOut : AbortSignal.any([signal, timeOut]),
    headers: { ...HANG_UP, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ kind, reference, amount }),
  });
  if (response.status !== 201) throw new Error(`The provider answered ${response.status}.`);
  return ((await response.json()) as { id: string }).id;
}

/** Handlers of the messages. */
export function handlersOf(providerPort: number): Record<'notify' | 'ship', MessageHandler<BackgroundInput>> {
  return {
    notify: async ({ payload }, { downstreamKey, signal }) =>
      pay(providerPort, 'book', payload, downstreamKey, signal),
    ship: async ({ payload }, { signal }) => {
      // Under a key of the request, not of the message: an attempt that comes later must not ship twice.
      return reply(201, {
        id: await pay(providerPort, 'ship', payload, `ship ${payload.reference}`, signal),
      });
    },
  };
}

/** Defines them all, in every process. */
export function defineOperations(
  samekey: Samekey,
  database: BackgroundDatabase,
  providerPort: number,
): Readonly<Record<OperationName, Operation<BackgroundInput, unknown>>> {
  const outbox = createOutbox({ store: database.store });
  const line = async (tx: unknown, what: string, { reference }: BackgroundInput): Promise<string> => {
    const written = randomUUID();
    await database.insertLine(tx, { what, reference, written });
    return written;
  };
  const paying = (rule: EffectRule<string>): Operation<BackgroundInput, unknown> =>
    samekey.phased({
      name: `pay-${rule.rule}`,
      attemptMax: 40,
      run: async (input: BackgroundInput, attempt) => {
        const reserved = await attempt.phase('reserve', (tx) => line(tx, 'reserve', input));
        const payment = await attempt.effect(
          'pay',
          ({ downstreamKey, signal }) => pay(providerPort, `pay-${rule.rule}`, input, downstreamKey, signal),
          { ...rule, callTimeMaxMs: TIMES.callTimeoutMs + 100, input },
        );
        const done = await attempt.phase('done', (tx) => line(tx, 'done', input));
        return reply(201, { id: payment, written: [reserved, done] });
      },
    });
  return {
    book: samekey.transactional({
      name: 'book',
      run: async (input: BackgroundInput, { tx }) => {
        const written = await line(tx, 'book', input);
        await outbox.enqueue(tx, {
          topic: 'notify',
          group: `account-${input.amount % 2}`,
          payload: { ...input },
        });
        return reply(201, { written: [written] });
      },
    }),
    ship: samekey.transactional({
      name: 'ship',
      run: async (input: BackgroundInput, attempt) => {
        await line(attempt.tx, 'ship', input);
        await attempt.handOver({ topic: 'ship', payload: { ...input } });
        return { status: 'accepted' };
      },
    }),
    'pay-downstreamKey': paying({ rule: 'downstreamKey', retentionMs: DAY_MS }),
    'pay-inquire': paying({
      rule: 'inquire',
      async inquire({ downstreamKey, signal }) {
        const url = `http://127.0.0.1:${providerPort}/payments?key=${downstreamKey}`;
        const response = await fetch(url, { signal, headers: HANG_UP });
        if (response.status === 404) return null;
        if (response.status !== 200) throw new Error(`The provider answered ${response.status}.`);
        return { result: ((await response.json()) as { id: string }).id };
      },
    }),
    'pay-reconcile': paying({ rule: 'reconcile' }),
    report: samekey.deferred(
      samekey.transactional({
        name: 'report',
        run: async (input: BackgroundInput, { tx }) =>
          reply(201, { written: [await line(tx, 'report', input)] }),
      }),
    ),
    charge: samekey.plain({
      name: 'charge',
      policy: 'payments',
      run: async (input: BackgroundInput) =>
        reply(201, { id: await pay(providerPort, 'charge', input, `charge ${input.reference}`) }),
    }),
  };
}
