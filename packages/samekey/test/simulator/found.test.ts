/**
 * Faults that the simulator found, each cut to the smallest history that shows it.
 */

import { describe, expect, it } from 'vitest';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import { isPointer } from '../../src/engine/bridge/pointer.ts';
import type { Store } from '../../src/store/store.ts';
import { createSamekey, type Samekey, type SamekeyOptions } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { createRandom } from '../../../testing/src/random.ts';
import { createTimeline, type Timeline } from '../../../testing/src/timeline.ts';
import { FAKE_WALL_START, type FakeWorld, fakeWorld } from '../../../testing/src/fake-world.ts';
import { type FaultyStore, faultyStore } from '../../../testing/src/faulty-store.ts';

interface Node {
  readonly world: FakeWorld;
  readonly store: FaultyStore;
  readonly samekey: Samekey;
  readonly events: SamekeyEvent[];
  sleep(ms: number): Promise<void>;
}

/** Two processes and more on one store, in one virtual time. */
function installation(): {
  readonly timeline: Timeline;
  readonly store: Store;
  readonly node: (name: string, options?: Partial<SamekeyOptions>) => Node;
} {
  const timeline = createTimeline(createRandom(7));
  const store = memoryStore({ now: () => Math.floor(FAKE_WALL_START + timeline.now) });
  return {
    timeline,
    store,
    node(name, options = {}) {
      const world = fakeWorld({ name, timeline });
      const faulty = faultyStore(store, { timers: timeline, callerTimers: world });
      const events: SamekeyEvent[] = [];
      const samekey = createSamekey({
        store: faulty,
        world,
        policy: 'standard',
        claimTtlMs: 600,
        attemptTimeMaxMs: 10_000,
        storeTimeMaxMs: 200,
        saveTimeMaxMs: 300,
        onEvent: (event) => void events.push(event),
        ...options,
      });
      const sleep = (ms: number): Promise<void> => new Promise((resolve) => void world.setTimer(ms, resolve));
      return { world, store: faulty, samekey, events, sleep };
    },
  };
}

const REQUEST = { operation: 'pay', scope: ['t'], key: 'k', fingerprint: null } as const;

