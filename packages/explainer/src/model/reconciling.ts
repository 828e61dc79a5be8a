/** A reconciler on a machine of its own, which asks the provider about what nobody knows. */

import { createReconciler } from 'samekey/reconcile';
import { connect } from './connection.ts';
import { json } from './http-lines.ts';
import type { Stage } from './stage.ts';

/** How it asks. */
interface Reconciling {
  /** When it looks for the first time, in milliseconds. */
  readonly afterMs: number;
  /** How long a call to the provider may be under way, in milliseconds; default a minute. */
  readonly callTimeMaxMs?: number;
}

/** Looks until an outcome is settled. */
export async function reconcile(
  stage: Stage,
  { afterMs, callTimeMaxMs = 60_000 }: Reconciling,
): Promise<void> {
  const { timeline, random, recorder, database, provider } = stage;
  const lane = 'helper';
  const world = stage.world(lane);
  const store = connect({ lane, world, timeline, random, recorder, store: database });
  const reconciler = createReconciler({
    store,
    world,
    backoff: { minMs: 1_000, maxMs: 2_000 },
    operations: {
      pay: {
        callTimeMaxMs,
        inquire: async () => {
          const order = stage.intents[0]?.order ?? '';
          const charge = await provider.find({ lane, world }, order);
          if (charge === null) return { kind: 'no-effect' };
          const { status, headers, body } = json(201, { order, paid: charge.amountCents, charge: charge.id });
          return { kind: 'completed', response: { status, headers, body: new TextEncoder().encode(body) } };
        },
      },
    },
  });
  await stage.pause(afterMs);
  for (;;) {
    const { resolved } = await reconciler.run();
    if (resolved > 0) return;
    await stage.pause(1_000);
  }
}
