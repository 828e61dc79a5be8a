/** A key is remembered for its time, and not until others push it out; and what it is answered is its own. */

import { bytesOf } from '../options.ts';
import { isSuccess } from '../probe.ts';
import { fault, held, notJudged, type Scenario } from '../scenario.ts';

/** More than a cache holds that somebody sized by hand, and few enough for a test environment. */
const OTHERS = 24;

export const manyKeys: Scenario = {
  name: 'many-keys',
  title: 'a key that many others came after is still answered as before',
  level: 'MUST',
  source: 'draft-07 §2.3 (keys expire by a published policy), §2.6; F119',
  async run(probe) {
    const { refusedBody, expiresMs = Infinity } = probe.settings;
    const intent = probe.intent();
    const startedAt = performance.now();
    const replay = await probe.replayed(intent);
    const others = await probe.tellAll(Array.from({ length: OTHERS }, () => [probe.intent()] as const));
    // Last one of another status, for services that mix up what belongs to whom.
    if (refusedBody !== undefined) await probe.tell(probe.intent(bytesOf(refusedBody)));
    const done = others.filter((reply) => 'status' in reply && isSuccess(reply)).length;
    if (done < OTHERS / 2) return notJudged(`not judged: only ${done} of ${OTHERS} other keys succeeded`);
    const { retry, isReplay } = await probe.retry(intent, replay, {});
    if (isReplay) return held(`after ${done} other keys: what any retry gets`);
    if (performance.now() - startedAt >= expiresMs)
      return notJudged(`not judged: ${done} other keys took longer than a key is remembered`);
    return fault(
      `answered ${retry.status} after ${done} other keys, and not as any other retry`,
      'On a busy day, whoever tries again a little later is charged again, or gets the answer of somebody else.',
    );
  },
};
