/** Webhooks about requests that were handed over: their messages know what the provider calls them, and the key of their deliveries. */

import { describe, expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import { createReconciler, type ToldAbout } from '../../src/reconcile/index.ts';
import type { Delivery } from '../../src/worker/index.ts';
import { ended, kinds, type Place } from './bench.ts';

const REQUEST = { scope: ['t'], key: 'k-1', input: null };

async function notKnown() {
  return { kind: 'not-known' } as const;
}

/** A request whose message was given up: the provider has it, and nobody here knows. */
async function givenUp({ store, transactions, worker }: Place) {
  const samekey = createSamekey({ store, transactions, replayCacheBytesMax: 0 });
  const order = samekey.transactional({
    name: 'order',
    async run(_input: null, attempt) {
      await attempt.handOver({ topic: 'ship', payload: {} });
      return null;
    },
  });
  await order.run(REQUEST);
  const told: { key: string } = { key: '' };
  const all = ended(1);
  worker({
    deliveriesMax: 1,
    onEvent: all.onEvent,
    handlers: {
      async ship(_message: unknown, delivery: Delivery) {
        told.key = delivery.downstreamKey;
        await delivery.noteProviderId('shp_1');
        throw new Error('reset by peer');
      },
    },
  }).start();
  await all.promise;
  expect(await order.run(REQUEST)).toMatchObject({ kind: 'unknown' });
  return { order, told };
}

for (const kind of kinds()) {
  describe(`told of what was handed over: ${kind.name}`, () => {
    const place = kind.use();

    it.each<[string, (key: string) => ToldAbout]>([
      ['what the provider calls it', () => ({ providerId: 'shp_1', operation: 'order' })],
      ['the key of its deliveries', (downstreamKey) => ({ downstreamKey })],
    ])('a webhook finds its record by %s and settles it', async (_what, by) => {
      const at = await place();
      const { order, told } = await givenUp(at);
      const reconciler = createReconciler({ store: at.store, operations: { order: { inquire: notKnown } } });
      const verdict = { kind: 'completed', answer: reply(201, { shipped: true }) } as const;
      const hook = { by: by(told.key), verdict, source: 'webhook:carrier' };
      // F61: a worker may have died with a delivery, and nobody says that the carrier's key is one.
      expect(await reconciler.tell({ ...hook, verdict: { kind: 'no-effect' } })).toMatchObject({
        kind: 'too-early',
        because: 'owner',
      });
      expect(await reconciler.tell(hook)).toEqual({ kind: 'applied', to: 'completed' });
      expect(await reconciler.tell(hook)).toEqual({ kind: 'already', state: 'completed' });
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'replay', value: { shipped: true } });
    });
  });
}
