/** A process dies in the third part of an order, and another one goes on there. */

import { hasMark, isSeenWhole, LANES, type Scenario } from '../story.ts';

/** What it means to go on. */
export const threeParts: Scenario = {
  id: 'phases',
  title: 'The order in three parts',
  story:
    'An order has three parts: put the goods aside, take €12.00, book the parcel. API 1 dies in the last one. Whoever takes over should do what is left, and nothing twice.',
  lanes: LANES,
  variants: [
    {
      id: 'one-piece',
      title: 'In one piece',
      says: 'The handler does one part after the other, and the row says only that somebody is at work. Whoever takes over begins at the beginning.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `await db.putAside(order);
const charge = await provider.charge(order);
await db.bookParcel(order); // API 1 dies here
res.status(201).json(charge);`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'The row notes each part together with what it wrote. Whoever takes over is handed what is noted, and does the rest.',
      breaks: null,
      code: `run: async (order, attempt) => {
  await attempt.phase('put aside', (tx) => …);
  const charge = await attempt.effect('charge',
    ({ downstreamKey }) => provider.charge(order, downstreamKey),
    { rule: 'downstreamKey', retentionMs: 24 * HOUR });
  await attempt.phase('book parcel', (tx) => …);
  return reply(201, charge);
}`,
    },
  ],
  knobs: [
    {
      id: 'part',
      lane: 'api-1',
      title: 'Dies in part',
      unit: 'of 3',
      least: 2,
      most: 3,
      by: 1,
      usual: 3,
    },
  ],
  tasks: [
    {
      id: 'twice',
      text: 'Make the customer pay twice: choose “In one piece” and play to the end.',
      variant: 'one-piece',
      learned: 'To begin again is to do again what was done. Nobody had noted how far API 1 was.',
      isDone: (trace, step) => trace.variant === 'one-piece' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'goes-on',
      text: 'Now with Samekey: play to the end, and see which parts API 2 does.',
      variant: 'samekey',
      learned: 'What is noted in the row is not done again: API 2 goes on at the recovery point.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'taken-over'),
    },
    {
      id: 'in-the-call',
      knobs: { part: 2 },
      text: 'Let API 1 die in the second part, while the provider takes the money, and play to the end.',
      variant: 'samekey',
      learned:
        'The row says that a call was begun, and not how it ended. It is repeated with the same key, so the provider takes nothing more.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'already-charged'),
    },
  ],
  run: { load: async () => (await import('../tellings/tell-three-parts.ts')).run },
};
