/** Deliveries that end when their message is not theirs any more: what they did is neither lost nor silent. */

import { describe, expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import type { SamekeyRecord } from '../../src/core/record.ts';
import type { FencedId, Store } from '../../src/store/store.ts';
import type { MessageStore, StoreWithMessages } from '../../src/store/message.ts';
import { StoreError } from '../../src/core/errors.ts';
import { type LateEnd, type LateMeaning, meaningOf } from '../../src/worker/late-end.ts';
import { createWorker, type WorkerEvent, type WorkerOptions } from '../../src/worker/index.ts';
import { atEnd, ended, kinds, type Place, signal } from './bench.ts';

const REQUEST = { scope: ['t'], key: 'k-1', input: null };
const BY = { reason: 'the carrier says so', actor: 'ada' };

function orderOf({ store, transactions }: Place) {
  const samekey = createSamekey({ store, transactions, replayCacheBytesMax: 0 });
  let runs = 0;
  const order = samekey.transactional({
    name: 'order',
    async run(_input: null, attempt) {
      runs += 1;
      if (runs > 1) return reply(201, 'by hand');
      await attempt.handOver({ topic: 'ship', payload: {} });
      return null;
    },
  });
  return { order };
}

/** A worker whose first lease cannot be kept: it stands still within its handler, until it is let on. */
function frozen({ store }: Place, answer: () => unknown, own: Partial<WorkerOptions> = {}) {
  const begun = signal();
  const goOn = signal();
  const events: WorkerEvent[] = [];
  const heard: (() => void)[] = [];
  const messages: MessageStore = {
    ...store.messages,
    extend: () => Promise.reject(new StoreError('cut off', { applied: 'no', transient: true })),
  };
  const cutOff: Store & StoreWithMessages = { ...store, messages };
  const worker = createWorker({
    store: cutOff,
    leaseMs: 100,
    concurrency: 1,
    pollMs: 5,
    ...own,
    handlers: {
      async ship() {
        begun.resolve();
        await goOn.promise;
        return answer();
      },
    },
    onEvent(event) {
      events.push(event);
      for (const each of heard) each();
    },
  });
  atEnd(async () => {
    goOn.resolve();
    await worker.stop({ drainMs: 1_000 });
  });
  worker.start();
  return {
    begun: begun.promise,
    goOn: () => goOn.resolve(),
    events,
    told: (type: WorkerEvent['type']) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (events.some((event) => event.type === type)) resolve();
        };
        heard.push(look);
        look();
      }),
  };
}

/** The message is given up meanwhile by a worker that finds it exhausted: the request is `unknown`. */
async function givenUpMeanwhile(at: Place) {
  const all = ended(1);
  const second = at.worker({ deliveriesMax: 1, onEvent: all.onEvent, handlers: { ship: () => undefined } });
  second.start();
  await all.promise;
  await second.stop();
}

async function recordOf({ store }: Place): Promise<SamekeyRecord> {
  const [record] = await store.list({ limit: 1 });
  if (record === undefined) throw new Error('There is no record.');
  return record;
}

