/**
 * A process killed at each probe point, and everything else that can happen to it or its store there; the long run is
 * `node tools/prove.mjs kills`, one seed again `--seed <seed> --rounds 1`.
 */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { blowsOf } from '../processes/api-blows.ts';
import type { Cluster } from '../processes/api-cluster.ts';
import { KILL_TURN, killOptionsOf, killRound } from '../processes/api-kills.ts';
import { rollingRestart } from '../processes/api-restarts.ts';
import { onEachStore } from './each-store.ts';
import { seedOf } from './seed.ts';

onEachStore(
  'blows',
  (clusterOf, store) => {
    let cluster: Cluster;
    beforeAll(async () => {
      cluster = await clusterOf({ size: 3, claimTtlMs: 900 });
    });
    afterAll(() => cluster.close());

    const seed = seedOf('kills');
    const first = seed - (seed % KILL_TURN);
    // All points and both ways on the store that every laptop has; a part of them, by the seed, on the others.
    const killed = store === 'sqlite' ? KILL_TURN : 4;
    it.each(
      Array.from({ length: killed }, (_, i) => killOptionsOf(store === 'sqlite' ? first + i : seed + i)),
    )(
      'a kill -9 at $point loses nothing acknowledged, runs nothing twice and leaves no key stuck (way: $way, seed $seed)',
      async (options) => {
        const { failures } = await killRound(cluster, options);
        expect(failures).toEqual([]);
      },
    );

    // F4, F15, F44
    it('nor does a frozen process, nor anything that its server can suffer, and no key stays unknown', async () => {
      for (const [i, blow] of blowsOf(cluster).entries()) {
        const { failures } = await killRound(cluster, killOptionsOf(seed + i, blow));
        expect(failures).toEqual([]);
      }
    });
  },
  { faulty: true },
);

onEachStore(
  'restarts',
  (clusterOf) => {
    // F65
    it('a rolling restart under load leaves no key unknown and runs none twice', async () => {
      const cluster = await clusterOf({ size: 3, claimTtlMs: 1_500 });
      try {
        const { failures, keys } = await rollingRestart(cluster, { seed: seedOf('restart') });
        expect(failures).toEqual([]);
        expect(keys).toBeGreaterThan(10);
      } finally {
        await cluster.close();
      }
    });
  },
  { but: ['pgbouncer'] },
);
