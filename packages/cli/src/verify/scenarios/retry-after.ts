/** Who is put off is told until when. */

import { isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { valuesOf } from '../wire.ts';
import { fault, held, notJudged } from '../judgement.ts';

/** A client that waits longer than a day has given up. */
const SECONDS_MAX = 24 * 60 * 60;

export const retryAfter: Scenario = {
  name: 'retry-after',
  title: 'answers 409 of running requests, 429 and 503 say when to come again',
  level: 'SHOULD',
  source: 'RFC 9110 §10.2.3; RFC 6585 §4; F1',
  async run(probe) {
    const intent = probe.heldIntent();
    const replies = await probe.tellAll([[intent], [intent], [intent]]);
    const answers = [
      ...probe.met,
      ...probe.putOff,
      ...replies.flatMap((reply) => ('status' in reply && !isSuccess(reply) ? [reply] : [])),
    ].filter(({ status }) => [409, 425, 429, 503].includes(status));
    if (answers.length === 0)
      return notJudged('not judged: nobody was put off: give --hold-param, what makes it slow');
    for (const { status, lines } of answers) {
      const value = valuesOf(lines, 'retry-after')[0];
      if (value === undefined)
        return fault(
          `${status} without Retry-After`,
          'Clients ask again at once and all together, or never.',
        );
      const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
      if (!(seconds <= SECONDS_MAX))
        return fault(
          `${status} with a Retry-After that is no time within a day`,
          'Clients that believe it never come again, or come at once.',
        );
    }
    return held(`${answers.length} answers, each with a Retry-After`);
  },
};