for (const kind of kinds()) {
  describe(`late ends of deliveries: ${kind.name}`, () => {
    const place = kind.use();

    // F146
    it('an answer that comes after the lease is taken where nobody knew the outcome', async () => {
      const at = await place();
      const { order } = orderOf(at);
      await order.run(REQUEST);
      const first = frozen(at, () => reply(201, { tracking: 7 }));
      await first.begun;
      await givenUpMeanwhile(at);
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'unknown' });
      first.goOn();
      await first.told('late-answer');
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'replay', value: { tracking: 7 } });
      const types = first.events
        .map(({ type }) => type)
        .filter((type) => /lease|late|contra|deliv/.test(type));
      expect(types).toEqual(['lease-lost', 'late-answer']);
      expect(await at.store.audit({ acts: ['contradiction'] })).toEqual([]);
    });

    // F146
    it('an effect that ends after a settlement and a second run is a contradiction, told and noted', async () => {
      const at = await place();
      const { order } = orderOf(at);
      await order.run(REQUEST);
      const first = frozen(at, () => reply(201, { tracking: 7 }));
      await first.begun;
      await givenUpMeanwhile(at);
      const { scope, key, claimId, attempt } = await recordOf(at);
      const settled = { scope, key, claimId, attempt, to: 'retryable', response: null, ...BY } as const;
      expect(await at.store.settle([settled])).toMatchObject([{ kind: 'applied' }]);
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'executed', value: 'by hand', attempt: 2 });
      first.goOn();
      await first.told('contradiction');
      await expect
        .poll(() => at.store.audit({ acts: ['contradiction'] }))
        .toMatchObject([{ key: 'k-1', attempt: 1, from: 'completed', to: 'completed' }]);
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'replay', value: 'by hand' });
      expect(first.events.filter(({ type }) => type === 'lease-lost')).toHaveLength(1);
    });

    // F146: an answer beats an absence, so that nothing runs a second time.
    it('an answer that comes after a settlement as without effect is taken before it runs again, and told', async () => {
      const at = await place();
      const { order } = orderOf(at);
      await order.run(REQUEST);
      const first = frozen(at, () => reply(201, { tracking: 7 }));
      await first.begun;
      await givenUpMeanwhile(at);
      const { scope, key, claimId, attempt } = await recordOf(at);
      await at.store.settle([
        { scope, key, claimId, attempt, to: 'retryable', response: null, ...BY } as const,
      ]);
      first.goOn();
      await first.told('contradiction');
      expect(first.events.map(({ type }) => type)).toContain('late-answer');
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'replay', value: { tracking: 7 } });
      await expect
        .poll(() => at.store.audit({ acts: ['contradiction'] }))
        .toMatchObject([{ key: 'k-1', attempt: 1, from: 'retryable', to: 'completed' }]);
    });

    // F146: nobody knows what a handler did that threw.
    it('a late failure without proof contradicts what was settled as without effect', async () => {
      const at = await place();
      const { order } = orderOf(at);
      await order.run(REQUEST);
      const first = frozen(at, () => {
        throw new Error('reset by peer');
      });
      await first.begun;
      await givenUpMeanwhile(at);
      const { scope, key, claimId, attempt } = await recordOf(at);
      const settled = { scope, key, claimId, attempt, to: 'retryable', response: null, ...BY } as const;
      await at.store.settle([settled]);
      first.goOn();
      await first.told('contradiction');
      expect((await recordOf(at)).state).toBe('retryable');
    });

    // F150
    it('what the store cannot write is no dead letter yet: it is told once, when the table says so', async () => {
      const at = await place();
      const { store } = at;
      const tries = signal();
      let failures = 0;
      const messages: MessageStore = {
        ...store.messages,
        async dead(requests) {
          failures += 1;
          if (failures <= 3) throw new StoreError('a full disk', { applied: 'no', transient: false });
          const results = await store.messages.dead(requests);
          tries.resolve();
          return results;
        },
      };
      await at.outbox.enqueueAlone({ topic: 'mail' });
      const dead = ended(1);
      const events: WorkerEvent[] = [];
      const failing: Store & StoreWithMessages = { ...store, messages };
      const worker = createWorker({
        store: failing,
        leaseMs: 100,
        pollMs: 5,
        deliveriesMax: 1,
        handlers: {
          mail() {
            throw new Error('no such address');
          },
        },
        onEvent(event) {
          events.push(event);
          dead.onEvent(event);
        },
      });
      atEnd(() => worker.stop({ drainMs: 0 }));
      worker.start();
      await dead.promise;
      await tries.promise;
      expect(failures).toBe(4);
      const told = events.map(({ type }) => type).filter((type) => /dead|deliv/.test(type));
      expect(told).toEqual(['dead-letter']);
      expect(await at.outbox.count()).toEqual([{ topic: 'mail', state: 'dead', count: 1 }]);
    });
  });
}

describe('what a late end means for a record', () => {
  const owner: FencedId = { scope: 's', key: 'k', claimId: 'c', attempt: 1 };
  const record = (own: Partial<SamekeyRecord>): SamekeyRecord =>
    ({ ...owner, state: 'unknown', proof: null, ...own }) as SamekeyRecord;

  it.each<[string, SamekeyRecord | null, Record<LateEnd, LateMeaning>]>([
    ['gone', null, { success: 'contradiction', refusal: 'contradiction', 'not-known': 'contradiction' }],
    [
      'another attempt',
      record({ attempt: 2 }),
      { success: 'contradiction', refusal: 'contradiction', 'not-known': 'contradiction' },
    ],
    [
      'another claim, numbered alike',
      record({ claimId: 'd' }),
      { success: 'contradiction', refusal: 'contradiction', 'not-known': 'contradiction' },
    ],
    ['unknown', record({}), { success: 'take', refusal: 'take', 'not-known': 'none' }],
    [
      'settled as without effect',
      record({ state: 'retryable', proof: 'settled' }),
      { success: 'take-and-tell', refusal: 'take', 'not-known': 'contradiction' },
    ],
    [
      'settled as failed',
      record({ state: 'failed', proof: 'settled' }),
      { success: 'contradiction', refusal: 'none', 'not-known': 'contradiction' },
    ],
    [
      'refused by another delivery',
      record({ state: 'failed' }),
      { success: 'contradiction', refusal: 'none', 'not-known': 'none' },
    ],
    ['done', record({ state: 'completed' }), { success: 'none', refusal: 'none', 'not-known': 'none' }],
    [
      'with another delivery',
      record({ state: 'pending' }),
      { success: 'none', refusal: 'none', 'not-known': 'none' },
    ],
  ])('%s', (_what, found, expected) => {
    for (const end of ['success', 'refusal', 'not-known'] as const)
      expect([end, meaningOf(found, owner, end)]).toEqual([end, expected[end]]);
  });
});
