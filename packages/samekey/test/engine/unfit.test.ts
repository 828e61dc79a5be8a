/** What works in a test and not in production is told once, long before it hurts (F100). */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSamekey } from 'samekey';
import { memoryStore } from 'samekey/stores/memory';
import { fakeWorld } from '../../../testing/src/fake-world.ts';

function codes(world: { readonly warnings: readonly string[] }): (string | undefined)[] {
  return world.warnings.map((one) => one.split(':')[0]);
}

afterEach(() => vi.unstubAllEnvs());

describe('a set-up that is not fit for production', () => {
  // F100
  it('is told of: a store in memory, with NODE_ENV=production only', () => {
    const world = fakeWorld();
    createSamekey({ store: memoryStore(), world });
    expect(codes(world)).toEqual([]);
    vi.stubEnv('NODE_ENV', 'production');
    createSamekey({ store: memoryStore(), world });
    expect(codes(world)).toEqual(['store-not-durable']);
  });

  // F100
  it('is told of once: an instance for each request', () => {
    const world = fakeWorld();
    const store = memoryStore();
    for (let i = 0; i < 50; i += 1) createSamekey({ store, world });
    expect(codes(world)).toEqual(['instance-per-request']);
  });

  // F100
  it('is told of once, at a third of its time: a handler that never answers', async () => {
    const world = fakeWorld();
    const samekey = createSamekey({ store: memoryStore({ now: () => world.wallNow() }), world });
    const ask = (key: string) =>
      samekey.run(
        { operation: 'o', policy: 'payments', scope: ['a'], key, fingerprint: null },
        () => new Promise<never>(() => undefined),
      );
    const both = [ask('k1'), ask('k2')];
    await world.advance(90_000);
    expect(codes(world)).toEqual([]);
    await world.advance(20_000);
    expect(codes(world)).toEqual(['handler-slow']);
    await world.advance(300_000);
    expect((await Promise.all(both)).map(({ kind }) => kind)).toEqual(['unknown', 'unknown']);
    expect(codes(world)).toEqual(['handler-slow']);
  });
});
