/**
 * Histories of processes with a tier each, in front of their bad connections, and a cache they share that does everything a cache may do.
 * And bugs planted in the tier: would the simulator find them?
 */

import { afterAll, describe, expect, it, vi } from 'vitest';
import type { ClaimRequest, Store } from '../../src/store/store.ts';
import { tieredStore, type TieredStoreOptions } from '../../src/stores/tiered/index.ts';
import { simulate, type SimulateOptions } from '../../../testing/src/index.ts';
import { createRandom } from '../../../testing/src/random.ts';
import { describeFailure } from '../../../testing/src/simulator/report.ts';
import { hostileCache } from './hostile-cache.ts';

const HISTORIES_MAX = 3_000;
const SECONDS = Number(process.env['SAMEKEY_SIM_SECONDS'] ?? 4);
const FIRST = Number(process.env['SAMEKEY_SEED'] ?? 1);

type Bug = 'no limit of trust' | 'trust from the fill' | 'any request' | 'kept before it is confirmed';

/** What is wrong with the tiers of every process; null: nothing. */
const planted = vi.hoisted(() => ({ bug: null as null | Bug }));

vi.mock('../../src/stores/tiered/truth-clock.ts', async (original) => {
  const actual = await original<typeof import('../../src/stores/tiered/truth-clock.ts')>();
  return {
    createTruthClock(world: Parameters<typeof actual.createTruthClock>[0]) {
      const clock = actual.createTruthClock(world);
      // What was read last is now: entries never age.
      let first: number | null = null;
      return {
        learn(asked: Parameters<typeof clock.learn>[0], now: number) {
          first ??= now;
          clock.learn(asked, now);
        },
        atMost: () => (planted.bug === 'no limit of trust' ? first : clock.atMost()),
      };
    },
  };
});

vi.mock('../../src/stores/tiered/entry.ts', async (original) => {
  const actual = await original<typeof import('../../src/stores/tiered/entry.ts')>();
  return {
    createEntries(...args: Parameters<typeof actual.createEntries>) {
      const entries = actual.createEntries(...args);
      return {
        ...entries,
        decode(...[id, bytes]: Parameters<typeof entries.decode>) {
          const entry = entries.decode(id, bytes);
          // As a cache that counts from when it was given the entry.
          return entry !== null && planted.bug === 'trust from the fill'
            ? { ...entry, readAt: entry.readAt + 4_000 }
            : entry;
        },
      };
    },
  };
});

/** The tier of one process, with the bug that is planted. */
function tiered(options: TieredStoreOptions): Store {
  const { store } = options;
  if (planted.bug === 'any request') {
    // To the tier all requests are alike; the store is asked as they are.
    const any = { label: '', digest: '' };
    const asked = new Map<string, ClaimRequest['fingerprint']>();
    const blind: Store = {
      ...store,
      async claim(requests) {
        const real = requests.map((each) => ({ ...each, fingerprint: asked.get(each.claimId) ?? any }));
        const results = await store.claim(real);
        return results.map((result) =>
          result.kind === 'found' && result.because === 'final'
            ? { ...result, record: { ...result.record, fingerprint: any } }
            : result,
        );
      },
    };
    const tier = tieredStore({ ...options, store: blind });
    return {
      ...tier,
      claim(requests) {
        for (const { claimId, fingerprint } of requests) asked.set(claimId, fingerprint);
        return tier.claim(requests.map((request) => ({ ...request, fingerprint: any })));
      },
    };
  }
  const tier = tieredStore(options);
  if (planted.bug === 'kept before it is confirmed') return keptBeforeConfirmed(tier);
  return tier;
}

/** Answers from what an owner was about to write: it is no answer before the store has taken it. */
function keptBeforeConfirmed(tier: Store): Store {
  return {
    ...tier,
    async claim(requests) {
      const results = await tier.claim(requests);
      return results.map((result, i) => {
        const { scope, key } = requests[i] ?? { scope: '', key: '' };
        const about = unconfirmed.get(`${scope} ${key}`);
        if (about === undefined || result.kind !== 'found' || result.because !== 'in-progress') return result;
        const record = { ...result.record, ...about };
        return { ...result, because: 'final' as const, record, claimLeftMs: 0, ageMs: 0, lifeLeftMs: 60_000 };
      });
    },
    finish(requests) {
      for (const { scope, key, to, response, attempt } of requests)
        if ((to === 'completed' || to === 'failed') && response?.body)
          unconfirmed.set(`${scope} ${key}`, { state: to, response, attempt });
      return tier.finish(requests);
    },
  };
}
const unconfirmed = new Map<string, object>();

/** What one history is made of: its own cache, and whatever else follows from its seed. */
function history(
  seed: number,
  more: Partial<TieredStoreOptions> = {},
): SimulateOptions & { given(): number } {
  const random = createRandom(seed + 77);
  const cache = hostileCache(random);
  const memoryBytesMax = random.chance(0.5) ? 100_000 : 0;
  unconfirmed.clear();
  return {
    seed,
    given: () => cache.given,
    client: (store, world) =>
      tiered({ store, world, cache: cache.of(world), memoryBytesMax, replayShareMin: 0, ...more }),
  };
}

async function firstSeen(more: Partial<TieredStoreOptions> = {}): Promise<string | null> {
  for (let seed = 1; seed <= HISTORIES_MAX; seed += 1) {
    const { violations } = await simulate(history(seed, more));
    // From outside: what callers are told. Nothing that a cache does stands in a record.
    const violation = violations.find(({ seen }) => seen === 'outside');
    if (violation !== undefined) return `seed ${seed}, ${violation.what}`;
  }
  return null;
}

describe('processes with a tier each, and a cache that may do anything but forge', () => {
  // F25, F48, F62
  it(`hold what is promised: seeds from ${FIRST} on, for ${SECONDS} seconds`, async () => {
    const endsAt = performance.now() + SECONDS * 1_000;
    let seed = FIRST;
    let given = 0;
    for (; performance.now() < endsAt; seed += 1) {
      const options = history(seed);
      const { violations } = await simulate(options);
      given += options.given();
      if (violations.length > 0)
        expect.fail(describeFailure(await simulate({ ...history(seed), trace: true })));
    }
    console.log(
      `simulator with tiers: ${seed - FIRST} histories from SAMEKEY_SEED=${FIRST}, ${given} entries given`,
    );
    expect(given).toBeGreaterThan(0);
  });

  it('replay exactly from a seed', async () => {
    for (const seed of [42, 43]) {
      const [one, two] = [
        await simulate({ ...history(seed), trace: true }),
        await simulate({ ...history(seed), trace: true }),
      ];
      expect(two.trace).toEqual(one.trace);
    }
  });
});

describe('bugs planted in a tier', () => {
  const found: string[] = [];
  afterAll(() => console.log(found.join('\n')));

  for (const bug of [
    'no limit of trust',
    'trust from the fill',
    'any request',
    'kept before it is confirmed',
  ] as const) {
    it(`finds, from outside, ${bug}`, async () => {
      planted.bug = bug;
      const first = await firstSeen().finally(() => (planted.bug = null));
      found.push(`${bug}: ${first ?? 'NOT FOUND'}`);
      expect(first).not.toBeNull();
    });
  }
});
