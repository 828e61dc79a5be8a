/** What the plainest questions are about: an intent, its first answer, and its first retry's. */

import type { Probe } from '../probe.ts';
import type { Answer } from '../wire.ts';

/** See above. */
export interface Retried {
  readonly first: Answer;
  readonly retries: readonly [Answer, Answer];
}

/** Sends an intent three times. Throws `NotJudged`. */
export async function retried(probe: Probe): Promise<Retried> {
  const intent = probe.intent();
  return {
    first: await probe.first(intent),
    retries: [await probe.send(intent), await probe.send(intent)],
  };
}
