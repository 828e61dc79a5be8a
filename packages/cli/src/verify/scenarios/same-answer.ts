/** A retry gets the stored status and bytes. */

import { isSameAnswer } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { retried } from './retried.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const sameAnswer: Scenario = {
  name: 'same-answer',
  title: 'a retry gets the status and the bytes of the first answer',
  level: 'MUST',
  source: 'draft-07 §2.6 (the result of the previously completed operation); F38, F39',
  async run(probe) {
    const { first, retries } = await probe.shared(retried);
    for (const [at, retry] of retries.entries()) {
      const which = at === 0 ? 'first' : 'second';
      if ('none' in retry) {
        if (!(await probe.isAlive()))
          return notJudged(`not judged: the service answers nothing: ${retry.none}`);
        return fault(
          `the ${which} retry: ${retry.none}; a fresh key is answered`,
          'Who loses an answer never learns what became of their order, however often they ask.',
        );
      }
      if (isSameAnswer(first, retry)) continue;
      const what =
        first.status === retry.status
          ? `the ${which} retry has other bytes (${first.body.length} before, ${retry.body.length} now)`
          : `the ${which} retry was answered ${retry.status}, the first request ${first.status}`;
      return fault(
        what,
        'A client that retries gets another answer, and takes it for another operation or for a failure.',
      );
    }
    return held(`both retries: ${first.status} and the same ${first.body.length} bytes`);
  },
};
