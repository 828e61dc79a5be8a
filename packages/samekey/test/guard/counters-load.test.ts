/**
 * Counts under load: four instances, each with a store of its own on one database, begin keys while another one reaps what has
 * expired. Between waves, when everybody has written down what it added, each count is within 5 % of the truth.
 */

import { createSamekey, type Store } from 'samekey';
import { type Counters, createLimits } from 'samekey/guard';
import { afterAll, describe, expect, it } from 'vitest';
import { COUNTED } from './counting.ts';

const INSTANCES = 4;
const WAVES = 6;
/** Keys of each instance in a wave, by caller: a busy one, and one that comes now and then. */
const KEYS = { acme: 60, umbrella: 15 } as const;
type Caller = keyof typeof KEYS;
const CALLERS = Object.keys(KEYS) as Caller[];
/** Half of the keys are gone a moment later. */
const SHORT_MS = 50;
const LONG_MS = 3_600_000;

interface Instance {
  readonly store: Store;
  begin(caller: Caller, key: string, retentionMs: number): Promise<string>;
  flush(): Promise<void>;
}

function instanceOn(store: Store): Instance {
  const limits = createLimits({
    activeKeys: { store, max: 1_000_000, flushMs: 20 },
    decisionTimeMaxMs: 20_000,
  });
  const samekey = createSamekey({
    store,
    policy: 'standard',
    limits,
    retryWindowMs: 0,
    storeTimeMaxMs: 20_000,
  });
  return {
    store,
    begin: async (caller, key, retentionMs) =>
      (
        await samekey.run(
          { operation: 'order', scope: [caller], key, fingerprint: null, retentionMs },
          () => key,
        )
      ).kind,
    flush: () => limits.flush(),
  };
}

async function stored(store: Store, caller: Caller): Promise<number> {
  return (await store.list({ caller, limit: 1_000 })).length;
}

describe.each(COUNTED.filter(({ name }) => name !== 'memory'))('counts under load in $name', (kind) => {
  afterAll(() => kind.stop());

  it('stay within 5 % of what is stored, while keys are begun and reaped', async () => {
    const database = await kind.open();
    try {
      const instances: Instance[] = [];
      for (let i = 0; i < INSTANCES; i += 1) instances.push(instanceOn(await database.store()));
      const reaper = await database.store();
      // Whoever counts a caller for the first time also finds what others are about to add: too much, until it is counted again.
      for (const caller of CALLERS) await (reaper.counters as Counters).recount(caller);
      let reaped = 0;
      for (let wave = 0; wave < WAVES; wave += 1) {
        const begun = instances.flatMap((instance, i) =>
          CALLERS.flatMap((caller) =>
            Array.from({ length: KEYS[caller] }, (_, n) =>
              instance.begin(caller, `${wave}-${i}-${n}`, n % 2 === 0 ? SHORT_MS : LONG_MS),
            ),
          ),
        );
        const reaping = reaper.reap(1_000);
        expect(new Set(await Promise.all(begun))).toEqual(new Set(['executed']));
        reaped += (await reaping).count;
        await Promise.all(instances.map((instance) => instance.flush()));
        const counts = await (reaper.counters as Counters).read(CALLERS);
        for (const caller of CALLERS) {
          const truth = await stored(reaper, caller);
          expect(Math.abs((counts.get(caller) ?? 0) - truth)).toBeLessThanOrEqual(Math.ceil(truth * 0.05));
        }
      }
      expect(reaped).toBeGreaterThan(0);
      for (const caller of CALLERS) {
        const truth = await stored(reaper, caller);
        expect(await (reaper.counters as Counters).recount(caller)).toBe(truth);
      }
    } finally {
      await database.end();
    }
  });
});
