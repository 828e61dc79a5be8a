/**
 * The same key at another place: another query, path or method never gets the answer of this one.
 *
 * Invariant: who did the work is told by what counts executions. Bytes that differ prove nothing: a time or a request's
 * id in the answer makes every replay of another's answer look like an answer of its own.
 */

import { fieldOf } from '../counting.ts';
import { type Change, isCountedOutside, isRefusal, isSameAnswer, isSuccess, type Probe } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Answer } from '../wire.ts';
import { fault, held, notJudged, type Verdict } from '../judgement.ts';

export const otherQuery: Scenario = {
  name: 'other-query',
  title: 'the same key with another query does not get the first answer',
  level: 'MUST',
  source: 'draft-07 §2.4; F27, F92',
  run: (probe) => atPlace(probe, { query: { verify: 'other' } }, 'another query'),
};

export const otherPath: Scenario = {
  name: 'other-path',
  title: 'the same key on another path does not get the first answer',
  level: 'MUST',
  source: 'draft-07 §2.4; F10, F27, F92',
  async run(probe) {
    const { otherUrl } = probe.settings;
    if (otherUrl === undefined)
      return notJudged('not judged: give --other-url, where the same body is another operation');
    return atPlace(probe, { url: otherUrl }, 'another path');
  },
};

export const otherMethod: Scenario = {
  name: 'other-method',
  title: 'the same key with another method does not get the first answer',
  level: 'MUST',
  source: 'draft-07 §2.4; F27, F92',
  run: (probe) =>
    atPlace(probe, { method: probe.settings.method === 'PATCH' ? 'PUT' : 'PATCH' }, 'another method'),
};

function atPlace(probe: Probe, change: Change, what: string): Promise<Verdict> {
  return elsewhere(probe, {
    change,
    what,
    // With another body too, it would be refused for that, and the place would not be asked about.
    hasOwnBody: false,
    means:
      'A request that means something else is answered with a receipt for the first one, and is never done.',
    refused: ({ status }) => held(`answered ${status}`),
  });
}

/** A used key, sent from elsewhere: what differs, and what it means when it gets what is the first's. */
interface Elsewhere {
  readonly change: Change;
  /** For "… got a replay of the first answer". */
  readonly what: string;
  /** Whether the request from elsewhere is an intent of its own, with the body of one. */
  readonly hasOwnBody: boolean;
  readonly means: string;
  readonly refused: (answer: Answer) => Verdict;
}

/** Without a counter from outside, two answers may be alike by chance once: each place may number from 1. */
const TRIES = 2;

/** Uses a key here and then elsewhere, and judges by executions whose answer came. */
export async function elsewhere(probe: Probe, asked: Elsewhere): Promise<Verdict> {
  const { what, means } = asked;
  for (let left = TRIES - 1; ; left--) {
    const met = await meet(probe, asked);
    const { other } = met;
    if (isRefusal(other) && isCountedOutside(probe) && (met.count ?? 0) > 0)
      return fault(
        `${what} was refused with ${other.status}, and ran all the same`,
        'Who is told “no” is charged, and is charged again when they mend their request.',
      );
    if (isRefusal(other)) return asked.refused(other);
    if (!isSuccess(other)) return notJudged(`not judged: ${what} was answered ${other.status}`);
    if (probe.isMarked(other)) return fault(`${what} got a replay of the first answer`, means);
    const whose = ownerOf(probe, met);
    if (whose === 'own') return held('an execution of its own');
    if (whose === null)
      return notJudged(
        met.controlCount === null
          ? probe.needsCount
          : `not judged: what counts executions moved by ${met.controlCount} for a fresh key from there, and by ${met.count ?? 0} for the used one: count what is done there too`,
      );
    if (isCountedOutside(probe)) return fault(`${what} was answered ${other.status} and not executed`, means);
    if (left === 0) return fault(`${what} got the answer of the first`, means);
  }
}

interface Met {
  readonly first: Answer;
  /** What a fresh key is answered from there, and how often that was counted. */
  readonly control: Answer;
  readonly controlCount: number | null;
  readonly other: Answer;
  readonly count: number | null;
  /** Whether an answer that only repeats its request would be the same without a replay. */
  readonly mayEcho: boolean;
}

async function meet(probe: Probe, { change, hasOwnBody }: Elsewhere): Promise<Met> {
  const intent = probe.intent();
  const fresh = probe.intent();
  const { body } = hasOwnBody ? probe.intent() : intent;
  const first = await probe.first(intent);
  let control = first;
  let other = first;
  // It comes between the two: a clock in the answers that says the same to both says it to this one too.
  const controlCount = await probe.executions(async () => {
    control = await probe.patient(fresh, change);
  }, change.headers);
  const count = await probe.executions(async () => {
    other = await probe.patient(intent, { ...change, body });
  }, change.headers);
  const mayEcho = !hasOwnBody && !Buffer.from(fresh.body).equals(intent.body);
  return { first, control, controlCount, other, count, mayEcho };
}

/** Whose the answer from elsewhere is: `own`, if it was executed there, or the `first`'s; null: it cannot be told. */
function ownerOf(probe: Probe, met: Met): 'own' | 'first' | null {
  const { first, control, controlCount, other, count, mayEcho } = met;
  const counter = probe.settings.count;
  // Nothing is done there for a fresh key; what succeeds there for a used one comes from its record.
  const isNowhere = isRefusal(control) && ![409, 425, 429].includes(control.status);
  if (isCountedOutside(probe) && (controlCount === 1 || isNowhere)) {
    if (count === 1) return 'own';
    return count === 0 ? 'first' : null;
  }
  if (isNowhere) return 'first';
  if (typeof counter === 'object' && 'field' in counter) {
    const [one, two] = [first, other].map((answer) => fieldOf(answer, counter.field));
    if (one === undefined || two === undefined) return null;
    return one === two ? 'first' : 'own';
  }
  const isFirsts = first.body.length > 0 && isSameAnswer(first, other) && !isSameAnswer(first, control);
  return isFirsts && !mayEcho ? 'first' : null;
}
