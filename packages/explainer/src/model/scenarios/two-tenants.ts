/** Two customers whose apps choose the same key. */

import { send } from '../app.ts';
import { chargeAndAnswer } from '../handlers.ts';
import { header, type Serve } from '../http-lines.ts';
import { protect, startInstance } from '../process.ts';
import type { Stage } from '../stage.ts';
import { hasMark, isSeenWhole, type Scenario } from '../story.ts';
import type { LaneId } from '../trace.ts';

/** What the scope does. */
export const twoTenants: Scenario = {
  id: 'two-tenants',
  title: 'The same key twice',
  story:
    'Ann and Ben pay €12.00 each, in the same shop. Both apps number their payments, so both send the key payment-1, with the same content. Only who sends it differs.',
  lanes: [
    { id: 'client', title: 'Ann', name: 'Ann’s app' },
    { id: 'helper', title: 'Ben', name: 'Ben’s app' },
    { id: 'api-1', title: 'API 1' },
    { id: 'api-2', title: 'API 2' },
    { id: 'store', title: 'Database' },
    { id: 'provider', title: 'Provider' },
  ],
  variants: [
    {
      id: 'no-scope',
      title: 'No scope',
      says: 'The API looks up the key alone. Whose key it is, it does not ask.',
      breaks: { harm: 'told-paid-and-not-charged', share: 1 },
      code: `const row = await db.find(key); // anybody's`,
    },
    {
      id: 'samekey',
      title: 'Samekey',
      says: 'A key belongs to a caller. The row is found by caller and key together, so Ben never meets Ann’s row.',
      breaks: null,
      code: `idempotent(samekey, {
  policy: 'payments',
  scope: (req) => [req.user.tenantId, req.user.id],
}, handler);`,
    },
  ],
  knobs: [
    {
      id: 'gap',
      lane: 'helper',
      title: 'Pays after',
      unit: 'ms',
      least: 600,
      most: 3_000,
      by: 100,
      usual: 800,
    },
  ],
  tasks: [
    {
      id: 'stranger',
      text: 'Let Ben get Ann’s answer: choose “No scope” and play to the end.',
      variant: 'no-scope',
      learned: 'Ben’s app says “paid”, and shows the number of Ann’s charge. Nobody has charged Ben.',
      isDone: (trace, step) => trace.variant === 'no-scope' && hasMark(trace, step, 'replayed'),
    },
    {
      id: 'apart',
      text: 'Now with Samekey: play to the end.',
      variant: 'samekey',
      learned: 'One key, two callers, two rows. What is stored for one is never seen by the other.',
      isDone: isSeenWhole('samekey'),
    },
  ],
  async run(stage, variant, { gap = 800 }) {
    const ann = stage.intends(1_200, 'Ann-1');
    const pay = { key: 'payment-1', body: { payment: 1, amountCents: 1_200 } };
    const first = send(stage, {
      ...pay,
      intent: ann,
      caller: 'Ann',
      to: 'api-1',
      serve: serveOf(stage, variant, 'api-1'),
      caption: 'Ann presses “Pay €12.00”. Her app sends the key payment-1.',
    });
    await stage.pause(gap);
    const ben = stage.intends(1_200, 'Ben-1');
    await send(stage, {
      ...pay,
      intent: ben,
      caller: 'Ben',
      from: 'helper',
      to: 'api-2',
      serve: serveOf(stage, variant, 'api-2'),
      caption: 'Ben presses “Pay €12.00”. His app sends the key payment-1 too.',
    });
    await first;
  },
};

function serveOf(stage: Stage, variant: string, lane: LaneId): Serve {
  const samekey = startInstance(stage, { lane });
  const handler = chargeAndAnswer(stage, lane, {
    orderOf: (request) => `${header(request, 'Authorization')?.replace('Bearer ', '') ?? ''}-1`,
  });
  return protect(samekey, { policy: 'payments', operation: 'pay' }, handler, (request) =>
    variant === 'no-scope' ? ['everybody'] : ['shop', header(request, 'Authorization') ?? ''],
  );
}
