/** What a worker does around its handlers, each part alone and in virtual time: leases, ends, taking, handing back. */

import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/core/errors.ts';
import type {
  LeaseResult,
  MessageStore,
  RetryRequest,
  TakenMessage,
  TakeRequest,
} from '../../src/store/message.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/index.ts';
import { createDeliverer } from '../../src/worker/deliverer.ts';
import { RunningDelivery } from '../../src/worker/delivery.ts';
import { createEnds } from '../../src/worker/delivery-ends.ts';
import type { WorkerEvent } from '../../src/worker/index.ts';
import { keepLeases } from '../../src/worker/leases.ts';
import type { DeliveringOptions } from '../../src/worker/options.ts';
import { startTaking } from '../../src/worker/taking.ts';
import { signal } from './bench.ts';

const LEASE_MS = 3_000;
const away = (applied: 'no' | 'unknown') => new StoreError('away', { applied, transient: true });

function taken(own: Partial<TakenMessage> = {}): TakenMessage {
  return {
    id: 'm-1',
    place: 1,
    topic: 'mail',
    group: null,
    payload: 'null',
    headers: null,
    state: 'leased',
    parked: false,
    dueAt: LEASE_MS,
    createdAt: 0,
    started: 1,
    finished: 0,
    proven: 0,
    forgiven: 0,
    leaseId: 'lease-1',
    providerId: null,
    lastError: null,
    owner: null,
    exhausted: false,
    ...own,
  };
}

/** A worker's parts over messages of which only these verbs are called. */
function bench(verbs: Partial<MessageStore>, own: Partial<DeliveringOptions> = {}) {
  const world = fakeWorld();
  const events: WorkerEvent[] = [];
  const options: DeliveringOptions = {
    store: memoryStore(),
    messages: verbs as MessageStore,
    internals: null,
    handlers: new Map(),
    concurrency: 10,
    batchSizeMax: 10,
    leaseMs: LEASE_MS,
    deliveryTimeMaxMs: 300_000,
    pollMs: 1_000,
    deliveriesMax: 20,
    backoffMinMs: 1_000,
    backoffMaxMs: 1_000,
    listen: false,
    sweepMs: 1_000,
    pushMs: 1_000,
    unknownMaxMs: 1_000,
    emit: (event) => void events.push(event),
    world,
    probe: undefined,
    ...own,
  };
  return { world, events, options };
}

describe('leases', () => {
  it('are renewed again after a renewal that the store did not answer', async () => {
    let calls = 0;
    const { world, options, events } = bench({
      async extend(leases) {
        calls += 1;
        if (calls === 1) throw away('unknown');
        return leases.map(() => 'applied' as const);
      },
    });
    const delivery = new RunningDelivery(taken(), {
      downstreamKey: () => 'key',
      now: () => 0,
      leasedUntil: LEASE_MS,
      timeMaxMs: 300_000,
      note: async () => 'applied',
    });
    const end = keepLeases(options, new Set([delivery]), () => undefined);
    await world.advance(5 * LEASE_MS);
    end();
    expect(calls).toBe(15);
    expect(delivery.leasedUntil).toBe(6 * LEASE_MS);
    expect(events.map(({ type }) => type)).toEqual(['store-error']);
  });

  it('last as long as a handler asks for, by the clock of its worker', async () => {
    const world = fakeWorld({ monotonicStart: 1e9 });
    const { options, events } = bench(
      { extend: async (leases) => leases.map(() => 'applied' as const) },
      { deliveryTimeMaxMs: 10_000, world },
    );
    const deliverer = createDeliverer(options, createEnds(options), () => false);
    const delivery = await deliverer.begin(taken(), world.monotonicNow());
    const end = keepLeases(options, new Set([delivery]), () => undefined);
    delivery.extend(60_000);
    await world.advance(55_000);
    expect(events).toEqual([]);
    await world.advance(10_000);
    end();
    expect(events.map(({ type }) => type)).toEqual(['time-up']);
  });

  // Seed 19 of the simulator of background work: it stood still between its take and its handler, and another had done the work.
  it('that are over before the handler begins begin none: the message is given back, and not counted', async () => {
    const retried: RetryRequest[] = [];
    let begun = 0;
    const { world, options, events } = bench(
      {
        async retry(requests) {
          retried.push(...requests);
          return requests.map(() => (retried.length === 1 ? 'applied' : 'lost'));
        },
      },
      { handlers: new Map([['mail', () => (begun += 1)]]) },
    );
    const deliverer = createDeliverer(options, createEnds(options), () => false);
    for (const id of ['m-1', 'm-2']) {
      const delivery = await deliverer.begin(taken({ id }), world.monotonicNow());
      await world.advance(LEASE_MS);
      const run = deliverer.run(delivery, () => undefined);
      await world.advance(1_000);
      await run;
    }
    expect(begun).toBe(0);
    expect(retried.map(({ id, begun: counted }) => [id, counted])).toEqual([
      ['m-1', false],
      ['m-2', false],
    ]);
    expect(events).toEqual([]);
  });
});

describe('the end of a delivery', () => {
  it.each<['no' | 'unknown', LeaseResult]>([
    ['no', 'lost'],
    ['unknown', 'applied'],
  ])('that is lost after an error of which the store says %s was applied, is %s', async (applied, result) => {
    let calls = 0;
    const { world, options } = bench({
      async done() {
        calls += 1;
        if (calls === 1) throw away(applied);
        return ['lost'];
      },
    });
    const { id, place, leaseId, started } = taken();
    const ended = createEnds(options).done({ id, place, leaseId, started, record: null }, LEASE_MS);
    await world.advance(1_000);
    expect(await ended).toBe(result);
  });
});

describe('taking', () => {
  it('takes one suspect at a time, and the next when that one has ended', async () => {
    const asked: TakeRequest[] = [];
    const end = signal();
    const { world, options } = bench(
      {
        async take(request) {
          asked.push(request);
          const message = taken({ started: 2, finished: 0, exhausted: false });
          return { taken: asked.length === 1 ? [message] : [], more: false, nextDueMs: null };
        },
        done: async () => ['applied'],
      },
      {
        handlers: new Map([['mail', () => end.promise]]),
        pollMs: 100,
      },
    );
    const deliverer = createDeliverer(options, createEnds(options), () => false);
    const taking = startTaking(options, deliverer);
    await world.advance(1_000);
    expect(asked.slice(0, 4).map(({ suspectsMax }) => suspectsMax)).toEqual([1, 0, 0, 0]);
    end.resolve();
    await world.advance(1_000);
    expect(asked.at(-1)?.suspectsMax).toBe(1);
    const stopped = taking.stop();
    await world.advance(1_000);
    await stopped;
  });
});

describe('handing back', () => {
  it('leaves an exhausted message to the end of its lease: it was not counted, and must not be counted back', async () => {
    const retried: RetryRequest[] = [];
    const { world, options } = bench({
      async retry(requests) {
        retried.push(...requests);
        return requests.map(() => 'applied' as const);
      },
    });
    const deliverer = createDeliverer(options, createEnds(options), () => true);
    const all = Promise.all([
      deliverer.handBack(taken({ id: 'spent', started: 20, exhausted: true }), 0),
      deliverer.handBack(taken({ id: 'fresh' }), 0),
    ]);
    await world.advance(10);
    await all;
    expect(retried.map(({ id, begun }) => [id, begun])).toEqual([['fresh', false]]);
  });
});
