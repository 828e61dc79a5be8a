/** The same key at another place: another query, path or method never gets the answer of this one. */

import { type Change, isCountedOutside, isSameAnswer, isSuccess, type Probe } from '../probe.ts';
import { fault, held, notJudged, type Scenario, type Verdict } from '../scenario.ts';
import type { Answer } from '../wire.ts';

export const otherQuery: Scenario = {
  name: 'other-query',
  title: 'the same key with another query does not get the first answer',
  level: 'MUST',
  source: 'draft-07 §2.4; F27',
  run: (probe) => elsewhere(probe, { query: { verify: 'other' } }, 'another query'),
};

export const otherPath: Scenario = {
  name: 'other-path',
  title: 'the same key on another path does not get the first answer',
  level: 'MUST',
  source: 'draft-07 §2.4; F10, F27',
  async run(probe) {
    const { otherUrl } = probe.settings;
    if (otherUrl === undefined)
      return notJudged('not judged: give --other-url, where the same body is another operation');
    return elsewhere(probe, { url: otherUrl }, 'another path');
  },
};

export const otherMethod: Scenario = {
  name: 'other-method',
  title: 'the same key with another method does not get the first answer',
  level: 'MUST',
  source: 'draft-07 §2.4; F27',
  run: (probe) =>
    elsewhere(probe, { method: probe.settings.method === 'PATCH' ? 'PUT' : 'PATCH' }, 'another method'),
};

async function elsewhere(probe: Probe, change: Change, what: string): Promise<Verdict> {
  const intent = probe.intent();
  const first = await probe.first(intent);
  let other: Answer = first;
  const count = await probe.executions(async () => {
    other = await probe.send(intent, change);
  });
  const means =
    'A request that means something else is answered with a receipt for the first one, and is never done.';
  if (!isSuccess(other)) return held(`answered ${other.status}`);
  if (probe.isMarked(other)) return fault(`${what} got a replay of the first answer`, means);
  if (!isSameAnswer(first, other)) return held(`an answer of its own, ${other.status}`);
  // Equal bytes prove nothing when nobody counts.
  if (first.body.length === 0 || count === null) return notJudged(probe.needsCount);
  if (isCountedOutside(probe) && count !== 0) return held('an execution of its own');
  return fault(`${what} got the bytes of the first answer`, means);
}
