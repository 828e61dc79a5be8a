/** How many keys a caller may have stored at once. */

import type { Counters, Counts } from 'samekey/guard';
import { OptionsError } from 'samekey';
import { memoryStore } from 'samekey/stores/memory';
import { expect, it } from 'vitest';
import { createActiveKeys } from '../../src/guard/active-keys.ts';
import { createLimits } from '../../src/guard/caller-limits.ts';
import { createSamekey } from '../../src/samekey.ts';
import { fakeWorld } from '../../../testing/src/fake-world.ts';
import { limiterOf } from './limited.ts';

const MINUTE_MS = 60_000;

function setup(max: number, newKeys?: ReturnType<typeof limiterOf>) {
  const world = fakeWorld();
  const store = memoryStore({ now: () => world.wallNow() });
  const limits = createLimits({
    activeKeys: { store, max, world },
    ...(newKeys === undefined ? {} : { newKeys }),
  });
  const samekey = createSamekey({
    store,
    world,
    policy: 'standard',
    limits,
    retentionMs: MINUTE_MS,
    retryWindowMs: MINUTE_MS,
  });
  const ask = async (key: string, caller = 'acme') =>
    (await samekey.run({ operation: 'order', scope: [caller], key, fingerprint: null }, () => 'made')).kind;
  return { world, store, ask };
}

it('a caller with all its keys stored gets no new one, and its known keys are answered', async () => {
  const { ask } = setup(2);
  expect([await ask('a'), await ask('b'), await ask('c')]).toEqual(['executed', 'executed', 'limited']);
  expect([await ask('a'), await ask('b')]).toEqual(['replay', 'replay']);
  expect(await ask('c', 'umbrella')).toBe('executed');
});

it('a burst of new keys within one process does not go beyond the limit', async () => {
  const { ask, store } = setup(10);
  const kinds = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(`k${i}`)));
  expect(kinds.filter((kind) => kind === 'executed')).toHaveLength(10);
  expect(await store.list({})).toHaveLength(10);
});

it('keys that are reaped make room', async () => {
  const { ask, store, world } = setup(2);
  await ask('a');
  await ask('b');
  await world.advance(MINUTE_MS);
  expect(await ask('c')).toBe('limited');
  await store.reap(10);
  await world.advance(1_000);
  expect(await ask('c')).toBe('executed');
});

it('keys from before the limit was there count', async () => {
  const before = memoryStore();
  const samekey = createSamekey({ store: before, policy: 'standard' });
  const run = (key: string, limits?: ReturnType<typeof createLimits>) =>
    samekey.run(
      { operation: 'order', scope: ['acme'], key, fingerprint: null, ...(limits && { limits }) },
      () => 'made',
    );
  for (const key of ['a', 'b', 'c']) await run(key);
  expect((await run('d', createLimits({ activeKeys: { store: before, max: 3 } }))).kind).toBe('limited');
});

it('a key that is refused for want of room takes no point of the other limit', async () => {
  const newKeys = limiterOf(5);
  const { ask } = setup(1, newKeys);
  await ask('a');
  for (let i = 0; i < 9; i += 1) expect(await ask(`more-${i}`)).toBe('limited');
  expect((await newKeys.get('acme'))?.consumedPoints).toBe(1);
});

/** Counts that another process adds to, and that fail when they are told to. */
function recorded() {
  const counts = new Map<string, number>();
  const added: Counts[] = [];
  const state = { fails: false, recounted: 0, actual: 0 };
  const counters: Counters = {
    async add(changes) {
      if (state.fails) throw new Error('down');
      added.push(changes);
      for (const [caller, change] of changes) counts.set(caller, (counts.get(caller) ?? 0) + change);
    },
    async read(callers) {
      if (state.fails) throw new Error('down');
      return new Map(
        callers.flatMap((caller) => (counts.has(caller) ? [[caller, counts.get(caller) ?? 0]] : [])),
      );
    },
    async recount(caller) {
      state.recounted += 1;
      counts.set(caller, state.actual);
      return state.actual;
    },
  };
  return { counts, added, state, counters };
}

it('what is added travels once a second, together, and what others added is seen then', async () => {
  const world = fakeWorld();
  const { counts, added, counters } = recorded();
  const keys = createActiveKeys({ store: { name: 'recorded', counters }, max: 100, world });
  for (let i = 0; i < 30; i += 1) (await keys.take(i % 2 === 0 ? 'acme' : 'umbrella')).end(true);
  (await keys.take('acme')).end(false);
  expect(added).toEqual([]);
  await world.advance(1_000);
  expect(added.map((changes) => Object.fromEntries(changes))).toEqual([{ acme: 15, umbrella: 15 }]);
  counts.set('acme', 99);
  (await keys.take('acme')).end(true);
  await world.advance(1_000);
  expect((await keys.take('acme')).fullForMs).toBe(60_000);
  expect((await keys.take('umbrella')).fullForMs).toBeNull();
});

it('a flush that fails is tried again, and loses nothing', async () => {
  const world = fakeWorld();
  const { added, state, counters } = recorded();
  const keys = createActiveKeys({ store: { name: 'recorded', counters }, max: 100, world });
  (await keys.take('acme')).end(true);
  state.fails = true;
  await world.advance(3_000);
  (await keys.take('acme')).end(true);
  state.fails = false;
  await world.advance(1_000);
  expect(added.map((changes) => Object.fromEntries(changes))).toEqual([{ acme: 2 }]);
});

it('a count that went wrong is trued up by a recount, of callers that have half their keys', async () => {
  const world = fakeWorld();
  const { counts, state, counters } = recorded();
  const keys = createActiveKeys({ store: { name: 'recorded', counters }, max: 100, world });
  (await keys.take('acme')).end(true);
  (await keys.take('small')).end(true);
  await world.advance(1_000);
  expect(state.recounted).toBe(2);
  // As after a process that died with what it had not taken off yet.
  counts.set('acme', 100);
  state.actual = 60;
  (await keys.take('acme')).end(true);
  await world.advance(1_000);
  expect((await keys.take('acme')).fullForMs).not.toBeNull();
  await world.advance(15 * MINUTE_MS);
  (await keys.take('small')).end(true);
  await world.advance(1_000);
  expect(state.recounted).toBe(2);
  expect((await keys.take('acme')).fullForMs).toBeNull();
  expect([state.recounted, counts.get('acme')]).toEqual([3, 60]);
});

it('a store without counts, and a limit of none, are refused at start', () => {
  expect(() => createLimits({ activeKeys: { store: { name: 'redis' }, max: 1 } })).toThrow(/keeps counts/);
  expect(() => createLimits({ activeKeys: { store: memoryStore(), max: 0 } })).toThrow(OptionsError);
});
