/** A payment to which happens what the reader has placed. */

import { codeOf, send } from '../app.ts';
import { chargeAndAnswer, lookThenRemember, unprotected } from '../handlers.ts';
import type { Serve } from '../http-lines.ts';
import type { Intent } from '../judge.ts';
import { protect, startInstance } from '../process.ts';
import { reconcile } from '../reconciling.ts';
import type { Stage } from '../stage.ts';
import type { Run } from '../story.ts';
import type { LaneId } from '../trace.ts';
import { withoutFingerprint } from '../without.ts';

const KEY = 'pay-8f3a';
const TRIES_MAX = 14;
/** Where nobody finds out, nobody needs to ask for long. */
const TRIES_OF_NOBODY = 4;

/** Tells it. */
export const run: Run = async (stage, variant, { lease = 4_000, hold = 9_000, sleep = 6_000 }) => {
  const order = stage.intends(1_200);
  const serves = {
    'api-1': serveOf(stage, variant, 'api-1', lease),
    'api-2': serveOf(stage, variant, 'api-2', lease),
  };
  let shopping = 0;
  const app = (intent: Intent, key: string, caption: string, isRetry: boolean): void => {
    shopping += 1;
    const isWithout = variant === 'no-reconciler';
    void pays(stage, { intent, key, caption, isRetry, serves, isWithout }).then(() => {
      shopping -= 1;
    });
  };
  stage.ways.place({
    holdMs: hold,
    sleepMs: sleep,
    again: () =>
      app(order, KEY, 'The customer presses again. The app sends the same payment with the same key.', true),
    other: () => {
      const other = stage.intends(5_000);
      app(other, KEY, 'The app has a fault: it pays €50.00 for another order with the same key.', false);
    },
  });
  app(order, KEY, 'The customer presses “Pay €12.00”. The app sends the payment with a key.', false);
  const isProtected = !['no-protection', 'no-claim', 'no-reconciler'].includes(variant);
  const asking = isProtected
    ? reconcile(stage, {
        afterMs: 2_500,
        callTimeMaxMs: 4_000,
        passesKey: variant !== 'no-provider-key',
        isOver: () => false,
      })
    : new Promise<void>(() => undefined);
  // It goes on asking for as long as anybody shops.
  await Promise.race([asking, quiet(stage, () => shopping > 0)]);
};

/** A machine that has woken still does something, and so does what was held up. */
async function quiet(stage: Stage, isShopping: () => boolean): Promise<void> {
  const isBusy = (): boolean => isShopping() || stage.ways.isBusy;
  do {
    while (isBusy()) await stage.pause(250);
    await stage.pause(2_500);
  } while (isBusy());
}

interface Paying {
  readonly intent: Intent;
  readonly key: string;
  readonly caption: string;
  readonly isRetry: boolean;
  readonly serves: Readonly<Record<'api-1' | 'api-2', Serve>>;
  /** Nobody finds out what became of it. */
  readonly isWithout: boolean;
}

/** Asks until it is told how it ended; the load balancer sends nobody to a process that is dead. */
async function pays(
  stage: Stage,
  { intent, key, caption, isRetry, serves, isWithout }: Paying,
): Promise<void> {
  const turns: readonly ('api-1' | 'api-2')[] = isRetry ? ['api-2', 'api-1'] : ['api-1', 'api-2'];
  let used = key;
  for (let i = 0; i < (isWithout ? TRIES_OF_NOBODY : TRIES_MAX); i += 1) {
    const living = turns.filter((lane) => stage.world(lane).state !== 'dead');
    const to = living[i % living.length] ?? 'api-1';
    const answer = await send(stage, {
      intent,
      key: used,
      to,
      serve: serves[to],
      isRetry: isRetry || i > 0,
      caption: i === 0 ? caption : 'The app sends the same payment again, with the same key.',
    });
    if (answer !== null && answer.status < 400) return;
    if (answer !== null && codeOf(answer) === 'key-reused') used = `pay-${intent.order}`;
    else await stage.pause(Math.min(6_000, 1_500 * 2 ** i));
  }
}

function serveOf(stage: Stage, variant: string, lane: LaneId, claimTtlMs: number): Serve {
  const passesKey = variant !== 'no-provider-key';
  if (variant === 'no-protection') return unprotected(chargeAndAnswer(stage, lane));
  if (variant === 'no-claim') return lookThenRemember(stage, lane, chargeAndAnswer(stage, lane));
  const behind = variant === 'no-fingerprint' ? { behind: withoutFingerprint } : {};
  return protect(
    startInstance(stage, { lane, ...behind }),
    { policy: 'payments', operation: 'pay', claimTtlMs, reconcileAfterMs: 200 },
    chargeAndAnswer(stage, lane, { passesKey }),
  );
}
