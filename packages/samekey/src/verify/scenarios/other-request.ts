/** The same key for another request: refused, and nothing of the first is changed by it. */

import { type Intent, isCountedOutside, isRefusal, isSameAnswer, isSuccess, type Probe } from '../probe.ts';
import { fault, held, notJudged, type Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';

interface Met {
  readonly intent: Intent;
  readonly first: Answer;
  /** What a retry got before the other requests. */
  readonly replay: Answer;
  /** What each other body was answered, and how often it was executed; null: nobody counts. */
  readonly others: readonly { readonly other: Answer; readonly count: number | null }[];
}

async function meet(probe: Probe): Promise<Met> {
  const intent = probe.intent();
  const first = await probe.first(intent);
  const replay = await probe.send(intent);
  const others: { other: Answer; count: number | null }[] = [];
  const send = async (used: Intent, body: Uint8Array): Promise<void> => {
    let other = first;
    const count = await probe.executions(async () => {
      other = await probe.send(used, { body });
    });
    others.push({ other, count });
  };
  await send(intent, probe.otherBody(intent.body));
  // Under a key of its own: what the one before has done to the first is judged by itself.
  const second = probe.intent();
  const inside = probe.bodyOtherInside(second.body);
  if (inside !== null) {
    await probe.first(second);
    await send(second, inside);
  }
  return { intent, first, replay, others };
}

export const otherBody: Scenario = {
  name: 'other-body',
  title: 'another body under a used key is neither run nor given the first answer',
  level: 'MUST',
  source: 'draft-07 §2.2, §2.4, §2.7; F119',
  async run(probe) {
    const { first, replay, others } = await probe.shared(meet);
    for (const [at, { other, count }] of others.entries()) {
      const what = at === 0 ? 'another body' : 'a body that differs inside a member';
      const isFirsts = probe.isMarked(other) || isSameAnswer(first, other) || isSameAnswer(replay, other);
      if (isSuccess(other) && (isFirsts || (count === 0 && isCountedOutside(probe))))
        return fault(
          `${what} got the answer of the first`,
          'A customer who orders two things under one key gets one, and a receipt that says nothing of it.',
        );
      if ((count ?? 0) > 0)
        return fault(
          `${what} under a used key was answered ${other.status}, and ran`,
          'The key protects nothing: whatever is a little different on a retry is charged again.',
        );
      if (isSuccess(other))
        return fault(
          `${what} under a used key was answered ${other.status}`,
          'Either it ran, and the key protects nothing, or its customer is told that it did.',
        );
      if (!isRefusal(other)) return notJudged(`not judged: ${what} was answered ${other.status}`);
    }
    return held(`answered ${others.map(({ other }) => other.status).join(', ')}`);
  },
};

export const otherBodyStatus: Scenario = {
  name: 'other-body-status',
  title: 'another body under a used key is refused with the status of the profile',
  level: 'SHOULD',
  source: 'draft-07 §2.7 (422); docs.stripe.com/api/errors (400, idempotency_error)',
  async run(probe) {
    const { others } = await probe.shared(meet);
    const wanted = probe.expects.mismatchStatus;
    const refused = others.map(({ other }) => other).filter((other) => !isSuccess(other));
    if (refused.length === 0) return notJudged(NOT_REFUSED);
    const other = refused.find(({ status }) => status !== wanted);
    if (other === undefined) return held(String(wanted));
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
    const { intent, replay, others } = await probe.shared(meet);
    if (others[0] === undefined || isSuccess(others[0].other)) return notJudged(NOT_REFUSED);
    const { retry, isReplay } = await probe.retry(intent, replay, {});
    if (isReplay) return held('retries get what they got before');
    return fault(
      `the retry of the first was answered ${retry.status} after the other request`,
      'One wrong request destroys the protection of a right one: its retry is charged again or refused.',
    );
  },
};

const NOT_REFUSED = 'not judged: it is not refused (see other-body)';
