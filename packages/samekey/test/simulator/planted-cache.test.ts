/** Bugs planted in the replay cache and in what stores do for it: would the simulator find them? (F62) */

import { afterAll, describe, expect, it, vi } from 'vitest';
import { decideForget, decideReopen } from '../../src/store/machine/index.ts';
import type { ReplayCacheOptions } from '../../src/engine/replay-cache.ts';
import { simulate, type SimulateOptions } from '../../../testing/src/index.ts';
import { type Bug, plantedStore } from './planted-store.ts';

const HISTORIES_MAX = 3_000;

/** How the cache of every process is made wrong; null: not at all. */
const planted = vi.hoisted(() => ({
  bug: null as null | 'no limit of trust' | 'any request',
}));

vi.mock('../../src/engine/replay-cache.ts', async (original) => {
  const actual = await original<typeof import('../../src/engine/replay-cache.ts')>();
  return {
    ...actual,
    createReplayCache(options: ReplayCacheOptions) {
      const timeMaxMs = planted.bug === 'no limit of trust' ? 60_000 : options.timeMaxMs;
      const cache = actual.createReplayCache({ ...options, timeMaxMs });
      if (planted.bug === 'any request') {
        const any = { label: '', digest: '' };
        return {
          ...cache,
          get: (...[id]: Parameters<typeof cache.get>) => cache.get(id, any),
          put: (...[id, , ...rest]: Parameters<typeof cache.put>) => cache.put(id, any, ...rest),
        };
      }
      return cache;
    },
  };
});

/** The same decision as if no answer could be replayed. */
const WITHOUT_DELAY: Bug = {
  reopen: (record, request, view) =>
    decideReopen(record === null ? null : { ...record, response: null }, request, view),
  forget: (record, request, view) =>
    decideForget(record === null ? null : { ...record, response: null }, request, view),
};

async function firstSeen(options: Omit<SimulateOptions, 'seed'>): Promise<string | null> {
  for (let seed = 1; seed <= HISTORIES_MAX; seed += 1) {
    const { violations } = await simulate({ ...options, seed });
    // From outside: what callers are told, and not what stands in the records.
    const violation = violations.find(({ seen }) => seen === 'outside');
    if (violation !== undefined) return `seed ${seed}, ${violation.what}`;
  }
  return null;
}

describe('bugs planted in the replay cache', () => {
  const found: string[] = [];
  afterAll(() => console.log(found.join('\n')));

  for (const bug of ['no limit of trust', 'any request'] as const) {
    it(`finds, from outside, a cache that is trusted wrongly: ${bug}`, async () => {
      planted.bug = bug;
      const first = await firstSeen({});
      planted.bug = null;
      found.push(`${bug}: ${first ?? 'NOT FOUND'}`);
      expect(first).not.toBeNull();
    });
  }

  it('finds, from outside, a store that lets reopened and forgotten keys run at once', async () => {
    const first = await firstSeen({ store: plantedStore(WITHOUT_DELAY) });
    found.push(`no delay: ${first ?? 'NOT FOUND'}`);
    expect(first).not.toBeNull();
  });
});
