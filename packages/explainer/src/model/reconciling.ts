/** A reconciler on a machine of its own, which asks the provider about what nobody knows. */

import { StoreError } from 'samekey/internals/core/errors';
import { createReconciler, type Reconciler } from 'samekey/reconcile';
import { connect } from './connection.ts';
import { json } from './http-lines.ts';
import type { Stage } from './stage.ts';

/** How it asks. */
interface Reconciling {
  /** When it looks for the first time, in milliseconds. */
  readonly afterMs: number;
  /** How long a call to the provider may be under way, in milliseconds; default a minute. */
  readonly callTimeMaxMs?: number;
  /** Whether the provider is told the key, and takes money once under it; default false. */
  readonly passesKey?: boolean;
  /** Whether it may go home; default when an outcome is settled. */
  readonly isOver?: (resolved: number) => boolean;
}

/** Looks until it may go home. */
export async function reconcile(stage: Stage, options: Reconciling): Promise<void> {
  const { afterMs, callTimeMaxMs = 60_000, passesKey = false } = options;
  const { isOver = (count) => count > 0 } = options;
  const { ways, random, recorder, database, provider } = stage;
  const lane = 'helper';
  const world = stage.world(lane);
  const store = connect({ lane, world, ways, random, recorder, store: database });
  const reconciler = createReconciler({
    store,
    world,
    // Shorter than usual, so that the story is.
    leaseMs: 5_000,
    inquiryTimeMaxMs: 2_000,
    backoff: { minMs: 1_000, maxMs: 2_000 },
    operations: {
      pay: {
        callTimeMaxMs,
        downstreamKey: passesKey,
        inquire: async ({ key }) => {
          const order = stage.intents[0]?.order ?? '';
          const charge = await provider.find({ lane, world }, passesKey ? { key } : { order });
          if (charge === null) return { kind: 'no-effect' };
          const { status, headers, body } = json(201, {
            order: charge.order,
            paid: charge.amountCents,
            charge: charge.id,
          });
          return { kind: 'completed', response: { status, headers, body: new TextEncoder().encode(body) } };
        },
      },
    },
  });
  await stage.pause(afterMs);
  for (;;) {
    if (isOver(await settled(reconciler))) return;
    await stage.pause(1_000);
  }
}

/** How many outcomes it has settled; without its database none, and it looks again later. */
async function settled(reconciler: Reconciler): Promise<number> {
  try {
    return (await reconciler.run()).resolved;
  } catch (error) {
    if (error instanceof StoreError) return 0;
    throw error;
  }
}
