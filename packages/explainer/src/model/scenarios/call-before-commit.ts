/** The provider is called in the middle of a transaction, or by a worker after it. */

import { hasMark, isSeenWhole, type Scenario } from '../story.ts';

/** What the outbox does. */
export const outbox: Scenario = {
  id: 'outbox',
  title: 'The call before the commit',
  story:
    'The shop writes an order and has the provider take €12.00. The provider’s reply is lost. The database can take the order back; the provider does not take the money back.',
  lanes: [
    { id: 'client', title: 'App' },
    { id: 'network', title: 'Network' },
    { id: 'api-1', title: 'API 1' },
    { id: 'helper', title: 'Worker', name: 'The worker' },
    { id: 'store', title: 'Database' },
    { id: 'provider', title: 'Provider' },
  ],
  variants: [
    {
      id: 'no-outbox',
      title: 'No outbox',
      says: 'The handler calls the provider inside its transaction. When the call fails, the transaction is rolled back and the request may run again.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `await db.transaction(async (tx) => {
  await tx.insert('orders', order);
  await provider.charge(order); // before the commit
});`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'The order and a message are one commit. A worker has the provider charge, as often as it takes, under one key.',
      breaks: null,
      code: `run: async (order, attempt) => {
  await attempt.tx.insert('orders', order);
  await attempt.handOver({ topic: 'charge', payload: order });
  return reply(202, order);
}
// the worker
charge: ({ payload }, { downstreamKey }) =>
  provider.charge(payload, downstreamKey),`,
    },
  ],
  knobs: [],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “No outbox” and play to the end.',
      variant: 'no-outbox',
      learned:
        'A rollback undoes what is in the database, and nothing else. A call belongs behind the commit.',
      isDone: (trace, step) => trace.variant === 'no-outbox' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'once',
      text: 'Now with Samekey: play to the end. The reply is lost here too.',
      variant: 'samekey',
      learned:
        'The message is there if and only if the order is. The worker repeats the call with the same key.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'already-charged'),
    },
  ],
  run: { load: async () => (await import('../tellings/tell-call-before-commit.ts')).run },
};
