/** A client that is gone before its answer, and comes again. */

import { pause } from '../pace.ts';
import { isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Reply } from '../wire.ts';
import { fault, held, notJudged } from '../judgement.ts';

const HANG_UP_MS = 30;
/** How long the first may go on running, and how often it is asked for. */
const TRIES_MAX = 12;
const BETWEEN_MS = 400;

/** Running still, or failed for now. */
function isPutOff(status: number): boolean {
  return [202, 409, 425].includes(status) || status >= 500;
}

export const hangUp: Scenario = {
  name: 'hang-up',
  title: 'the operation of a client that hung up takes effect once, and its retry is answered',
  level: 'MUST',
  source: 'draft-07 §1 (why there is such a header); F17, F18',
  async run(probe) {
    const intent = probe.heldIntent();
    let last: Reply = { none: 'hung up' };
    const count = await probe.executions(async () => {
      await probe.tell(intent, { hangUpAfterMs: HANG_UP_MS });
      for (let i = 0; i < TRIES_MAX; i++) {
        last = await probe.tell(intent);
        if (!('status' in last) || !isPutOff(last.status)) break;
        await pause(BETWEEN_MS);
      }
    });
    last = last as Reply;
    if ('none' in last) return notJudged(`not judged: ${last.none}`);
    const { status } = last;
    if ((count ?? 0) > 1)
      return fault(
        `a client hung up and tried again: ${count} executions`,
        'Whoever loses the connection and tries again is charged twice.',
      );
    if (!isSuccess(last))
      return fault(
        `the retry of a client that hung up is still answered ${status} after ${TRIES_MAX} tries`,
        'Who loses the connection never learns what became of their order.',
      );
    if (count === null) return notJudged(probe.needsCount);
    if (count === 0)
      return fault(
        'the retry of a client that hung up was answered as done, and nothing was executed',
        'Who loses the connection is told that an order was placed, and it was not.',
      );
    if (last.body.length === 0 && (await probe.first(probe.intent())).body.length > 0)
      return fault(
        `the retry of a client that hung up was answered ${status} with nothing in it`,
        'Who loses the connection holds an empty receipt: no id, no link to their order.',
      );
    return held(`one execution; the retry was answered ${status}`);
  },
};
