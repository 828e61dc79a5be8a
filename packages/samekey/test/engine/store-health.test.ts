/** A store that does not answer is told of where the person looks first, once for each change (F98). */

import { describe, expect, it } from 'vitest';
import { createSamekey, StoreError } from 'samekey';
import { memoryStore } from 'samekey/stores/memory';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

function setup(broken: { error: Error | null }) {
  const world = fakeWorld();
  const inner = memoryStore({ now: () => world.wallNow() });
  const claim: typeof inner.claim = async (requests) => {
    if (broken.error !== null) throw broken.error;
    return inner.claim(requests);
  };
  const samekey = createSamekey({ store: { ...inner, claim }, world });
  let keys = 0;
  return {
    world,
    told: () => world.warnings.map((one) => one.split(':')[0]),
    ask: async () => {
      keys += 1;
      const outcome = samekey.run(
        { operation: 'o', policy: 'standard', scope: ['a'], key: `k${keys}`, fingerprint: null },
        () => 1,
      );
      return (await outcome).kind;
    },
  };
}

const MISSING = new StoreError('The tables are missing: run `await store.migrate()`.', { applied: 'no' });

/** A call that hangs. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

describe('a store that does not answer', () => {
  // F98
  it('is told of once for each change, with the store’s own message and its mend', async () => {
    const broken: { error: Error | null } = { error: MISSING };
    const { ask, told, world } = setup(broken);
    for (let i = 0; i < 3; i += 1) expect(await ask()).toBe('unavailable');
    expect(told()).toEqual(['store-down']);
    expect(world.warnings[0]).toContain('run `await store.migrate()`');
    broken.error = null;
    for (let i = 0; i < 3; i += 1) expect(await ask()).toBe('executed');
    expect(told()).toEqual(['store-down', 'store-up']);
    broken.error = MISSING;
    expect(await ask()).toBe('unavailable');
    expect(told()).toEqual(['store-down', 'store-up', 'store-down']);
  });

  it('is not told of when it is busy or refuses one row', async () => {
    for (const how of [{ busy: true }, { transient: false }]) {
      const { ask, told } = setup({ error: new StoreError('No.', { applied: 'no', ...how }) });
      expect(await ask()).toBe('unavailable');
      expect(told()).toEqual([]);
    }
  });

  it('is told of when it hangs', async () => {
    const world = fakeWorld();
    const inner = memoryStore({ now: () => world.wallNow() });
    const samekey = createSamekey({ store: { ...inner, claim: never }, world });
    const outcome = samekey.run(
      { operation: 'o', policy: 'standard', scope: ['a'], key: 'k', fingerprint: null },
      () => 1,
    );
    // To its time-out, and to that of the one repeat.
    await world.advance(10_000);
    expect((await outcome).kind).toBe('unavailable');
    expect(world.warnings.map((one) => one.split(':')[0])).toContain('store-down');
  });
});
