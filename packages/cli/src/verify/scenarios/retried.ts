/** What the plainest questions are about: an intent, its first answer, and its first retry's. */

import type { Probe } from '../probe.ts';
import type { Answer, Reply } from '../wire.ts';
import { NotJudged } from '../judgement.ts';

/** See above. */
interface Retried {
  readonly first: Answer;
  readonly retries: readonly [Reply, Reply];
}

/** Sends an intent three times. Throws `NotJudged` if the first is not answered. */
export async function retried(probe: Probe): Promise<Retried> {
  const intent = probe.intent();
  return {
    first: await probe.first(intent),
    retries: [await probe.tell(intent), await probe.tell(intent)],
  };
}

/** An answer. Throws `NotJudged` if there is none. */
export function answered(reply: Reply): Answer {
  if ('none' in reply) throw new NotJudged(reply.none);
  return reply;
}
