/** The phone comes back when the key is forgotten. */

import { send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import type { Serve } from '../http-lines.ts';
import { protect, startInstance } from '../process.ts';
import type { Stage } from '../stage.ts';
import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';
import type { LaneId } from '../trace.ts';

const HOUR_MS = 3_600_000;

/** How long a key must be remembered. */
export const expiry: Scenario = {
  id: 'expiry',
  title: 'The long tunnel',
  story:
    'The answer is lost because the phone has no network any more. Hours later it is back, and the app sends the payment again. Does the API still know the key?',
  lanes: LANES,
  variants: [
    {
      id: 'short-memory',
      title: 'Forgets after an hour',
      says: 'Keys are kept in a cache for an hour. For a server that is long, for a phone it is not.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `idempotent(samekey, {
  policy: 'payments', scope,
  retentionMs: 60 * 60 * 1000, // an hour
}, handler);`,
    },
    {
      id: 'samekey',
      title: 'Remembers for three days',
      says: 'Keys are kept for as long as the app may try again, and a day more.',
      breaks: null,
      code: `idempotent(samekey, {
  policy: 'payments', scope,
  retentionMs: 72 * 60 * 60 * 1000,
  retryWindowMs: 48 * 60 * 60 * 1000, // of the app
}, handler);`,
    },
  ],
  knobs: [
    {
      id: 'hours',
      lane: 'client',
      title: 'Is away for',
      unit: 'h',
      least: 2,
      most: 48,
      by: 1,
      usual: 3,
    },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “Forgets after an hour” and play to the end.',
      variant: 'short-memory',
      learned: 'A key that is forgotten is a new key. The memory must be longer than the app’s patience.',
      isDone: (trace, step) => trace.variant === 'short-memory' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'once',
      text: 'Choose “Remembers for three days” and play to the end.',
      variant: 'samekey',
      learned:
        'The same key gets the same answer, days later. Put a limit on the app’s retries, and remember for longer.',
      isDone: isSeenWhole('samekey'),
    },
  ],
  async run(stage, variant, { hours = 3 }) {
    const intent = stage.intends(1_200);
    const key = 'pay-8f3a';
    await send(stage, {
      intent,
      key,
      to: 'api-1',
      serve: serveOf(stage, variant, 'api-1'),
      caption: 'The customer presses “Pay €12.00” as the train enters the tunnel.',
      loses: 'answer',
    });
    await stage.pause(hours * HOUR_MS);
    await send(stage, {
      intent,
      key,
      to: 'api-2',
      serve: serveOf(stage, variant, 'api-2'),
      caption: `${hours} hours later the phone has network again. The app sends the same payment, with the same key.`,
      isRetry: true,
    });
  },
};

function serveOf(stage: Stage, variant: string, lane: LaneId): Serve {
  const retentionMs = variant === 'short-memory' ? HOUR_MS : 72 * HOUR_MS;
  return protect(
    startInstance(stage, { lane }),
    { policy: 'payments', operation: 'pay', retentionMs, retryWindowMs: Math.min(retentionMs, 48 * HOUR_MS) },
    chargeAndAnswer(stage, lane),
  );
}
