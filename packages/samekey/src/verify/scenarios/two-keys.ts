/** Who asks for the same thing twice on purpose gets it twice: the key says what is one operation, not the body. */

import { isSuccess } from '../probe.ts';
import { fault, held, notJudged, type Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';

export const twoKeys: Scenario = {
  name: 'two-keys',
  title: 'the same body under two keys is two operations',
  level: 'MUST',
  source: 'draft-07 §2.2 (the key identifies the operation); F24',
  async run(probe) {
    const intent = probe.intent();
    const again = probe.intent(intent.body);
    let second: Answer | undefined;
    const count = await probe.executions(async () => {
      await probe.first(intent);
      second = await probe.send(again);
    });
    const means =
      'A customer who orders the same thing twice on purpose, such as two equal tickets, gets one.';
    if (second === undefined || !isSuccess(second))
      return fault(`the second was answered ${second?.status ?? 0}`, means);
    if (probe.isMarked(second)) return fault('the second got a replay of the first', means);
    if (count === null) return notJudged(probe.needsCount);
    return count === 2 ? held('two executions') : fault(`${count} execution for two keys`, means);
  },
};
