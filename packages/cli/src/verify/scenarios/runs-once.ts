/** The promise itself: three requests under one key are one operation. */

import type { Scenario } from '../scenario.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const runsOnce: Scenario = {
  name: 'runs-once',
  title: 'a request that is sent three times under one key takes effect once',
  level: 'MUST',
  source: 'draft-ietf-httpapi-idempotency-key-header-07 §2.6; F7, F13',
  async run(probe) {
    const intent = probe.intent();
    const count = await probe.executions(async () => {
      await probe.first(intent);
      await probe.send(intent);
      await probe.send(intent);
    });
    if (count === null) return notJudged(probe.needsCount);
    if (count === 1) return held('three requests, one execution');
    return fault(
      `three requests under one key, ${count} executions`,
      count === 0
        ? 'The operation was answered as done and did not take effect.'
        : 'A customer whose answer is lost and who tries again is charged again.',
    );
  },
};
