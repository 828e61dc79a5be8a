/** A process stands still in the middle of a payment, another one takes over, and the first one wakes. */

import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';

/** What the fence does. */
export const slowOwner: Scenario = {
  id: 'slow-owner',
  title: 'The slow owner',
  story:
    'The shop takes the money from a balance in its own database. API 1 stands still in the middle of the payment: its machine was paused. Its claim ends, API 2 takes over, and then API 1 wakes and goes on as if nothing had happened.',
  lanes: LANES.filter(({ id }) => id !== 'provider'),
  variants: [
    {
      id: 'no-fence',
      title: 'No fence',
      says: 'A claim ends after some time, and another process takes over. But a write is not asked from which attempt it comes.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `UPDATE keys SET state = 'completed', answer = $1
 WHERE key = $2
-- not: AND claim_id = $3 AND attempt = $4`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'Each attempt has a number. The debit and the answer are one transaction, which commits only if the row still belongs to this attempt.',
      breaks: null,
      code: `const pay = samekey.transactional({
  name: 'pay',
  run: async ({ order, amountCents }, { tx }) => {
    await tx.query('INSERT INTO debits …');
    return reply(201, { order, paid: amountCents });
  },
});`,
    },
  ],
  knobs: [
    {
      id: 'lease',
      lane: 'store',
      title: 'A claim lasts',
      unit: 'ms',
      least: 2_000,
      most: 10_000,
      by: 1_000,
      usual: 4_000,
    },
    {
      id: 'pause',
      lane: 'api-1',
      title: 'Stands still for',
      unit: 'ms',
      least: 0,
      most: 12_000,
      by: 1_000,
      usual: 9_000,
    },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “No fence” and play to the end.',
      variant: 'no-fence',
      learned: 'A process that stands still cannot know it. It wakes and finishes what is no longer its own.',
      isDone: (trace, step) => trace.variant === 'no-fence' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'refused',
      text: 'Now with Samekey: find the step in which the late write is refused.',
      variant: 'samekey',
      learned: 'The row says which attempt may write. The late one is rolled back, with its debit.',
      isDone: (trace, step) => trace.variant === 'samekey' && hasMark(trace, step, 'late-write-refused'),
    },
    {
      id: 'short',
      knobs: { pause: 2_000 },
      text: 'Let API 1 stand still for less time than a claim lasts, and play to the end: nobody takes over.',
      variant: 'samekey',
      learned:
        'A longer claim is more patient with a slow owner, and lets the app wait longer after a crash.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && !hasMark(trace, step, 'taken-over'),
    },
  ],
  run: { load: async () => (await import('../tellings/tell-slow-owner.ts')).run },
};
