/** The call is repeated under its key, and the provider has forgotten the key. */

import { hasMark, isSeenWhole, type Scenario } from '../story.ts';

/** How long a key at the provider protects. */
export const forgetful: Scenario = {
  id: 'forgetful',
  title: 'The forgetful provider',
  story:
    'API 1 dies while the provider takes €12.00. API 2 takes over and repeats the call with the same key: a provider that knows the key takes nothing more. But no provider remembers a key for ever.',
  lanes: [
    { id: 'client', title: 'App' },
    { id: 'api-1', title: 'API 1' },
    { id: 'api-2', title: 'API 2' },
    { id: 'helper', title: 'Reconciler', name: 'The reconciler' },
    { id: 'store', title: 'Database' },
    { id: 'provider', title: 'Provider' },
  ],
  variants: [
    {
      id: 'trusts',
      title: 'Repeats at any time',
      says: 'The call is repeated with the same key, however late that is. Here it is later than the provider remembers.',
      breaks: { harm: 'paid-twice', share: 1 },
      code: `await attempt.effect('charge',
  ({ downstreamKey }) => provider.charge(order, downstreamKey),
  // "They will remember it."
  { rule: 'downstreamKey', retentionMs: 24 * HOUR });`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'Samekey is told for how long the provider remembers a key. Later than that nothing is repeated: the row says “unknown”, and a reconciler asks about the order.',
      breaks: null,
      code: `await attempt.effect('charge',
  ({ downstreamKey }) => provider.charge(order, downstreamKey),
  // As the provider says.
  { rule: 'downstreamKey', retentionMs: 3_000 });`,
    },
  ],
  knobs: [
    {
      id: 'memory',
      lane: 'provider',
      title: 'Remembers a key for',
      unit: 'ms',
      least: 2_000,
      most: 20_000,
      by: 1_000,
      usual: 3_000,
    },
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
      text: 'Make the customer pay twice: choose “Repeats at any time” and play to the end.',
      variant: 'trusts',
      learned: 'A key at the provider protects for as long as the provider remembers it, and no longer.',
      isDone: (trace, step) => trace.variant === 'trusts' && hasMark(trace, step, 'charged-again'),
    },
    {
      id: 'longer',
      knobs: { memory: 20_000 },
      text: 'Stay with it, and let the provider remember for so long that the customer pays once.',
      variant: 'trusts',
      learned:
        'It goes well when somebody takes over in time. Many providers remember for a day, and some repairs take a weekend.',
      isDone: (trace, step) =>
        trace.variant === 'trusts' && step === trace.steps.length - 1 && trace.harms.length === 0,
    },
    {
      id: 'once',
      text: 'Now with Samekey, and a provider that forgets too soon: play to the end, and see who asks whom.',
      variant: 'samekey',
      learned: 'What can no longer be repeated is asked about. That takes longer, and nobody pays twice.',
      isDone: (trace, step) => isSeenWhole('samekey')(trace, step) && hasMark(trace, step, 'unknown'),
    },
  ],
  run: { load: async () => (await import('../tellings/tell-forgetful.ts')).run },
};
