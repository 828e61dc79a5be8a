/** How long a key is remembered: as long as the service says. */

import { pause } from '../pace.ts';
import { isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { fault, held, notJudged } from '../judgement.ts';

/** Clocks and reapers are not exact. */
const SLACK_MS = 1_000;

export const expiry: Scenario = {
  name: 'expiry',
  title: 'a key is remembered for as long as declared, and not for ever',
  level: 'SHOULD',
  source: 'draft-07 §2.3; F48, F55',
  async run(probe) {
    const { expiresMs } = probe.settings;
    if (expiresMs === undefined)
      return notJudged(
        'not judged: give --expires, how long keys are remembered, if that is ten seconds or less',
      );
    const intent = probe.intent();
    const startedAt = performance.now();
    const replay = await probe.replayed(intent);
    // At the latest now the key's time has begun: a slow first answer is not held against the service.
    const answeredAt = performance.now();
    await pause(expiresMs * 0.6 - (performance.now() - startedAt));
    const early = await probe.retry(intent, replay, {});
    // The key's time was over before the answer came: whether the service forgot it before, nobody can tell.
    if (!early.isReplay && performance.now() - startedAt >= expiresMs)
      return notJudged(
        `not judged: the retry was answered after the ${expiresMs} ms for which a key is remembered`,
      );
    if (!early.isReplay)
      return fault(
        `forgotten before ${expiresMs} ms were over`,
        'A retry that comes later, but within the promised time, is charged again.',
      );
    await pause(expiresMs + SLACK_MS - (performance.now() - answeredAt));
    const { retry: late, isReplay } = await probe.retry(intent, replay, {});
    if (!isSuccess(late)) return held(`after its time: ${late.status}`);
    if (!probe.isMarked(late) && !isReplay) return held('after its time it is a new key');
    if (!probe.isMarked(late) && late.body.length === 0)
      return notJudged('not judged: answers are empty, and the retry after its time carries no marker');
    return fault(
      `still replayed ${SLACK_MS} ms after its ${expiresMs} ms`,
      'A client that uses its keys again after the declared time gets an old receipt for a new order.',
    );
  },
};
