/** Keys are compared as they are: whole, with their case and their spaces. */

import { isRefusal, isRefusedAsSent, isSuccess, type Probe } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';
import { fault, held, notJudged, type Verdict } from '../judgement.ts';

const MIXED =
  'Two customers whose keys only look alike are taken for one: the second is not charged, and gets the first one’s answer.';

export const keyCase: Scenario = {
  name: 'key-case',
  title: 'keys that differ in case are two keys',
  level: 'MUST',
  source: 'draft-07 §2.1 (a String, RFC 9651 §3.3.3: compared as it is); F35',
  run: (probe) => twoKeys(probe, (key) => [`${key}-a`, `${key}-A`], 'that differ in case'),
};

export const keySpaces: Scenario = {
  name: 'key-spaces',
  title: 'keys that differ in spaces inside the quotes are two keys',
  level: 'MUST',
  source: 'draft-07 §2.1; RFC 9651 §3.3.3; F33',
  run: (probe) => twoKeys(probe, (key) => [key, `${key} `], 'that differ in a space', true),
};

export const keyLong: Scenario = {
  name: 'key-long',
  title: 'long keys are refused or compared whole, never cut',
  level: 'MUST',
  source: 'docs.stripe.com/api/idempotent_requests (up to 255 characters); F33',
  run: (probe) => {
    return twoKeys(
      probe,
      (key) => [`${long(key)}1`, `${long(key)}2`],
      'of 600 characters that differ in the last one',
    );
  },
};

/** 599 characters. */
function long(key: string): string {
  return key.padEnd(599, 'x');
}

async function twoKeys(
  probe: Probe,
  make: (key: string) => readonly [string, string],
  how: string,
  quoted = false,
): Promise<Verdict> {
  const intent = probe.intent();
  const form = quoted ? 'quoted' : probe.form;
  const [oneLine, twoLine] = make(intent.key).map((key) => probe.written(key, form)) as [string, string];
  const answers: Answer[] = [];
  const count = await probe.executions(async () => {
    answers.push(await probe.send(intent, { keyLines: [oneLine] }));
    // Each is an intent, with the body of one (F103).
    answers.push(await probe.send(probe.intent(), { keyLines: [twoLine] }));
  });
  const [first, second] = answers as [Answer, Answer];
  if (isRefusedAsSent(first)) return held(`${first.status} for such a key`);
  if (!isSuccess(first))
    return notJudged(`not judged: a fresh key of this form was answered ${first.status}`);
  if (isRefusal(second)) {
    // A key of its form that nobody used tells whether the form was refused, or the key was taken for the first.
    const control = probe.intent();
    const line = probe.written(make(control.key)[1], form);
    const answer = await probe.send(control, { keyLines: [line] });
    if (isSuccess(answer)) return fault(`two keys ${how} were taken for one: ${second.status}`, MIXED);
    if (isRefusedAsSent(second) && isRefusedAsSent(answer))
      return held(`the second was answered ${second.status}`);
  }
  if (!isSuccess(second)) return notJudged(`not judged: the second key was answered ${second.status}`);
  if (probe.isMarked(second) || (count !== null && count < 2))
    return fault(`two keys ${how} were taken for one`, MIXED);
  if (count === null) return notJudged(probe.needsCount);
  return held(`two keys ${how}: ${count} executions`);
}
