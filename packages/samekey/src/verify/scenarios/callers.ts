/** Whom a key is unique for: the caller, and not the credential it comes with. */

import { isCountedOutside, isSameAnswer, isSuccess } from '../probe.ts';
import { fault, held, notJudged, type Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';

export const twoTenants: Scenario = {
  name: 'two-tenants',
  title: 'two tenants with one key have an operation and an answer each',
  level: 'MUST',
  source: 'draft-07 §2.2, §5 (security considerations); F25',
  async run(probe) {
    const { tenantB } = probe.settings;
    if (tenantB === undefined) return notJudged('not judged: give --tenant-b, the headers of another tenant');
    // Whether the counter sees this tenant too: many count for one caller only.
    let own: Answer | undefined;
    const seen = await probe.executions(async () => {
      own = await probe.first(probe.intent(), { headers: tenantB });
    });
    const intent = probe.intent();
    const first = await probe.first(intent);
    let other: Answer = first;
    const count = await probe.executions(async () => {
      other = await probe.send(intent, { headers: tenantB });
    });
    if (!isSuccess(other))
      return fault(
        `the other tenant was answered ${other.status}`,
        'Who guesses or repeats another tenant’s key learns that it was used, and their own order is never placed.',
      );
    const leak = 'One customer reads another one’s receipt, and their own order is never placed.';
    if (probe.isMarked(other)) return fault('the other tenant got a replay', leak);
    if (!isSameAnswer(first, other)) return held('the other tenant got an answer of their own');
    if (seen === 1 && isCountedOutside(probe))
      return count === 1
        ? held('an execution of their own')
        : fault('the other tenant’s request was not executed', leak);
    if (own !== undefined && isSameAnswer(first, own)) return notJudged(probe.needsCount);
    return fault('the other tenant got the bytes of the first', leak);
  },
};

export const rotatedCredential: Scenario = {
  name: 'rotated-credential',
  title: 'a retry with a new credential of the same caller gets the first answer',
  level: 'SHOULD',
  source: 'F26: keys belong to the caller, credentials change',
  async run(probe) {
    const { rotated } = probe.settings;
    if (rotated === undefined)
      return notJudged('not judged: give --rotated, the headers of another credential of the same caller');
    const intent = probe.intent();
    const replay = await probe.replayed(intent);
    const retry = await probe.send(intent, { headers: rotated });
    if (isSameAnswer(replay, retry)) return held('what any retry gets');
    return fault(
      `answered ${retry.status}, and not as any other retry`,
      'Whoever renews their token between two tries is charged again.',
    );
  },
};
