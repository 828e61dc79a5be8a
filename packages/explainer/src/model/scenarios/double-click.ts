/** Two clicks, two requests, two processes, at nearly the same time. */

import { codeOf, send } from '../app.ts';
import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';
import { NO_CLAIM, SAMEKEY, UNPROTECTED } from '../variants.ts';
import { serveOf } from './lost-answer.ts';

/** Why a key is not enough: somebody must claim it first. */
export const doubleClick: Scenario = {
  id: 'double-click',
  title: 'The double click',
  story:
    'The customer presses “Pay” twice. Both requests carry the same key, and each reaches another process before the other one is done.',
  lanes: LANES,
  variants: [NO_CLAIM, UNPROTECTED, SAMEKEY],
  knobs: [
    {
      id: 'gap',
      lane: 'client',
      title: 'Second click after',
      unit: 'ms',
      least: 0,
      most: 600,
      by: 20,
      usual: 40,
    },
    {
      id: 'wait',
      lane: 'api-2',
      title: 'Lets a duplicate wait',
      unit: 'ms',
      least: 0,
      most: 1_500,
      by: 100,
      usual: 0,
    },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice, although both requests carry the same key. Choose “No claim” and play to the end.',
      variant: 'no-claim',
      learned: 'A key is not enough. Both processes looked, both found nothing, and both did the work.',
      isDone: (trace, step) => trace.variant === 'no-claim' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'late',
      knobs: { gap: 600 },
      text: 'Stay with “No claim”, and move the second click so late that the customer pays once.',
      variant: 'no-claim',
      learned: 'Without a claim it is luck. In tests the second click comes late; in production it does not.',
      isDone: (trace, step) =>
        trace.variant === 'no-claim' && step === trace.steps.length - 1 && trace.harms.length === 0,
    },
    {
      id: 'once',
      text: 'Now with Samekey: play to the end, with any distance between the clicks.',
      variant: 'samekey',
      learned:
        'One conditional write decides who runs. A 409 “in progress” means: your payment is being made, ask again with the same key.',
      isDone: isSeenWhole('samekey'),
    },
  ],
  async run(stage, variant, { gap = 40, wait = 0 }) {
    const intent = stage.intends(1_200);
    const one = { intent, key: 'pay-8f3a' };
    const first = send(stage, {
      ...one,
      to: 'api-1',
      serve: serveOf(stage, variant, 'api-1', wait),
      caption: 'The customer presses “Pay €12.00”. The app sends the payment with a key.',
    });
    const serveSecond = serveOf(stage, variant, 'api-2', wait);
    const second = async (): Promise<void> => {
      await stage.pause(gap);
      for (;;) {
        const isAgain = stage.timeline.now > gap;
        const answer = await send(stage, {
          ...one,
          to: 'api-2',
          serve: serveSecond,
          isRetry: true,
          caption: isAgain
            ? 'The app asks again, with the same key.'
            : 'The customer presses again. The app sends the same payment with the same key.',
        });
        if (answer === null || codeOf(answer) !== 'in-progress') return;
        await stage.pause(1_000);
      }
    };
    await Promise.all([first, second()]);
  },
};
