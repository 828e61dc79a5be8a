/** Many requests at one moment against several processes; the long run is `node tools/prove.mjs races`. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { problemCodeOf } from '../processes/api-checks.ts';
import { send } from '../processes/api-client.ts';
import type { Cluster } from '../processes/api-cluster.ts';
import { executionsOf } from '../processes/api-ledger.ts';
import { raceRound } from '../processes/api-races.ts';
import { onEachStore } from './each-store.ts';
import { seedOf } from './seed.ts';

onEachStore('races', (clusterOf) => {
  const seed = seedOf('races');
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await clusterOf({ size: 4, claimTtlMs: 5_000 });
  });
  afterAll(() => cluster.close());

  // F11, F12, F25
  it.each([false, true])(
    'of 100 equal requests against 4 processes one runs, another body is refused, another tenant is on its own (waiting: %s)',
    async (wait) => {
      for (let i = 0; i < 5; i += 1) {
        const { failures } = await raceRound(cluster, { seed: seed + i, wait });
        expect(failures).toEqual([]);
      }
    },
  );

  // F12
  it('a racer with another body is refused as such while the first is in flight, not told "in progress"', async () => {
    const [one, two] = cluster.up();
    const request = { path: '/unknown/now', key: 'another-body', amount: 1 } as const;
    const trap = await one!.arm({ point: 'handler.effect', key: request.key, action: 'wait' });
    const first = send(one!.port, request).answer;
    await trap.reached;
    for (const process of [one!, two!]) {
      const other = await send(process.port, { ...request, amount: 2 }).answer;
      expect(other).toMatchObject({ kind: 'answer', status: 422 });
      if (other.kind === 'answer') expect(problemCodeOf(other)).toBe('key-reused');
      expect(await send(process.port, request).answer).toMatchObject({ status: 409 });
    }
    await trap.go();
    expect(await first).toMatchObject({ status: 201 });
    expect(executionsOf(cluster.ledger(), request.key, 'tenant-a')).toHaveLength(1);
  });

  // F13
  it('a duplicate that looked before the first finished and claims after it gets a replay', async () => {
    const [one, two] = cluster.up();
    const request = { path: '/unknown/now', key: 'late-claim' } as const;
    const trap = await two!.arm({ point: 'claim.before', key: request.key, action: 'wait' });
    const duplicate = send(two!.port, request).answer;
    await trap.reached;
    const first = await send(one!.port, request).answer;
    expect(first).toMatchObject({ status: 201 });
    await trap.go();
    const replay = await duplicate;
    expect(replay).toMatchObject({ status: 201, body: first.kind === 'answer' ? first.body : '' });
    expect(executionsOf(cluster.ledger(), request.key, 'tenant-a')).toHaveLength(1);
  });
});
