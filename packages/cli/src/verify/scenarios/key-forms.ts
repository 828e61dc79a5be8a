/** How a key is written: as the draft says, as everybody does, wrongly, and twice. */

import { isRefusal, isRefusedAsSent, isSuccess } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';
import { fault, held, notJudged } from '../judgement.ts';

export const keyQuoted: Scenario = {
  name: 'key-quoted',
  title: 'a key is taken in the form of the draft, in quotes',
  level: 'SHOULD',
  source: 'draft-07 §2.1; RFC 9651 §3.3.3; F34',
  async run(probe) {
    const intent = probe.intent();
    const answer = await probe.send(intent, { keyLines: [probe.written(intent.key, 'quoted')] });
    if (isSuccess(answer)) return held(`"…" was answered ${answer.status}`);
    if (!isRefusedAsSent(answer)) return notJudged(`not judged: a fresh key was answered ${answer.status}`);
    return fault(
      `a key in quotes was answered ${answer.status}`,
      'A client that writes the header as the draft says is refused.',
    );
  },
};

export const keyForms: Scenario = {
  name: 'key-forms',
  title: 'the quoted and the bare form of one text are one key',
  level: 'recommended',
  source: 'draft-07 §2.1; every provider documents the bare form; F34',
  async run(probe) {
    const intent = probe.intent();
    const answers: Answer[] = [];
    const count = await probe.executions(async () => {
      for (const form of ['bare', 'quoted'] as const)
        answers.push(await probe.send(intent, { keyLines: [probe.written(intent.key, form)] }));
    });
    const [bare, quoted] = answers as [Answer, Answer];
    if ([bare, quoted].some((answer) => !isSuccess(answer) && !isRefusedAsSent(answer)))
      return notJudged(`not judged: bare was answered ${bare.status}, quoted ${quoted.status}`);
    if (!isSuccess(bare) || !isSuccess(quoted))
      return held(`one form only: bare ${bare.status}, quoted ${quoted.status}`);
    if (probe.isMarked(quoted) && (count ?? 1) === 1) return held('one key');
    if (count === null) return notJudged(probe.needsCount);
    if (count === 1) return held('one key');
    return fault(
      'they are two keys',
      'When a client library changes how it writes the header, retries across that update are charged again.',
    );
  },
};

export const keyMalformed: Scenario = {
  name: 'key-malformed',
  title: 'a header that is no well-formed String is refused with 400',
  level: 'recommended',
  source: 'draft-07 §2.1, §2.7; RFC 9651 §4.2; F33',
  async run(probe) {
    const intent = probe.intent();
    for (const line of [`"${intent.key}`, `"${intent.key}" "x"`]) {
      const answer = await probe.send(intent, { keyLines: [line] });
      if (isRefusal(answer)) continue;
      return fault(
        `${line.endsWith('"x"') ? 'two strings in one header' : 'a quote that is not closed'} was answered ${answer.status}`,
        'Two parsers on the way to the service may read two keys, and then the same request runs twice.',
      );
    }
    return held('400');
  },
};

export const keyTwice: Scenario = {
  name: 'key-twice',
  title: 'a request with two key headers is refused',
  level: 'SHOULD',
  source: 'draft-07 §2.1 (one Item, no List); RFC 9651 §4.2; F33',
  async run(probe) {
    const intent = probe.intent();
    const other = probe.intent();
    const keyLines = [probe.written(intent.key), probe.written(other.key)];
    const answer = await probe.send(intent, { keyLines });
    if (isRefusal(answer)) return held(`${answer.status}`);
    return fault(
      `a request with two different keys was answered ${answer.status}`,
      'What one hop takes for key A and another for key B (or for “A, B”) runs once for each of them.',
    );
  },
};
