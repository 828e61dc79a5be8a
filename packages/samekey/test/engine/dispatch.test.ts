/** A store that answers what cannot be is stopped here, before anybody acts on it. */
import { describe, expect, test } from 'vitest';
import { createDispatch, type Dispatch } from '../../src/engine/dispatch.ts';
import type { HotStore } from '../../src/store/store.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { systemWorld } from '../../src/system.ts';
import {
  claimed,
  claimRequest,
  finishRequest,
  ID,
  recordOf,
  renewRequest,
} from '../../../testing/src/contract/context.ts';

const LIMITS = { batchRowsMax: 40, batchBytesMax: 1_000_000, callTimeMaxMs: 60_000 };
const DEADLINE = Number.POSITIVE_INFINITY;

/** A dispatcher on a memory store of which some verbs answer otherwise. */
async function dispatchOn(change: (store: HotStore) => Partial<HotStore>): Promise<Dispatch> {
  const store = memoryStore();
  await claimed(store, { ...ID });
  return createDispatch({ ...store, ...change(store) }, systemWorld(), LIMITS, null);
}

describe('A store', () => {
  test('that leaves a row out is believed in none of them', async () => {
    const dispatch = await dispatchOn((store) => ({
      claim: async (requests) => (await store.claim(requests)).slice(1),
    }));
    const asked = ['a', 'b'].map((key) => dispatch.claim(claimRequest({ key }), DEADLINE));
    for (const told of await Promise.allSettled(asked)) expect(told).toMatchObject({ status: 'rejected' });
  });

  test('that answers for more rows than it was asked about is believed in none of them', async () => {
    const dispatch = await dispatchOn((store) => ({
      find: async (ids) => [null, ...(await store.find(ids))],
    }));
    await expect(dispatch.find(ID, DEADLINE)).rejects.toMatchObject({ applied: 'unknown', transient: false });
  });

  for (const [what, other] of [
    ['scope', { scope: 'tenant-2/payments' }],
    ['key', { key: 'key-2' }],
  ] as const) {
    test(`that shows the record of another ${what} shows it to nobody, by no verb`, async () => {
      const dispatch = await dispatchOn((store) => {
        const mixed = async () => ({ ...(await recordOf(store as never)), ...other });
        return {
          find: async () => [await mixed()],
          claim: async () => [
            {
              kind: 'found',
              because: 'final',
              record: await mixed(),
              claimLeftMs: 0,
              ageMs: 0,
              lifeLeftMs: 1,
            },
          ],
          renew: async () => [{ kind: 'lost', record: await mixed() }],
          finish: async () => [{ kind: 'refused', record: await mixed() }],
          checkpoint: async () => [{ kind: 'refused', record: await mixed() }],
        };
      });
      const owner = { ...ID, claimId: 'mine', attempt: 1 };
      const checkpoint = { ...renewRequest(owner), recoveryPoint: 'a', steps: '', intentOpen: false };
      for (const asked of [
        dispatch.find(ID, DEADLINE),
        dispatch.claim(claimRequest(), DEADLINE),
        dispatch.renew(renewRequest(owner), DEADLINE),
        dispatch.finish(finishRequest(owner, 'completed'), DEADLINE),
        dispatch.checkpoint(checkpoint, DEADLINE),
      ])
        await expect(asked).rejects.toThrow();
    });
  }
});

// Many duplicates of one key that wait are one statement, not one each beside the renewals.
test('those who ask in one turn who has a key are one call of the store, also about the same key', async () => {
  const calls: number[] = [];
  const store = memoryStore();
  const dispatch = createDispatch(
    {
      ...store,
      async reservations(requests) {
        calls.push(requests.length);
        return store.reservations(requests);
      },
    },
    systemWorld(),
    LIMITS,
    null,
  );
  const { fingerprint } = claimRequest();
  const asked = ['a', 'a', 'b'].map((key) => dispatch.reservation({ ...ID, key, fingerprint }, DEADLINE));
  expect(await Promise.all(asked)).toEqual(['free', 'free', 'free']);
  expect(calls).toEqual([3]);
});

test('who asks who has a key is not held beyond the deadline', async () => {
  const silent = { ...memoryStore(), reservations: () => new Promise<never>(() => undefined) };
  const dispatch = createDispatch(silent, systemWorld(), { ...LIMITS, callTimeMaxMs: 5 }, null);
  const asked = dispatch.reservation(
    { ...ID, fingerprint: claimRequest().fingerprint },
    performance.now() + 20,
  );
  await expect(asked).rejects.toMatchObject({ applied: 'unknown' });
});
