/** The process dies between the charge and the record of it. */

import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';

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
    {
      id: 'lease',
      lane: 'store',
      title: 'A claim lasts',
      unit: 'ms',
      least: 3_000,
      most: 10_000,
      by: 1_000,
      usual: 4_000,
    },
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
  run: { load: async () => (await import('../tellings/tell-crash.ts')).run },
};
