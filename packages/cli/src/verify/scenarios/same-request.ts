/** What is the same request in JSON, and what is not. */

import { rewritten, withMember } from '../made-bodies.ts';
import { isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const reorderedJson: Scenario = {
  name: 'reordered-json',
  title: 'the same JSON with its members in another order is the same request',
  level: 'recommended',
  source: 'RFC 8259 §4 (objects are unordered); RFC 8785; F28',
  async run(probe) {
    const intent = probe.intent();
    const body = rewritten(intent.body);
    if (body === null)
      return notJudged('not judged: give a --body that is a JSON object of two members or more');
    const replay = await probe.replayed(intent);
    const { retry, isReplay } = await probe.retry(intent, replay, { body });
    if (isReplay) return held('what any retry gets');
    return fault(
      `answered ${retry.status}`,
      'A client in a language whose objects have no order is refused when it retries, or charged again.',
    );
  },
};

/** Two numbers that are one when read as doubles (RFC 8259 §6). */
const EXACT: readonly [string, string] = ['9007199254740993', '9007199254740992'];

export const exactNumbers: Scenario = {
  name: 'exact-numbers',
  title: 'large numbers that differ in the last digit are two requests',
  level: 'SHOULD',
  source: 'RFC 8259 §6; F29',
  async run(probe) {
    for (const name of ['verify', 'id']) {
      const { body } = probe.intent();
      const [one = null, two = null] = EXACT.map((written) => withMember(body, name, written));
      if (one === null || two === null) return notJudged('not judged: give a --body that is a JSON object');
      const intent = probe.intent(one);
      const first = await probe.send(intent);
      if (!isSuccess(first)) continue;
      // A service that does not look at this member at all cannot be judged by it. Each intent has a body of its own
      // (F103).
      const own = probe.intent().body;
      const [looked = null, control = null] = [EXACT[0], '1'].map((written) =>
        withMember(own, name, written),
      );
      if (looked === null || control === null) continue;
      const look = probe.intent(looked);
      await probe.first(look);
      if (isSuccess(await probe.send(look, { body: control }))) continue;
      const close = await probe.send(intent, { body: two });
      if (!isSuccess(close)) return held(`${EXACT.join(' and ')} under one key: ${close.status}`);
      return fault(
        `${EXACT.join(' and ')} are one request`,
        'Identifiers above 2⁵³ are mixed up: a payment to one account is answered with another’s receipt.',
      );
    }
    return notJudged('not judged: the service refuses or ignores a further number in the body');
  },
};
