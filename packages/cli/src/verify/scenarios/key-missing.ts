/** No key, and an empty one. */

import { isRefusal, type Probe } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { fault, held, notJudged, type Verdict } from '../judgement.ts';

export const keyMissing: Scenario = {
  name: 'key-missing',
  title: 'a request without a key is refused with 400',
  level: 'SHOULD',
  source: 'draft-07 §2.7; F33',
  run: (probe) => without(probe, [], 'without a key'),
};

export const keyEmpty: Scenario = {
  name: 'key-empty',
  title: 'an empty key is refused with 400',
  level: 'SHOULD',
  source: 'draft-07 §2.1, §2.7; F33',
  async run(probe) {
    for (const line of ['', '""']) {
      const verdict = await without(probe, [line], line === '' ? 'with an empty header' : 'with the key ""');
      if (verdict.verdict !== 'held') return verdict;
    }
    return held('400, as an empty header and as ""');
  },
};

async function without(probe: Probe, keyLines: readonly string[], how: string): Promise<Verdict> {
  if (!probe.settings.isKeyRequired)
    return notJudged('not judged: you said that this operation takes requests without a key');
  let status = 0;
  const intent = probe.intent();
  const count = await probe.executions(async () => {
    const answer = await probe.send(intent, { keyLines });
    ({ status } = answer);
  });
  if (status === 400 && (count ?? 0) === 0) return held(`400 ${how}`);
  const isRefused = isRefusal({ status } as never) && (count ?? 0) === 0;
  return fault(
    `a request ${how} was answered ${status}${(count ?? 0) > 0 ? ' and executed' : ''}`,
    isRefused
      ? 'The client is not told in the usual way that it forgot the key.'
      : 'A client that forgets the key has no protection, and nobody tells it: its retry is charged again.',
  );
}
