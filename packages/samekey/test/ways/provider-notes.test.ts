/** What a provider calls a call that is under way stands in the record before the call has ended. */

import { describe, expect, it } from 'vitest';
import { readSteps } from '../../src/ways/steps.ts';
import { createSamekey, type EffectCall, reply, StoreError } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';

const SETTINGS = { policy: 'payments', claimTtlMs: 30_000 } as const;

function setUp(call: (effect: EffectCall) => Promise<unknown>, fails: () => boolean = () => false) {
  const inner = memoryStore();
  const checkpoint: typeof inner.checkpoint = async (requests) => {
    const results = await inner.checkpoint(requests);
    if (fails()) throw new StoreError('The reply was lost.', { applied: 'unknown', transient: false });
    return results;
  };
  const store = { ...inner, checkpoint };
  const samekey = createSamekey({ store, ...SETTINGS });
  const pay = samekey.phased<null, unknown>({
    name: 'pay',
    run: async (_input, attempt) =>
      reply(201, await attempt.effect('charge', call, { rule: 'reconcile', callTimeMaxMs: 5_000 })),
  });
  const steps = async () => readSteps((await store.list({}))[0]?.steps ?? null);
  return { samekey, steps, run: () => pay.run({ scope: ['t'], key: 'k', input: null }) };
}

describe('an intent', () => {
  it('says which attempt may make the call, by which rule, and for how long', async () => {
    let during: unknown;
    const { run, steps } = setUp(async () => {
      during = await steps();
      return 'ch_1';
    });
    await run();
    expect(during).toEqual([
      expect.objectContaining({ done: null, call: { attempt: 1, rule: 'reconcile', timeMaxMs: 5_000 } }),
    ]);
    expect(await steps()).toEqual([expect.not.objectContaining({ call: expect.anything() as unknown })]);
  });

  // F20: the provider accepted, the process died before it could save.
  it('keeps what the provider calls it, though the call has not ended and never will', async () => {
    const { run, steps } = setUp(async ({ noteProviderId }) => {
      await noteProviderId('ch_0');
      await noteProviderId('ch_1');
      throw new Error('the connection broke');
    });
    await run();
    expect(await steps()).toMatchObject([{ done: null, call: { attempt: 1, providerId: 'ch_1' } }]);
  });

  it('is not written over by a note that nobody awaited', async () => {
    const { run, steps } = setUp(async ({ noteProviderId }) => {
      void noteProviderId('ch_1');
      return 'ch_1';
    });
    expect(await run()).toMatchObject({ kind: 'executed', value: 'ch_1' });
    expect(await steps()).toMatchObject([{ done: { result: 'ch_1' } }]);
  });

  it('refuses notes after the call, and what is no id', async () => {
    let late: EffectCall | undefined;
    const refused: unknown[] = [];
    const { run } = setUp(async (effect) => {
      late = effect;
      for (const wrong of ['', 'x'.repeat(256), 7 as never]) {
        refused.push(await effect.noteProviderId(wrong).catch((error: unknown) => error));
      }
      return 'ch_1';
    });
    await run();
    refused.push(await late?.noteProviderId('ch_2').catch((error: unknown) => error));
    expect(refused).toEqual(
      Array.from({ length: 4 }, () => expect.objectContaining({ code: 'ERR_SAMEKEY_STEP' }) as unknown),
    );
  });

  it('fails nothing when the store cannot say whether a note was stored', async () => {
    let lost = false;
    const { run, steps } = setUp(
      async ({ noteProviderId }) => {
        lost = true;
        await noteProviderId('ch_1');
        lost = false;
        return 'ch_1';
      },
      () => lost,
    );
    expect(await run()).toMatchObject({ kind: 'executed', value: 'ch_1' });
    expect(await steps()).toMatchObject([{ done: { result: 'ch_1' } }]);
  });
});
