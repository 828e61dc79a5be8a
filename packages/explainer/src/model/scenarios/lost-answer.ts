/** The answer is lost on its way back, and the app sends the payment again. */

import { send } from '../app.ts';
import { chargeAndAnswer, lookThenRemember, unprotected } from '../handlers.ts';
import { protect, startInstance } from '../process.ts';
import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';
import type { Stage } from '../stage.ts';
import type { LaneId } from '../trace.ts';
import { NO_CLAIM, SAMEKEY, UNPROTECTED } from '../variants.ts';
import type { Serve } from '../http-lines.ts';

/** Why a retry needs a key at all. */
export const lostAnswer: Scenario = {
  id: 'lost-answer',
  title: 'The lost answer',
  story:
    'The customer pays €12.00. The payment is made, but the answer is lost on its way back. The app hears nothing, so it sends the payment again.',
  lanes: LANES,
  variants: [
    UNPROTECTED,
    {
      id: 'new-key',
      title: 'A new key for each try',
      says: 'The API is protected, but the app makes a new key for each try. To the API these are two payments.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `await fetch('/payments', {
  method: 'POST',
  headers: { 'Idempotency-Key': \`"\${crypto.randomUUID()}"\` },
  body,
}); // and the same line again for the retry`,
    },
    SAMEKEY,
  ],
  knobs: [
    {
      id: 'patience',
      lane: 'client',
      title: 'Waits for an answer',
      unit: 'ms',
      least: 500,
      most: 5_000,
      by: 500,
      usual: 2_000,
    },
    {
      id: 'attempts',
      lane: 'client',
      title: 'Attempts',
      unit: '',
      least: 2,
      most: 5,
      by: 1,
      usual: 2,
    },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice. Choose “No protection” and play to the end.',
      variant: 'no-protection',
      learned:
        'A lost answer looks like a lost request. An API that does not look at the key takes the money for each request that it gets.',
      isDone: (trace, step) => hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'new-key',
      text: 'Choose “A new key for each try”, and see why a key for each try does not help.',
      variant: 'new-key',
      learned: 'A key names one intention. The app must keep it and send the same one with each retry.',
      isDone: (trace, step) => trace.variant === 'new-key' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'once',
      text: 'Now with Samekey: play to the end.',
      variant: 'samekey',
      learned:
        'The same key gets the same answer. The handler runs once, and the money is taken once. It is the app that tries again: Samekey decides what it gets.',
      isDone: isSeenWhole('samekey'),
    },
  ],
  async run(stage, variant, { patience: patienceMs = 2_000, attempts = 2 }) {
    const intent = stage.intends(1_200);
    const turns = [
      { to: 'api-1', serve: serveOf(stage, variant, 'api-1') },
      { to: 'api-2', serve: serveOf(stage, variant, 'api-2') },
    ] as const;
    for (let i = 0; i < attempts; i += 1) {
      const isLast = i === attempts - 1;
      const answer = await send(stage, {
        intent,
        key: variant === 'new-key' && i > 0 ? `pay-b71${'cdef'[i - 1]}` : 'pay-8f3a',
        ...turns[i % 2 === 0 ? 0 : 1],
        caption: captionOf(variant, i),
        // Only the answer to the last attempt comes through.
        loses: isLast ? null : 'answer',
        isRetry: i > 0,
        patienceMs: isLast ? Math.max(patienceMs, 2_000) : patienceMs,
      });
      if (answer !== null) return;
      await stage.pause(stage.random.between(50, 200));
    }
  },
};

function captionOf(variant: string, retries: number): string {
  if (retries === 0)
    return 'The customer presses “Pay €12.00”. The app sends the payment with a key: a name that it has made up for this payment, and keeps.';
  return variant === 'new-key'
    ? 'The app sends the payment again, with a new key. Another process gets it.'
    : 'The app sends the same payment again, with the same key. Another process gets it.';
}

/** A process of the shop in one of the versions. */
export function serveOf(stage: Stage, variant: string, lane: LaneId, waitMaxMs: number = 0): Serve {
  const handler = chargeAndAnswer(stage, lane);
  if (variant === UNPROTECTED.id) return unprotected(handler);
  if (variant === NO_CLAIM.id) return lookThenRemember(stage, lane, handler);
  return protect(
    startInstance(stage, { lane }),
    { policy: 'payments', operation: 'pay', waitMaxMs },
    handler,
  );
}
