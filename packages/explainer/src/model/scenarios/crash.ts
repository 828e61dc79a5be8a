/** The process dies between the charge and the record of it. */

import { reply } from 'samekey';
import { codeOf, send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import type { Serve } from '../http-lines.ts';
import { protect, serveOperation, startInstance } from '../process.ts';
import type { Stage } from '../stage.ts';
import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';
import type { LaneId } from '../trace.ts';
import { withoutRecoveryPoint } from '../without.ts';

/** What a recovery point does. */
export const crash: Scenario = {
  id: 'crash',
  title: 'The crash after the charge',
  story:
    'The provider takes €12.00, and at that moment the process that asked for it dies. The row says only that somebody was at work. Another process takes over: does it pay again?',
  lanes: LANES,
  variants: [
    {
      id: 'again',
      title: 'Run it again',
      says: 'When the claim of the dead process ends, the handler simply runs from its beginning.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `idempotent(samekey, {
  policy: 'payments', scope,
  whenClaimEnds: 'resume', // "it will be all right"
}, handler);`,
    },
    {
      id: 'no-recovery-point',
      title: 'No recovery point',
      says: 'The handler would ask the provider before it pays again. But nothing was noted before the call, so nobody knows that there was one.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `const charge = await provider.charge(order);
await db.note(key, charge); // only after the call`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'The row notes that a call is about to be made, before it is made. Whoever takes over asks the provider what became of it.',
      breaks: null,
      code: `run: async (order, attempt) => {
  const charge = await attempt.effect('charge',
    () => provider.charge(order),
    { rule: 'inquire', inquire: () => provider.find(order) });
  return reply(201, charge);
}`,
    },
  ],
  knobs: [
    { id: 'lease', title: 'A claim lasts', unit: 'ms', least: 3_000, most: 10_000, by: 1_000, usual: 4_000 },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “Run it again” and play to the end.',
      variant: 'again',
      learned: 'A dead process tells nothing. Running again is right only if nothing has happened.',
      isDone: (trace, step) => trace.variant === 'again' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'note',
      text: 'Choose “No recovery point”, and look at the row when API 2 takes over.',
      variant: 'no-recovery-point',
      learned:
        'API 2 cannot ask about a call that it does not know of. The note must be there before the call.',
      isDone: (trace, step) => trace.variant === 'no-recovery-point' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'once',
      text: 'Now with Samekey: play to the end, and watch what API 2 asks first.',
      variant: 'samekey',
      learned: 'The note comes before the call, and the question before the repeat.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'taken-over'),
    },
  ],
  async run(stage, variant, { lease = 4_000 }) {
    const intent = stage.intends(1_200);
    const key = 'pay-8f3a';
    void stage.atWork('provider').then(() => {
      stage.kill('api-1', 'API 1 dies at this moment. It will never hear that the money was taken.');
    });
    await send(stage, {
      intent,
      key,
      to: 'api-1',
      serve: serveOf(stage, variant, 'api-1', lease),
      caption: 'The customer presses “Pay €12.00”. The app sends the payment with a key.',
    });
    const second = serveOf(stage, variant, 'api-2', lease);
    for (;;) {
      const answer = await send(stage, {
        intent,
        key,
        to: 'api-2',
        serve: second,
        caption: 'The app sends the same payment again, with the same key.',
        isRetry: true,
        patienceMs: 3_000,
      });
      if (answer !== null && codeOf(answer) !== 'in-progress' && answer.status < 500) return;
      await stage.pause(1_500);
    }
  },
};

function serveOf(stage: Stage, variant: string, lane: LaneId, claimTtlMs: number): Serve {
  const samekey = startInstance(
    stage,
    variant === 'no-recovery-point' ? { lane, behind: withoutRecoveryPoint } : { lane },
  );
  if (variant === 'again') {
    const options = { policy: 'payments', operation: 'pay', claimTtlMs, whenClaimEnds: 'resume' } as const;
    return protect(samekey, options, chargeAndAnswer(stage, lane));
  }
  const caller = { lane, world: stage.world(lane) };
  const pay = samekey.phased({
    name: 'pay',
    claimTtlMs,
    run: async (
      { order, amountCents }: { readonly order: string; readonly amountCents: number },
      attempt,
    ) => {
      const charge = await attempt.effect(
        'charge',
        () => stage.provider.charge(caller, { order, amountCents, key: null }),
        {
          rule: 'inquire',
          inquire: async () => {
            const found = await stage.provider.find(caller, { order });
            return found === null ? null : { result: found };
          },
          callTimeMaxMs: 1_000,
        },
      );
      return reply(201, { order, paid: amountCents, charge: charge.id });
    },
  });
  return serveOperation(pay);
}
