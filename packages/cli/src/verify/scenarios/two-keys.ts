/** Who asks for the same thing twice on purpose gets it twice: the key says what is one operation, not the body. */

import { isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const twoKeys: Scenario = {
  name: 'two-keys',
  title: 'one request under two keys is two operations',
  level: 'MUST',
  source: 'draft-07 §2.2 (the key identifies the operation); F24, F103',
  async run(probe) {
    // Each is an intent, with the body of one: where {{uuid}} makes bodies differ, equal ones are duplicates by design
    // (F103).
    const answers: Answer[] = [];
    const count = await probe.executions(async () => {
      for (let i = 0; i < 2; i++) answers.push(await probe.patient(probe.intent()));
    });
    const means =
      'A customer who orders the same thing twice on purpose, such as two equal tickets, gets one.';
    const refused = answers.find((answer) => !isSuccess(answer));
    if (refused !== undefined)
      return fault(
        `a fresh key was answered ${refused.status}: if a client supplies an id that must be new, put {{uuid}} there`,
        means,
      );
    const second = answers[1] as Answer;
    if (probe.isMarked(second)) return fault('the second got a replay of the first', means);
    if (count === null) return notJudged(probe.needsCount);
    return count === 2 ? held('two executions') : fault(`${count} execution for two keys`, means);
  },
};
