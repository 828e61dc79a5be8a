/** Safe methods need no key, and a key changes nothing about them. */

import { isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const getUntouched: Scenario = {
  name: 'get-untouched',
  title: 'GET and HEAD with a key are answered as without one',
  level: 'SHOULD',
  source: 'draft-07 §2 (methods that are not idempotent); RFC 9110 §9.2.1; F37',
  async run(probe) {
    const { getUrl, url, count } = probe.settings;
    // The headers of the operation, with its credential, are for its own origin only.
    const isOwn =
      typeof count === 'object' && 'url' in count && new URL(count.url).origin === new URL(url).origin;
    const counted = isOwn ? count : undefined;
    const target = getUrl ?? counted?.url ?? url;
    const change = {
      method: 'GET',
      url: target,
      headers: counted?.url === target ? (counted.headers ?? {}) : {},
    };
    const intent = probe.intent();
    const plainBefore = await probe.send(intent, { ...change, keyLines: [] });
    const before = await probe.send(intent, change);
    if (before.status !== plainBefore.status)
      return fault(
        `GET with a key was answered ${before.status}, without one ${plainBefore.status}`,
        'A client that sends its headers with every request cannot read any more.',
      );
    if (!isSuccess(before)) return notJudged(`not judged: GET is answered ${before.status}: give --get-url`);
    const head = { ...change, method: 'HEAD' };
    const plainHead = await probe.send(intent, { ...head, keyLines: [] });
    const keyedHead = await probe.send(intent, head);
    if (keyedHead.status !== plainHead.status)
      return fault(
        `HEAD with a key was answered ${keyedHead.status}, without one ${plainHead.status}`,
        'A client that sends its headers with every request cannot ask any more whether something is there.',
      );
    await probe.first(probe.intent());
    const after = await probe.send(intent, change);
    const plain = await probe.send(intent, { ...change, keyLines: [] });
    if (probe.isMarked(after) || (after.body.equals(before.body) && !plain.body.equals(before.body)))
      return fault(
        'GET with a key was answered from the record',
        'Whoever reads their balance under a key reads an old one for as long as the key is remembered.',
      );
    // Bytes that differ by themselves would differ in what is kept too (F92).
    if (!before.body.equals(plainBefore.body))
      return notJudged(
        'not judged: no two answers to GET are alike: give --get-url, what only an execution changes',
      );
    if (plain.body.equals(before.body))
      return notJudged('not judged: what GET reads does not change with an execution: give --get-url');
    return held('read afresh');
  },
};
