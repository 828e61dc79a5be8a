/** The same key for another request: refused, and nothing of the first is changed by it. */

import { isRefusal, isSameAnswer, isSuccess, type Probe } from '../probe.ts';
import { fault, held, type Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';

interface Met {
  readonly first: Answer;
  /** What a retry got before the other request. */
  readonly replay: Answer;
  readonly other: Answer;
  readonly again: Answer;
  /** Executions by the other request; null: nobody counts. */
  readonly count: number | null;
}

async function meet(probe: Probe): Promise<Met> {
  const intent = probe.intent();
  const first = await probe.first(intent);
  const replay = await probe.send(intent);
  let other = first;
  const count = await probe.executions(async () => {
    other = await probe.send(intent, { body: probe.otherBody(intent.body) });
  });
  return { first, replay, other, again: await probe.send(intent), count };
}

export const otherBody: Scenario = {
  name: 'other-body',
  title: 'another body under a used key is neither run nor given the first answer',
  level: 'MUST',
  source: 'draft-07 §2.2, §2.4, §2.7',
  async run(probe) {
    const { first, replay, other, count } = await probe.shared(meet);
    const isFirsts = probe.isMarked(other) || isSameAnswer(first, other) || isSameAnswer(replay, other);
    if (isFirsts && isSuccess(other))
      return fault(
        'another body got the answer of the first',
        'A customer who orders two things under one key gets one, and a receipt that says nothing of it.',
      );
    if ((count ?? 0) > 0 && !isRefusal(other) && !isFirsts)
      return fault(
        'another body under a used key ran',
        'The key protects nothing: whatever is a little different on a retry is charged again.',
      );
    if (isSuccess(other))
      return fault(
        `another body under a used key was answered ${other.status}`,
        'Either it ran, and the key protects nothing, or its customer is told that it did.',
      );
    return held(`answered ${other.status}`);
  },
};

export const otherBodyStatus: Scenario = {
  name: 'other-body-status',
  title: 'another body under a used key is refused with the status of the profile',
  level: 'SHOULD',
  source: 'draft-07 §2.7 (422); docs.stripe.com/api/errors (400, idempotency_error)',
  async run(probe) {
    const { other } = await probe.shared(meet);
    const wanted = probe.expects.mismatchStatus;
    if (other.status === wanted) return held(String(wanted));
    if (isSuccess(other))
      return { verdict: 'not-judged', found: 'not judged: it is not refused (see other-body)' };
    return fault(
      `answered ${other.status}, not ${wanted}`,
      'A client library cannot tell this mistake from others, and may send the same again for ever.',
    );
  },
};

export const otherBodyChangesNothing: Scenario = {
  name: 'other-body-changes-nothing',
  title: 'after another body was refused, a retry of the first still gets the first answer',
  level: 'MUST',
  source: 'F12; the record belongs to its first request',
  async run(probe) {
    const { replay, other, again } = await probe.shared(meet);
    if (isSuccess(other))
      return { verdict: 'not-judged', found: 'not judged: it is not refused (see other-body)' };
    if (isSameAnswer(replay, again)) return held('retries get what they got before');
    return fault(
      `the retry of the first was answered ${again.status} after the other request`,
      'One wrong request destroys the protection of a right one: its retry is charged again or refused.',
    );
  },
};