describe('found by the simulator', () => {
  it('a renewal that arrives after its owner called the outcome unknown does not make it run again', async () => {
    const { store, node } = installation();
    const a = node('a', { policy: 'payments', whenClaimEnds: 'resume' });
    a.store.inject('late', { verb: 'renew', byMs: 250, silent: true });
    let runs = 0;
    const work = async (): Promise<never> => {
      runs += 1;
      await a.sleep(300);
      throw new Error('the provider timed out');
    };
    void a.samekey.run(REQUEST, work).catch(() => undefined);
    await a.world.advance(2_000);
    await store.sweep(10);
    const again = a.samekey.run(REQUEST, work);
    await a.world.advance(100);
    expect((await again).kind).toBe('unknown');
    expect(runs).toBe(1);
  });

  it('an attempt that finds the equal answer of another attempt contradicts aloud', async () => {
    const { node } = installation();
    const options = { whenClaimEnds: 'resume' } as const;
    const [a, b] = [node('a', options), node('b', options)];
    let effects = 0;
    const work = (on: Node) => async () => {
      effects += 1;
      await on.sleep(100);
      return 'done';
    };
    const first = a.samekey.run(REQUEST, work(a));
    await a.world.advance(50);
    a.world.freeze();
    await b.world.advance(1_000);
    const second = b.samekey.run(REQUEST, work(b));
    await b.world.advance(500);
    a.world.thaw();
    await a.world.advance(500);
    expect(await second).toMatchObject({ kind: 'executed', attempt: 2 });
    expect(effects).toBe(2);
    expect(await first).toMatchObject({ kind: 'replay', attempt: 2 });
    expect(a.events.filter(({ type }) => type === 'contradiction')).toHaveLength(1);
  });

  // F4: frozen between its claim and its handler.
  it('a process that stood still longer than its claim does not start its handler', async () => {
    const { node } = installation();
    const options = { whenClaimEnds: 'resume', storeTimeMaxMs: 60_000 } as const;
    const [a, b] = [node('a', options), node('b', options)];
    a.store.inject('slow', { verb: 'claim', byMs: 20 });
    let effects = 0;
    const first = a.samekey.run(REQUEST, () => (effects += 1));
    await a.world.advance(10);
    a.world.freeze();
    await b.world.advance(1_000);
    const second = b.samekey.run(REQUEST, () => (effects += 1));
    await b.world.advance(100);
    a.world.thaw();
    await a.world.advance(100);
    expect(await second).toMatchObject({ kind: 'executed', attempt: 2 });
    expect(await first).toMatchObject({ kind: 'unavailable' });
    expect(effects).toBe(1);
  });

  it('what such a process had claimed is free again at once', async () => {
    const { node } = installation();
    const a = node('a', { storeTimeMaxMs: 60_000 });
    a.store.inject('slow', { verb: 'claim', byMs: 20 });
    const first = a.samekey.run(REQUEST, () => 1);
    await a.world.advance(10);
    a.world.freeze();
    await a.world.advance(1_000);
    a.world.thaw();
    await a.world.advance(10);
    expect(await first).toMatchObject({ kind: 'unavailable' });
    const second = a.samekey.run(REQUEST, () => 2);
    await a.world.advance(10);
    expect(await second).toMatchObject({ kind: 'executed', attempt: 2 });
  });

  it('whoever waits for a handler that hangs and has lost its claim is told when its time is up', async () => {
    const { node } = installation();
    const options = { whenClaimEnds: 'resume', attemptTimeMaxMs: 3_000 } as const;
    const [a, b] = [node('a', options), node('b', options)];
    const hung = a.samekey.run(REQUEST, () => new Promise<never>(() => undefined));
    await a.world.advance(50);
    a.world.freeze();
    await b.world.advance(1_000);
    const second = b.samekey.run(REQUEST, () => 'done');
    await b.world.advance(100);
    a.world.thaw();
    await a.world.advance(5_000);
    expect(await second).toMatchObject({ kind: 'executed' });
    expect((await hung).kind).toBe('in-progress');
    expect(await a.samekey.close({ drainMs: 0 })).toBe(0);
  });

  it('a claim given up on is not forgotten while the store is away', async () => {
    const { store, node } = installation();
    const a = node('a');
    a.store.inject('late', { verb: 'claim', byMs: 50, silent: true });
    a.store.inject('refuse', { verb: 'find', times: 60 });
    const first = a.samekey.run(REQUEST, () => 1);
    await a.world.advance(30_000);
    expect((await first).kind).toBe('unavailable');
    await store.sweep(10);
    expect((await store.list({}))[0]?.state).toBe('unknown');
    await a.world.advance(60_000);
    expect((await store.list({}))[0]?.state).toBe('retryable');
  });

  it('an answer given after the sweeper had given up is written with its own reason', async () => {
    const { store, node } = installation();
    const a = node('a', { whenClaimEnds: 'resume' });
    const first = a.samekey.run(REQUEST, async (attempt) => {
      await a.sleep(100);
      attempt.notExecuted({ correctable: true });
    });
    await a.world.advance(50);
    a.world.freeze();
    await a.world.advance(1_000);
    await store.sweep(10);
    a.world.thaw();
    await a.world.advance(200);
    await first;
    const [record] = await store.list({});
    expect(record).toMatchObject({ state: 'retryable', proof: 'declared', fingerprint: null });
  });

  it('an attempt that unbound its key is not told the answer of the request that came next', async () => {
    const { node } = installation();
    const [a, b] = [node('a'), node('b')];
    a.store.inject('loseReply', { verb: 'finish', silent: true });
    const first = a.samekey.run({ ...REQUEST, fingerprint: 'wrong' }, (attempt) =>
      attempt.notExecuted({ correctable: true }),
    );
    await a.world.advance(50);
    const second = b.samekey.run({ ...REQUEST, fingerprint: 'right' }, () => 'secret');
    await b.world.advance(500);
    expect(await second).toMatchObject({ kind: 'executed', attempt: 2 });
    expect(await first).toEqual({ kind: 'mismatch' });
  });

  it('duplicates in one process are told what is stored, which may be without its body', async () => {
    const { node } = installation();
    const a = node('a');
    const limited = {
      ...a.store,
      capabilities: { ...a.store.capabilities, recordSizeMaxBytes: 10 },
    };
    const { world } = a;
    const samekey = createSamekey({ store: limited, world, policy: 'standard', waitMaxMs: 1_000 });
    const work = async (): Promise<string> => {
      await a.sleep(50);
      return 'longer than ten bytes';
    };
    const both = [samekey.run(REQUEST, work), samekey.run(REQUEST, work)];
    await world.advance(500);
    expect((await Promise.all(both)).map(({ kind }) => kind)).toEqual(['executed', 'response-not-stored']);
  });

  it('two requests that meet an expired record under a former name run once', async () => {
    const { store, node } = installation();
    const names = { retentionMs: 1_000, replayMinMs: 0 };
    const [a, b] = [node('a', names), node('b', names)];
    const renamed = { ...REQUEST, formerly: ['charge'] };
    // A deploy had forgotten the former name: the record stands under the present one, and expires there.
    const before = a.samekey.run(REQUEST, () => 0);
    await a.world.advance(2_000);
    expect((await before).kind).toBe('executed');
    let runs = 0;
    const work = (on: Node) => async () => {
      runs += 1;
      await on.sleep(50);
      return 'done';
    };
    // Its second claim, under the oldest name, is under way while the other one looks.
    a.store.inject('twice', { verb: 'claim', byMs: 1 });
    a.store.inject('slow', { verb: 'claim', byMs: 20 });
    const first = a.samekey.run(renamed, work(a));
    await a.world.advance(10);
    const second = b.samekey.run(renamed, work(b));
    await b.world.advance(300);
    expect([(await first).kind, (await second).kind].toSorted()).toEqual(['executed', 'in-progress']);
    expect(runs).toBe(1);
    const kept = (await store.list({})).filter((record) => !isPointer(record));
    expect(kept.map(({ state }) => state)).toEqual(['completed']);
  });
});
