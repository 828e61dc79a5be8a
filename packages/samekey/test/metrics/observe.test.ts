/** The gauges: what a look at the store finds, how seldom it looks, and what it costs. */

import { EventEmitter, once } from 'node:events';
import type { Delivery } from '../../src/worker/index.ts';
import { describe, expect, it } from 'vitest';
import type { ListRequest } from '../../src/store/store.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { createSamekey } from '../../src/samekey.ts';
import { parse, startMeters, valueOf } from './meters.ts';
import { kinds } from '../worker/bench.ts';

const name = (what: string): string => `api_idempotency_${what}`;

const nobodyKnows = (): never => {
  throw new Error('nobody knows');
};

const doomed = (_message: unknown, delivery: Delivery): never => {
  delivery.giveUp();
  throw new Error('never');
};

describe.each(kinds())('a look at a store on $name', (kind) => {
  const open = kind.use();

  it('tells records, the oldest unknown outcome, waiting messages and dead letters', async () => {
    const place = await open();
    const samekey = createSamekey({ store: place.store, policy: 'payments' });
    const run = (key: string, handler: () => string) =>
      samekey.run({ operation: 'pay', scope: ['acme'], key, fingerprint: key }, handler);
    for (const key of ['one', 'two']) await run(key, () => 'paid');
    await expect(run('lost', nobodyKnows)).rejects.toThrow('nobody knows');
    for (const topic of ['mail', 'mail', 'doomed']) await place.outbox.enqueueAlone({ topic, payload: {} });
    const events = new EventEmitter();
    const dead = once(events, 'dead-letter');
    place.worker({ handlers: { doomed }, onEvent: ({ type }) => void events.emit(type) }).start();
    await dead;

    const meters = startMeters();
    const observers = [meters.otel, meters.prom].map((metrics) => metrics.observeStore(place.store));
    for (const observer of observers) await observer.look();
    const exposed = await meters.exposed();
    expect(valueOf(exposed, name('records'), { state: 'completed' })).toBe(2);
    expect(valueOf(exposed, name('records'), { state: 'unknown' })).toBe(1);
    expect(valueOf(exposed, name('records'), { state: 'pending' })).toBe(0);
    expect(valueOf(exposed, name('unknown_oldest_age_seconds'))).toBeGreaterThan(0);
    expect(valueOf(exposed, name('queue_depth'), { topic: 'mail' })).toBe(2);
    expect(valueOf(exposed, name('queue_depth'), { topic: 'doomed' })).toBe(0);
    expect(valueOf(exposed, name('dead_letters'), { topic: 'doomed' })).toBe(1);

    // Gone is zero, not what it was.
    await place.outbox.drop(
      (await place.outbox.deadLetters()).map(({ id }) => id),
      { reason: 'delivered by hand', actor: null },
    );
    for (const observer of observers) await observer.look();
    expect(valueOf(await meters.exposed(), name('dead_letters'), { topic: 'doomed' })).toBe(0);
    for (const observer of observers) await observer.stop();
  });
});

describe('a look at the store', () => {
  it('finds the oldest of many unknown outcomes with few questions', async () => {
    const world = fakeWorld();
    const store = memoryStore({ now: () => world.wallNow() });
    const samekey = createSamekey({ store, world });
    for (let n = 0; n < 2_000; n += 1) {
      const running = samekey.run(
        { operation: 'pay', policy: 'payments', scope: ['acme'], key: `k-${n}`, fingerprint: n },
        nobodyKnows,
      );
      await expect(running).rejects.toThrow('nobody knows');
      await world.advance(60_000);
    }
    const asked: ListRequest[] = [];
    const watched = {
      ...store,
      list: (request: ListRequest) => {
        asked.push(request);
        return store.list(request);
      },
    };
    const meters = startMeters();
    const observer = meters.prom.observeStore(watched, { world });
    await observer.look();
    await observer.stop();
    const age = valueOf(parse((await meters.texts()).prom), 'api_idempotency_unknown_oldest_age_seconds');
    expect(age).toBeGreaterThan(0.99 * 2_000 * 60);
    expect(age).toBeLessThanOrEqual(2_000 * 60);
    expect(asked.length).toBeLessThanOrEqual(30);
    expect(asked.every(({ limit }) => limit === 1)).toBe(true);
  });

  it('looks again after everyMs, and takes at most a twentieth of the time', async () => {
    const world = fakeWorld();
    const store = memoryStore({ now: () => world.wallNow() });
    let looks = 0;
    let costMs = 0;
    const slow = {
      ...store,
      async count() {
        looks += 1;
        await world.advance(costMs);
        return store.count();
      },
    };
    const observer = startMeters().prom.observeStore(slow, { everyMs: 1_000, world });
    await observer.look();
    await world.advance(1_000);
    expect(looks).toBe(2);
    costMs = 500;
    await world.advance(1_000);
    expect(looks).toBe(3);
    costMs = 0;
    await world.advance(9_000);
    expect(looks).toBe(3);
    await world.advance(1_000);
    expect(looks).toBe(4);
    await observer.stop();
    await world.advance(60_000);
    expect(looks).toBe(4);
  });

  it('a look that fails is counted, and the next one comes all the same', async () => {
    const world = fakeWorld();
    const store = memoryStore({ now: () => world.wallNow() });
    let fails = true;
    const count = () => (fails ? Promise.reject(new Error('the database is away')) : store.count());
    const meters = startMeters();
    const observer = meters.prom.observeStore({ ...store, count }, { everyMs: 1_000, world });
    await observer.look();
    const text = async () => parse((await meters.texts()).prom);
    const errors = 'api_idempotency_store_error_count_total';
    expect(valueOf(await text(), errors, { source: 'observer', verb: 'count' })).toBe(1);
    fails = false;
    await world.advance(1_000);
    expect(valueOf(await text(), 'api_idempotency_observed_last_run')).toBeGreaterThan(0);
    await observer.stop();
  });
});
