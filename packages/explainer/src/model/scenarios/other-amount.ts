/** One key, two different requests. */

import { send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import { protect, startInstance } from '../process.ts';
import { hasMark, isSeenWhole, LANES, type Scenario, type Variant } from '../story.ts';
import type { Stage } from '../stage.ts';
import type { LaneId } from '../trace.ts';
import { SAMEKEY } from '../variants.ts';
import type { Serve } from '../http-lines.ts';
import { withoutFingerprint } from '../without.ts';

const NO_FINGERPRINT: Variant = {
  id: 'no-fingerprint',
  title: 'No fingerprint',
  says: 'The API remembers the answer by the key alone. It does not compare what was asked.',
  breaks: { harm: 'told-paid-and-not-charged', share: 1 },
  code: `const row = await db.claim(key); // not: key and fingerprint of the request
if (row.answer) return res.json(row.answer);`,
};

/** What the fingerprint does. */
export const otherAmount: Scenario = {
  id: 'other-amount',
  title: 'The other amount',
  story:
    'The app has a fault: it makes one key per customer, not one per payment. The customer pays €12.00, and later €50.00 for another order, under the same key.',
  lanes: LANES,
  variants: [NO_FINGERPRINT, SAMEKEY],
  knobs: [],
  tasks: [
    {
      id: 'lie',
      text: 'Make the app say that order A2 is paid although nobody has paid for it. Choose “No fingerprint” and play to the end.',
      variant: 'no-fingerprint',
      learned:
        'The API gave the answer of another payment. The shop delivers goods for €50.00 and has €12.00.',
      isDone: (trace, step) =>
        trace.variant === 'no-fingerprint' &&
        step === trace.steps.length - 1 &&
        trace.harms.includes('told-paid-and-not-charged'),
    },
    {
      id: 'refused',
      text: 'Now with Samekey: find the step at which the second request is refused.',
      variant: 'samekey',
      learned:
        'The fingerprint is a digest of the request. The same key with another request is refused with 422, and nothing runs.',
      isDone: (trace, step) => trace.variant === 'samekey' && hasMark(trace, step, 'mismatch'),
    },
    {
      id: 'once',
      text: 'Play to the end: the app makes a new key for the new payment.',
      variant: 'samekey',
      learned: 'A new intention gets a new key, and each order is paid once.',
      isDone: isSeenWhole('samekey'),
    },
  ],
  async run(stage, variant) {
    const first = stage.intends(1_200);
    const serve = serveOf(stage, variant, 'api-1');
    await send(stage, {
      intent: first,
      key: 'customer-1',
      to: 'api-1',
      serve,
      caption: 'The customer presses “Pay €12.00” for order A1. The app sends it with the key customer-1.',
    });
    await stage.pause(stage.random.between(500, 900));
    const second = stage.intends(5_000);
    const answer = await send(stage, {
      intent: second,
      key: 'customer-1',
      to: 'api-2',
      serve: serveOf(stage, variant, 'api-2'),
      caption: 'The customer presses “Pay €50.00” for order A2. The app sends it with the same key.',
    });
    if (answer?.status !== 422) return;
    await stage.pause(stage.random.between(200, 400));
    await send(stage, {
      intent: second,
      key: 'customer-1-order-A2',
      to: 'api-1',
      serve,
      caption: 'The app makes a new key for the new order, and sends the payment with it.',
    });
  },
};

function serveOf(stage: Stage, variant: string, lane: LaneId): Serve {
  const samekey = startInstance(
    stage,
    variant === NO_FINGERPRINT.id ? { lane, behind: withoutFingerprint } : { lane },
  );
  return protect(samekey, { policy: 'payments', operation: 'pay' }, chargeAndAnswer(stage, lane));
}
