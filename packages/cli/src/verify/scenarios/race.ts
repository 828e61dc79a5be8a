/** Requests that meet: one runs; the others wait for its answer or are told that it is running. */

import { type Intent, isSuccess, type Probe } from '../probe.ts';
import type { Scenario } from '../scenario.ts';
import type { Answer, Reply } from '../wire.ts';
import { retried } from './retried.ts';
import { fault, held, notJudged, type Verdict } from '../judgement.ts';

export const racePair: Scenario = {
  name: 'race-pair',
  title: 'of two requests at the same time one runs, and no two answers differ',
  level: 'MUST',
  source: 'draft-07 §2.6 (concurrent requests); F9, F11',
  run: (probe) => race(probe, 2),
};

export const raceMany: Scenario = {
  name: 'race-many',
  title: 'of twenty requests at the same time one runs, and no two answers differ',
  level: 'MUST',
  source: 'draft-07 §2.6 (concurrent requests); F11',
  run: (probe) => race(probe, probe.settings.raceSize),
};

export const raceStatus: Scenario = {
  name: 'race-status',
  title: 'a request that meets a running one is answered 409, or with the running one’s answer',
  level: 'SHOULD',
  source: 'draft-07 §2.7 (409); RFC 8470 §5.2 (425); docs.stripe.com/error-low-level (409)',
  async run(probe) {
    const answers = (await meeting(probe, probe.heldIntent(), 4)).filter(isAnswer);
    const wrong = answers.filter(
      (answer) => !isSuccess(answer) && !probe.expects.inProgressStatuses.includes(answer.status),
    );
    if (wrong.length > 0)
      return fault(
        `answered ${[...new Set(wrong.map(({ status }) => status))].join(', ')} while the first was running`,
        'A client cannot tell “it is running, ask later” from a failure, and gives up or starts over.',
      );
    if (!haveMet(probe, answers)) return notJudged(NEEDS_HOLD);
    return held(statusesOf(answers));
  },
};

export const raceOtherBody: Scenario = {
  name: 'race-other-body',
  title: 'another body that meets a running request neither runs nor gets its answer',
  level: 'MUST',
  source: 'draft-07 §2.4, §2.7; F12',
  async run(probe) {
    const intent = probe.heldIntent();
    const other: Intent = { ...intent, body: probe.otherBody(intent.body) };
    let replies: readonly Reply[] = [];
    const count = await probe.executions(async () => {
      replies = await probe.tellAll([[intent], [other]]);
    });
    const answers = replies.filter(isAnswer);
    if (answers.length < 2) return notJudged('not judged: not every request was answered');
    const successes = answers.filter((answer) => isSuccess(answer) && answer.status !== 202);
    if ((count ?? 0) > 1)
      return fault(
        `two different requests under one key at the same time, ${count} executions`,
        'Whatever is a little different on a retry that comes early is charged again.',
      );
    if (successes.length > 1)
      return fault(
        'two different requests under one key at the same time, and both were answered as done',
        'One of two orders is never placed, and its customer holds a receipt for the other; or both ran under one key.',
      );
    if (!haveMet(probe, answers)) return notJudged(NEEDS_HOLD);
    return held(statusesOf(answers));
  },
};

const NEEDS_HOLD =
  'not judged: the operation is too fast for requests to meet: give --hold-param, what makes it slow';

async function meeting(probe: Probe, intent: Intent, size: number): Promise<readonly Reply[]> {
  const replies = await probe.tellAll(Array.from({ length: size }, () => [intent] as const));
  probe.met.push(...replies.filter(isAnswer).filter((answer) => !isSuccess(answer)));
  return replies;
}

async function race(probe: Probe, size: number): Promise<Verdict> {
  const intent = probe.heldIntent();
  let replies: readonly Reply[] = [];
  const count = await probe.executions(async () => {
    replies = await meeting(probe, intent, size);
  });
  const answers = replies.filter(isAnswer);
  if (answers.length < size)
    return notJudged(`not judged: ${size - answers.length} of ${size} requests were not answered`);
  const done = answers.filter((answer) => isSuccess(answer) && answer.status !== 202);
  if ((count ?? 0) > 1)
    return fault(
      `${size} requests at once under one key, ${count} executions`,
      'A double click, or a retry that overtakes its slow first try, is charged each time.',
    );
  if (distinct(done).size > 1 && count === 1 && (await isUsual(probe)))
    return notJudged('not judged: one execution, but no retry has the bytes of the first (see same-answer)');
  if (distinct(done).size > 1)
    return fault(
      `${size} requests at once under one key were answered with different bytes`,
      'Either more than one ran and the customer is charged for each, or they hold two receipts for one order.',
    );
  if (done.length === 0) return notJudged(`not judged: none of them succeeded: ${statusesOf(answers)}`);
  if (count === null) return notJudged(probe.needsCount);
  if (count === 0)
    return fault(
      `${size} requests at once under one key, none executed`,
      'The operation was answered as done and did not take effect.',
    );
  if (!haveMet(probe, answers)) return notJudged(NEEDS_HOLD);
  return held(`${size} requests, one execution: ${statusesOf(answers)}`);
}

function distinct(answers: readonly Answer[]): ReadonlySet<string> {
  return new Set(answers.map(({ body }) => body.toString('latin1')));
}

/**
 * Whether plain retries do not get the bytes of the first either: then it is not the race that makes answers differ.
 */
async function isUsual(probe: Probe): Promise<boolean> {
  const { first, retries } = await probe.shared(retried);
  return retries.some((retry) => isAnswer(retry) && !retry.body.equals(first.body));
}

/** How slow the fastest of them has to be, so that the others certainly arrived before its end. */
const MEETING_MS = 40;

/** Whether they were under way together: one was told so, or all were sent well before the first answer came. */
function haveMet(probe: Probe, answers: readonly Answer[]): boolean {
  if (answers.some(({ status }) => probe.expects.inProgressStatuses.includes(status))) return true;
  const lastSent = Math.max(...answers.map(({ sentAt }) => sentAt));
  const done = answers.filter(isSuccess).map(({ answeredAt }) => answeredAt);
  return Math.min(...done) - lastSent >= MEETING_MS;
}

function statusesOf(answers: readonly Answer[]): string {
  const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
  return [...new Set(statuses)]
    .map((one) => `${statuses.filter((two) => two === one).length} × ${one}`)
    .join(', ');
}

function isAnswer(reply: Reply): reply is Answer {
  return 'status' in reply;
}
