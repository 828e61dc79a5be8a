import { describe, expect, it } from 'vitest';
import { isStoreError } from '../../src/core/errors.ts';
import type { ClaimRequest, ClaimResult } from '../../src/store/store.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { claimRequest } from '../../../testing/src/contract/context.ts';
import { type FaultKind, fakeWorld, faultyStore, type Injection } from '../../../testing/src/index.ts';

const REQUEST: ClaimRequest = claimRequest({ scope: 's', key: 'k', claimId: 'c1' });

/** A claim through a fault, and what the store holds at once and later. */
async function throughFault(
  next: FaultKind,
  injection: Injection = {},
): Promise<{ told: ClaimResult | 'no' | 'unknown' | 'nothing'; atOnce: boolean; later: boolean }> {
  const world = fakeWorld();
  const store = memoryStore({ now: () => world.wallNow() });
  const faulty = faultyStore(store, { next, verb: 'claim', timers: world, ...injection });
  let told: ClaimResult | 'no' | 'unknown' | 'nothing' = 'nothing';
  faulty.claim([REQUEST]).then(
    ([result]) => (told = result as ClaimResult),
    (error: unknown) => (told = isStoreError(error) ? error.applied : 'nothing'),
  );
  await world.advance(0);
  const atOnce = (await store.find([REQUEST]))[0] !== null;
  await world.advance(1_000);
  const later = (await store.find([REQUEST]))[0] !== null;
  return { told, atOnce, later };
}

describe('faulty store', () => {
  it('refuses without applying, and says so', async () => {
    expect(await throughFault('refuse')).toEqual({ told: 'no', atOnce: false, later: false });
  });

  it('answers that the rows are locked', async () => {
    expect(await throughFault('busy')).toEqual({ told: { kind: 'busy' }, atOnce: false, later: false });
  });

  it('loses the request, and nobody knows', async () => {
    expect(await throughFault('loseRequest')).toEqual({ told: 'unknown', atOnce: false, later: false });
  });

  it('loses the reply of a call that was applied', async () => {
    expect(await throughFault('loseReply')).toEqual({ told: 'unknown', atOnce: true, later: true });
  });

  it('says nothing at all when it is silent', async () => {
    expect(await throughFault('loseReply', { silent: true })).toEqual({
      told: 'nothing',
      atOnce: true,
      later: true,
    });
  });

  it('applies late what its caller has given up', async () => {
    expect(await throughFault('late', { byMs: 500 })).toEqual({
      told: 'unknown',
      atOnce: false,
      later: true,
    });
  });

  it('delivers twice, and answers once', async () => {
    const world = fakeWorld();
    let calls = 0;
    const store = memoryStore();
    const counted = {
      ...store,
      claim: (requests: readonly ClaimRequest[]) => {
        calls += 1;
        return store.claim(requests);
      },
    };
    const faulty = faultyStore(counted, { next: 'twice', timers: world });
    expect(await faulty.claim([REQUEST])).toMatchObject([{ kind: 'claimed', attempt: 1 }]);
    await world.advance(1_000);
    expect(calls).toBe(2);
  });

  it('hits only the verb and the number of calls it was told', async () => {
    const faulty = faultyStore(memoryStore());
    faulty.inject('refuse', { verb: 'find', times: 2 });
    expect(await faulty.claim([REQUEST])).toMatchObject([{ kind: 'claimed' }]);
    await expect(faulty.find([REQUEST])).rejects.toThrow();
    await expect(faulty.find([REQUEST])).rejects.toThrow();
    expect(await faulty.find([REQUEST])).toHaveLength(1);
  });

  // F15
  it('shows that a handler runs once although the reply to its claim was lost', async () => {
    const samekey: Samekey = createSamekey({
      store: faultyStore(memoryStore(), { next: 'loseReply', verb: 'claim' }),
      policy: 'standard',
    });
    let runs = 0;
    const outcome = await samekey.run(
      { operation: 'pay', scope: ['t'], key: 'k', fingerprint: null },
      () => (runs += 1),
    );
    expect(outcome).toMatchObject({ kind: 'executed', attempt: 1, value: 1 });
    expect(runs).toBe(1);
    await samekey.close();
  });
});
