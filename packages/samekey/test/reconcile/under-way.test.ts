/** Webhooks that overtake the answer to the call that they are about: never lost, and strangers are kept away for a bounded time only. */

import { describe, expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import { createReconciler, type Told } from '../../src/reconcile/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { FAKE_WALL_START, fakeWorld } from '../../../testing/src/index.ts';
import { createWorker, type Delivery } from '../../src/worker/index.ts';
import { atEnd, kinds, signal } from '../worker/bench.ts';

const CALL_TIME_MAX_MS = 4_000;

const told = (providerId: string, operation = 'order'): Told => ({
  by: { providerId, operation },
  verdict: { kind: 'completed', answer: reply(201, { id: providerId }) },
  source: 'webhook:bank',
});

async function inquire() {
  return { kind: 'not-known' } as const;
}

/** An operation whose call is under way; `note` and `end` say what becomes of it. */
async function calling() {
  const world = fakeWorld({ seed: 3 });
  const store = memoryStore({ now: () => FAKE_WALL_START + world.timeline.now });
  const samekey = createSamekey({ store, world, claimTtlMs: 60_000, attemptTimeMaxMs: 600_000 });
  const begun = signal();
  const ended = signal<'answered' | 'broken'>();
  let note: ((id: string) => Promise<void>) | null = null;
  const order = samekey.phased({
    name: 'order',
    run: async (_input: null, attempt) =>
      attempt.effect<string>(
        'charge',
        async ({ noteProviderId }) => {
          note = noteProviderId;
          begun.resolve();
          if ((await ended.promise) === 'broken') throw new Error('the line broke');
          return 'ch_1';
        },
        { rule: 'reconcile', callTimeMaxMs: CALL_TIME_MAX_MS },
      ),
  });
  const reconciler = createReconciler({
    store,
    world,
    operations: { order: { inquire, callTimeMaxMs: CALL_TIME_MAX_MS }, refund: { inquire } },
  });
  const run = order.run({ scope: ['t'], key: 'k', input: null });
  await world.advance(10);
  await begun.promise;
  return { world, reconciler, run, note: async (id: string) => note?.(id), end: ended.resolve };
}

// F153
describe('a webhook by an id that nobody has noted', () => {
  it('comes again while a call of its operation is under way, and is found once that is noted', async () => {
    const { world, reconciler, run, note, end } = await calling();
    expect(await reconciler.tell(told('pi_1'))).toEqual({ kind: 'not-yet', state: 'in_progress' });
    await note('pi_1');
    end('broken');
    await world.advance(10);
    expect(await run).toMatchObject({ kind: 'unknown' });
    expect(await reconciler.tell(told('pi_1'))).toEqual({ kind: 'applied', to: 'completed' });
  });

  it('also when the owner of the call has ended without knowing, as long as the call may be under way', async () => {
    const { world, reconciler, end } = await calling();
    end('broken');
    await world.advance(10);
    expect(await reconciler.tell(told('pi_1'))).toEqual({ kind: 'not-yet', state: 'unknown' });
    await world.advance(CALL_TIME_MAX_MS + 1);
    expect(await reconciler.tell(told('pi_1'))).toEqual({ kind: 'not-known-here' });
  });

  it('is a stranger’s once the longest call has had its time', async () => {
    const { world, reconciler } = await calling();
    expect(await reconciler.tell(told('pi_of_another'))).toMatchObject({ kind: 'not-yet' });
    await world.advance(CALL_TIME_MAX_MS);
    expect(await reconciler.tell(told('pi_of_another'))).toMatchObject({ kind: 'not-yet' });
    await world.advance(1);
    expect(await reconciler.tell(told('pi_of_another'))).toEqual({ kind: 'not-known-here' });
  });

  it('is a stranger’s when the call has noted its own, or has ended', async () => {
    const { world, reconciler, note, run, end } = await calling();
    await note('pi_1');
    expect(await reconciler.tell(told('pi_2'))).toEqual({ kind: 'not-known-here' });
    end('answered');
    await world.advance(10);
    await run;
    expect(await reconciler.tell(told('pi_2'))).toEqual({ kind: 'not-known-here' });
  });

  it('is a stranger’s when only another operation calls', async () => {
    const { reconciler } = await calling();
    expect(await reconciler.tell(told('re_1', 'refund'))).toEqual({ kind: 'not-known-here' });
  });
});

const [first] = kinds();
if (first !== undefined) {
  describe(`a webhook about a delivery: ${first.name}`, () => {
    const place = first.use();

    // F153
    it('comes again while the message is with a worker that has noted no id', async () => {
      const { store, transactions } = await place();
      const samekey = createSamekey({ store, transactions });
      const order = samekey.transactional({
        name: 'order',
        async run(_input: null, attempt) {
          await attempt.handOver({ topic: 'ship', payload: {} });
          return null;
        },
      });
      const reconciler = createReconciler({ store, operations: { order: { inquire } } });
      await order.run({ scope: ['t'], key: 'k', input: null });
      expect(await reconciler.tell(told('shp_1'))).toEqual({ kind: 'not-known-here' });
      const begun = signal();
      const noted = signal();
      const goOn = signal();
      const end = signal();
      const worker = createWorker({
        store,
        handlers: {
          async ship(_message: unknown, delivery: Delivery) {
            begun.resolve();
            await goOn.promise;
            await delivery.noteProviderId('shp_1');
            noted.resolve();
            await end.promise;
          },
        },
      });
      atEnd(async () => {
        goOn.resolve();
        end.resolve();
        await worker.stop();
      });
      worker.start();
      await begun.promise;
      expect(await reconciler.tell(told('shp_1'))).toEqual({ kind: 'not-yet', state: 'pending' });
      goOn.resolve();
      await noted.promise;
      expect(await reconciler.tell(told('shp_of_another'))).toEqual({ kind: 'not-known-here' });
      expect(await reconciler.tell(told('shp_1'))).toEqual({ kind: 'not-yet', state: 'pending' });
    });
  });
}
