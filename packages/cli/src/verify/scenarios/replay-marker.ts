/** A replay says that it is one. */

import type { Scenario } from '../scenario.ts';
import { answered, retried } from './retried.ts';
import { fault, held } from '../judgement.ts';

export const replayMarker: Scenario = {
  name: 'replay-marker',
  title: 'a replay says that it is one, and a first answer does not',
  level: 'recommended',
  source: 'docs.stripe.com/api/idempotent_requests (Idempotent-Replayed: true); no part of the draft',
  async run(probe) {
    const { first, retries } = await probe.shared(retried);
    const retry = answered(retries[0]);
    if (probe.hasMarker(first))
      return fault(
        'the first answer says that it is a replay',
        'Whoever counts replays, or looks for one in the logs, is led astray.',
      );
    if (probe.hasMarker(retry)) return held('only the retry carries the marker');
    return fault(
      'the retry carries no header such as Idempotency-Replayed',
      'Nobody who looks at an answer can tell whether the operation has just run.',
    );
  },
};
