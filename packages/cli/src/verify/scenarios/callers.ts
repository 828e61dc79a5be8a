/** Whom a key is unique for: the caller, and not the credential it comes with. */

import type { Scenario } from '../scenario.ts';
import { elsewhere } from './elsewhere.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const twoTenants: Scenario = {
  name: 'two-tenants',
  title: 'two tenants with one key have an operation and an answer each',
  level: 'MUST',
  source: 'draft-07 §2.2, §5 (security considerations); F25, F92, F103',
  async run(probe) {
    const { tenantB } = probe.settings;
    if (tenantB === undefined) return notJudged('not judged: give --tenant-b, the headers of another tenant');
    return elsewhere(probe, {
      change: { headers: tenantB },
      what: 'the other tenant',
      // It is another intent: where clients supply unique ids, the first one's body would be a duplicate (F103).
      hasOwnBody: true,
      means: 'One customer reads another one’s receipt, and their own order is never placed.',
      refused: ({ status }) =>
        fault(
          `the other tenant was answered ${status}`,
          'Who guesses or repeats another tenant’s key learns that it was used, and their own order is never placed.',
        ),
    });
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
    const { retry, isReplay } = await probe.retry(intent, replay, { headers: rotated });
    if (isReplay) return held('what any retry gets');
    return fault(
      `answered ${retry.status}, and not as any other retry`,
      'Whoever renews their token between two tries is charged again.',
    );
  },
};
