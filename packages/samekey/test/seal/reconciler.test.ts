/** A reconciler over a sealed store, while a key is missing: a deploy that went out before its key. In virtual time. */

import { describe, expect, it } from 'vitest';
import { createReconciler, type ReconcileEvent } from '../../src/reconcile/index.ts';
import { keyRing, sealed } from '../../src/seal/index.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { claimRequest, finishRequest } from '../../../testing/src/contract/context.ts';
import { FAKE_WALL_START, fakeWorld } from '../../../testing/src/index.ts';

const OLD = keyRing({ current: 'k1', keys: { k1: new Uint8Array(32).fill(1) } });
const NEW = keyRing({ current: 'k2', keys: { k2: new Uint8Array(32).fill(2) } });
const MINUTE_MS = 60_000;

function bench() {
  const world = fakeWorld({ seed: 3 });
  const clear = memoryStore({ now: () => FAKE_WALL_START + world.timeline.now });
  const events: ReconcileEvent[] = [];
  let asked = 0;
  const reconciler = (ring: typeof OLD) =>
    createReconciler({
      store: sealed(clear, ring),
      world,
      operations: {
        'POST /payments': {
          inquire: async () => {
            asked += 1;
            return { kind: 'completed', answer: { id: 'ch_1' } };
          },
        },
      },
      onEvent: (event) => events.push(event),
    });
  return { world, clear, events, reconciler, asked: () => asked };
}

async function unknown(clear: ReturnType<typeof memoryStore>): Promise<void> {
  const owner = { ...claimRequest({ input: Uint8Array.of(1) }), attempt: 1 };
  await sealed(clear, OLD).claim([owner]);
  await clear.finish([finishRequest(owner, 'unknown', { reconcileAfterMs: 0 })]);
}

describe('a reconciler over a sealed store', () => {
  it('waits longer and longer for a missing key, and asks when it is back', async () => {
    const { world, clear, events, reconciler, asked } = bench();
    await unknown(clear);
    const without = reconciler(NEW);
    // An hour, in which a lease alone would have been taken sixty times: more than questions are allowed.
    for (let minute = 0; minute < 60; minute += 1) {
      await without.run();
      await world.advance(MINUTE_MS);
    }
    expect(asked()).toBe(0);
    expect(events.map(({ type }) => type)).toContain('reconcile-scheduled');
    expect(events.map(({ type }) => type)).not.toContain('reconcile-given-up');
    await world.advance(60 * MINUTE_MS);
    expect(await reconciler(OLD).run()).toMatchObject({ taken: 1, resolved: 1 });
    expect(asked()).toBe(1);
  });

  it('gives up in the end, which an operator is told', async () => {
    const { world, clear, events, reconciler, asked } = bench();
    await unknown(clear);
    const without = reconciler(NEW);
    for (let hour = 0; hour < 72; hour += 1) {
      await without.run();
      await world.advance(60 * MINUTE_MS);
    }
    expect(asked()).toBe(0);
    expect(events.filter(({ type }) => type === 'reconcile-given-up')).toHaveLength(1);
    expect(await clear.audit({ acts: ['give-up'] })).toMatchObject([
      { reason: 'a part of the record cannot be opened' },
    ]);
  });
});
