/** The same key for another request: refused, and nothing of the first is changed by it. */

import { type Intent, isCountedOutside, isRefusal, isSameAnswer, isSuccess, type Probe } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';
import { fault, held, notJudged } from '../judgement.ts';

/** One key, and another body under it. */
interface Tried {
  readonly intent: Intent;
  readonly first: Answer;
  /** What a retry got before the other body. */
  readonly replay: Answer;
  readonly other: Answer;
  /** Executions by the other body; null: nobody counts. */
  readonly count: number | null;
}

async function attempt(probe: Probe, intent: Intent, body: Uint8Array): Promise<Tried> {
  const first = await probe.first(intent);
  const replay = await probe.send(intent);
  let other = first;
  const count = await probe.executions(async () => {
    other = await probe.send(intent, { body });
  });
  return { intent, first, replay, other, count };
}

interface Met {
  readonly plain: Tried;
  /** With a body that differs only inside a member; null if there is nothing to change. */
  readonly inside: Tried | null;
}

/** Each under a key of its own: what one has done to its first is judged by itself. */
async function meet(probe: Probe): Promise<Met> {
  const nested = probe.intent();
  const body = probe.bodyOtherInside(nested.body);
  const inside = body === null ? null : await attempt(probe, nested, body);
  const intent = probe.intent();
  return { plain: await attempt(probe, intent, probe.otherBody(intent.body)), inside };
}

export const otherBody: Scenario = {
  name: 'other-body',
  title: 'another body under a used key is neither run nor given the first answer',
  level: 'MUST',
  source: 'draft-07 §2.2, §2.4, §2.7; F119',
  async run(probe) {
    const { plain, inside } = await probe.shared(meet);
    for (const tried of [plain, inside]) {
      if (tried === null) continue;
      const { first, replay, other, count } = tried;
      const what = tried === plain ? 'another body' : 'a body that differs inside a member';
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
    return held(`answered ${plain.other.status}${inside === null ? '' : `, ${inside.other.status}`}`);
  },
};

export const otherBodyStatus: Scenario = {
  name: 'other-body-status',
  title: 'another body under a used key is refused with the status of the profile',
  level: 'SHOULD',
  source: 'draft-07 §2.7 (422); docs.stripe.com/api/errors (400, idempotency_error)',
  async run(probe) {
    const { plain, inside } = await probe.shared(meet);
    const wanted = probe.expects.mismatchStatus;
    const refused = [plain, inside].flatMap((tried) =>
      tried === null || isSuccess(tried.other) ? [] : [tried.other],
    );
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
    const {
      plain: { intent, replay, other },
    } = await probe.shared(meet);
    if (isSuccess(other)) return notJudged(NOT_REFUSED);
    const { retry, isReplay } = await probe.retry(intent, replay, {});
    if (isReplay) return held('retries get what they got before');
    return fault(
      `the retry of the first was answered ${retry.status} after the other request`,
      'One wrong request destroys the protection of a right one: its retry is charged again or refused.',
    );
  },
};

const NOT_REFUSED = 'not judged: it is not refused (see other-body)';
