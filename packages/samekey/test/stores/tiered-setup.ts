/** Tiered stores for tests: over any harness, with clocks that only `advance` moves, in front of a cache of its own. */

import type { Store } from '../../src/store/store.ts';
import type { SharedCache, TieredStoreOptions } from '../../src/stores/tiered/options.ts';
import { tieredStore } from '../../src/stores/tiered/index.ts';
import { systemWorld } from '../../src/system.ts';
import type { StoreHarness, StoreUnderTest } from '../../../testing/src/store-contract.ts';
import { memoryHarness } from './memory-harness.ts';

/** What a test chooses. */
export type TierOptions = Omit<TieredStoreOptions, 'store' | 'world'>;

/** The harness of the store behind, each of its handles behind a tier. */
export function tieredHarness(behind: StoreHarness, name: string, tiersOf: () => TierOptions): StoreHarness {
  return {
    ...behind,
    name: `${name} over ${behind.name}`,
    async create(options) {
      const t = await behind.create(options);
      let ms = 0;
      const world = {
        ...systemWorld(),
        monotonicNow: (): number => 1_000 + ms,
        wallNow: (): number => 5_000 + ms,
      };
      const tiers = tiersOf();
      const tier = <S extends Store>(store: S): S => tieredStore({ ...tiers, store, world });
      return {
        ...t,
        store: tier(t.store),
        async advance(more) {
          ms += more;
          await t.advance(more);
        },
        ...(t.another !== undefined && {
          another: async (as: { readonly wallOffsetMs: number }) => tier((await t.another?.(as)) as Store),
        }),
      } satisfies StoreUnderTest;
    },
  };
}

/** A cache in this process that does what it is told and forgets nothing: what lies too long in it must not matter. */
export function mapCache(): SharedCache & { readonly entries: Map<string, Uint8Array> } {
  const entries = new Map<string, Uint8Array>();
  return {
    entries,
    get: async (names) => names.map((name) => entries.get(name) ?? null),
    put: async (name, bytes) => void entries.set(name, bytes),
    drop: async (names) => names.forEach((name) => void entries.delete(name)),
  };
}

const memory = memoryHarness();

/** Each tier over the store in memory, which is the state table itself. */
export const MEMORY_HARNESSES: readonly StoreHarness[] = [
  tieredHarness(memory, 'a tier in memory', () => ({ memoryBytesMax: 1_000_000 })),
  tieredHarness(memory, 'a cache that forgets nothing', () => ({ cache: mapCache(), replayShareMin: 0 })),
  tieredHarness(memory, 'both tiers', () => ({
    cache: mapCache(),
    replayShareMin: 0,
    memoryBytesMax: 1_000_000,
  })),
];
