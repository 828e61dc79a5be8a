/** A process killed at each probe point; the long run is `node tools/prove.mjs kills`, one seed again `--seed <seed> --rounds 1`. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../processes/api-cluster.ts';
import { KILL_TURN, killOptionsOf, killRound } from '../processes/api-kills.ts';
import { rollingRestart } from '../processes/api-restarts.ts';
import { seedOf } from './seed.ts';

describe('kill -9', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ size: 3, claimTtlMs: 900 });
  });
  afterAll(() => cluster.close());

  const seed = seedOf('kills');
  const first = seed - (seed % KILL_TURN);
  it.each(Array.from({ length: KILL_TURN }, (_, i) => killOptionsOf(first + i)))(
    'at $point loses nothing acknowledged, runs nothing twice and leaves no key stuck (way: $way, seed $seed)',
    async (options) => {
      const { failures } = await killRound(cluster, options);
      expect(failures).toEqual([]);
    },
  );
});

describe('a rolling restart under load', () => {
  // F65
  it('leaves no key unknown and runs none twice', async () => {
    const cluster = await startCluster({ size: 3, claimTtlMs: 1_500 });
    try {
      const { failures, keys } = await rollingRestart(cluster, { seed: seedOf('restart') });
      expect(failures).toEqual([]);
      expect(keys).toBeGreaterThan(10);
    } finally {
      await cluster.close();
    }
  });
});
