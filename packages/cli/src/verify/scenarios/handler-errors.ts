/** What the handler itself refuses or fails on. */

import { bytesOf } from '../options.ts';
import { isRefusal, isSameAnswer, isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const finalRefusal: Scenario = {
  name: 'final-refusal',
  title: 'a refusal of the handler is replayed',
  level: 'SHOULD',
  source: 'draft-07 §2.6 (success or an error); F7',
  async run(probe) {
    const { refusedBody } = probe.settings;
    if (refusedBody === undefined)
      return notJudged('not judged: give --refused-body, which the operation refuses for good');
    const intent = probe.intent(bytesOf(refusedBody));
    const first = await probe.send(intent);
    if (!isRefusal(first))
      return notJudged(`not judged: --refused-body was answered ${first.status}, not 4xx`);
    const retry = await probe.send(intent);
    if (!isSameAnswer(first, retry))
      return fault(
        first.status === retry.status
          ? `refused with ${first.status}, and on the retry with ${first.status} and other bytes: it was decided anew`
          : `refused with ${first.status}, and the retry was answered ${retry.status}`,
        'Who was told “no” is charged when their client tries again by itself.',
      );
    if (probe.isMarked(retry)) return held(`${first.status}, replayed`);
    return notJudged('not judged: the retry has the same bytes and no marker: it may have been decided anew');
  },
};

export const serverError: Scenario = {
  name: 'server-error',
  title: 'a retry after a 5xx of the handler is answered as the service declares',
  level: 'SHOULD',
  source: 'draft-07 §2.5, §2.6; docs.stripe.com/api/idempotent_requests (500 is replayed); F56, F57',
  async run(probe) {
    const { failing } = probe.settings;
    if (failing === undefined)
      return notJudged(
        'not judged: give --failing-body and --failing-expect, what the handler fails on and what you declare',
      );
    const intent = probe.intent(bytesOf(failing.body));
    const first = await probe.send(intent);
    if (first.status < 500)
      return notJudged(`not judged: --failing-body was answered ${first.status}, not 5xx`);
    const retry = await probe.send(intent);
    if (failing.expect === 'replayed') {
      if (isSameAnswer(first, retry)) return held(`${first.status}, replayed`);
      return fault(
        `declared: replayed; the retry was answered ${retry.status} or with other bytes`,
        'What failed half-way runs again, and what it did before it failed is done twice.',
      );
    }
    if (failing.expect === 'unknown') {
      if (retry.status === 409 || retry.status === 202) return held(`${first.status}, then ${retry.status}`);
      return fault(
        `declared: unknown; the retry was answered ${retry.status}`,
        'A charge that may have been made is made again, or is told to have failed.',
      );
    }
    if (isSuccess(retry)) return held(`${first.status}, then ${retry.status}`);
    if (probe.isMarked(retry))
      return fault(
        `declared: retried; the retry got the stored ${retry.status}`,
        'A fault of a moment is for ever: the customer can never finish this order.',
      );
    if (!isSameAnswer(first, retry)) return held(`${first.status}, then another ${retry.status}`);
    return notJudged('not judged: both answers are the same and carry no marker');
  },
};
