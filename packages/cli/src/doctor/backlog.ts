/** What waits: outcomes nobody knows, claims that nobody ended, work that nobody began, messages given up. */

import type { Store } from 'samekey';
import { shortDuration } from '../operate/duration.ts';
import { counted } from '../operate/print.ts';
import type { MessagesOf } from '../operate/target.ts';
import type { Check, Finding, Patient } from './finding.ts';

/** Records of one state that are looked at; more are counted only. */
const LOOKED_AT_MAX = 500;
/** A reconciler or an operator should have looked by then. */
const UNKNOWN_OLD_MS = 15 * 60_000;
/** Then it is given up for lost: `unknownMax`. */
const UNKNOWN_VERY_OLD_MS = 24 * 3_600_000;
/** More are a backlog, whatever their age. */
const UNKNOWN_MANY = 100;
/** The sweeper comes every ten seconds. */
const CLAIM_OVER_LONG_MS = 60_000;
/** Workers look every second. */
const PENDING_LONG_MS = 5 * 60_000;
/** Records handed over whose message is looked for. */
const HANDED_OVER_MAX = 20;
/** A message that is due is taken within seconds where somebody listens to its topic. */
const DUE_LONG_MS = 5 * 60_000;

/** Outcomes nobody knows. */
export const unknown: Check = async ({ operator, counts, now }) => {
  const count = counts.unknown;
  if (count === 0) return [fine('unknown', 'No outcome is unknown.', { count })];
  const records = await operator.list({ states: ['unknown'], limit: LOOKED_AT_MAX });
  // When it became unknown: its claim ended then.
  const oldestMs = Math.max(0, ...records.map(({ lockedUntil }) => now - lockedUntil));
  const givenUp = records.filter(({ reconcileAfter }) => (reconcileAfter ?? 0) > now + FAR_MS).length;
  const isOld = oldestMs > UNKNOWN_OLD_MS || count > UNKNOWN_MANY || givenUp > 0;
  const more = count > records.length ? ` among the newest ${records.length}` : '';
  const forOperator =
    givenUp > 0 ? ` ${givenUp} of them were given up by the reconciler and wait for you.` : '';
  return [
    {
      check: 'unknown',
      level: oldestMs > UNKNOWN_VERY_OLD_MS || isOld ? 'warning' : 'note',
      what: `${counted(count, 'outcome is', 'outcomes are')} unknown, the oldest${more} for ${shortDuration(oldestMs)}: their clients are told 409.${forOperator}`,
      measured: { count, oldestMs, givenUp },
      remedy:
        'npx samekey inspect --state unknown, then settle each; run a reconciler so that they settle by themselves.',
    },
  ];
};

/** Claims that are over and not ended. */
export const claims: Check = async ({ operator, counts, now }) => {
  const records =
    counts.in_progress === 0 ? [] : await operator.list({ states: ['in_progress'], limit: LOOKED_AT_MAX });
  const over = records.filter(({ lockedUntil }) => lockedUntil < now - CLAIM_OVER_LONG_MS);
  const longestMs = Math.max(0, ...over.map(({ lockedUntil }) => now - lockedUntil));
  const measured = { inProgress: counts.in_progress, over: over.length, longestMs };
  if (over.length === 0)
    return [
      fine(
        'claims',
        `${counted(counts.in_progress, 'attempt is', 'attempts are')} running; no claim is over and still open.`,
        measured,
      ),
    ];
  return [
    {
      check: 'claims',
      level: 'warning',
      what: `${counted(over.length, 'claim is', 'claims are')} over, one for ${shortDuration(longestMs)}, and nobody has ended them: no sweeper is running.`,
      measured,
      remedy: 'Run npx samekey janitor, or a worker: both end claims. Once, now: npx samekey janitor --once.',
    },
  ];
};

/** Work that was accepted and not begun, or handed over to a message that is gone. */
export const pending: Check = async (patient) => {
  const { operator, counts, now } = patient;
  if (counts.pending === 0) return [fine('pending', 'No accepted work waits.', { count: 0 })];
  const records = await operator.list({ states: ['pending'], limit: LOOKED_AT_MAX });
  const waiting = records.filter(
    ({ attempt, createdAt }) => attempt === 0 && createdAt < now - PENDING_LONG_MS,
  );
  const handed = records.filter(({ attempt, createdAt }) => attempt > 0 && createdAt < now - PENDING_LONG_MS);
  const lost: string[] = [];
  for (const record of handed.slice(0, HANDED_OVER_MAX)) {
    const whole = await operator.find(record);
    if (whole?.record.state === 'pending' && whole.isHandedOver && whole.messages.length === 0)
      lost.push(record.operation);
  }
  const findings: Finding[] = [];
  if (waiting.length > 0) {
    const operations = [...new Set(waiting.map(({ operation }) => operation))].slice(0, 5).join(', ');
    findings.push({
      check: 'pending',
      level: 'warning',
      what: `${waiting.length} accepted requests have not been begun for more than ${shortDuration(PENDING_LONG_MS)} (${operations}).`,
      measured: { count: counts.pending, waiting: waiting.length },
      remedy:
        'Run npx samekey worker --app with a module that defines these operations; past their deadline they fail with 408.',
    });
  }
  if (lost.length > 0) {
    findings.push({
      check: 'pending',
      level: 'failure',
      what: `${lost.length} requests were handed over to messages that are gone (${[...new Set(lost)].join(', ')}): they never end by themselves.`,
      measured: { count: counts.pending, lost: lost.length },
      remedy:
        'Somebody has deleted rows of samekey_messages: find out what happened to their work, and restore the rows from a backup.',
    });
  }
  if (findings.length > 0) return findings;
  return [
    fine('pending', `${counts.pending} accepted requests wait, none for long.`, { count: counts.pending }),
  ];
};

/** Messages given up, and messages that nobody takes. */
export const messages: Check = async ({ store, now }: Patient) => {
  const queue = (store as Store & MessagesOf).messages;
  if (queue === undefined) return [];
  const counts = await queue.count();
  const dead = counts.filter(({ state }) => state === 'dead');
  const deadCount = dead.reduce((sum, { count }) => sum + count, 0);
  const findings: Finding[] = [];
  if (deadCount > 0) {
    findings.push({
      check: 'messages',
      level: 'warning',
      what: `${deadCount} messages were given up (${dead.map(({ topic, count }) => `${topic}: ${count}`).join(', ')}).`,
      measured: { dead: deadCount },
      remedy: 'npx samekey requeue lists them with their last errors; mend the cause, then requeue them.',
    });
  }
  for (const { topic, count } of counts.filter(({ state }) => state === 'ready')) {
    const [first] = await queue.list({ states: ['ready'], topic, limit: 1 });
    const lateMs = first === undefined || first.parked ? 0 : now - first.dueAt;
    if (lateMs > DUE_LONG_MS) {
      findings.push({
        check: 'messages',
        level: 'warning',
        what: `${count} messages of the topic "${topic}" wait, the first for ${shortDuration(lateMs)}: nobody takes them, or not fast enough.`,
        measured: { topic, ready: count, lateMs },
        remedy: `Run a worker with a handler of "${topic}": npx samekey worker --app.`,
      });
    }
  }
  if (findings.length > 0) return findings;
  return [fine('messages', 'No message was given up, and none waits for long.', { dead: 0 })];
};

/** Reconcilers put off what they have given up to the end of time. */
const FAR_MS = 365 * 86_400_000;

function fine(check: string, what: string, measured: Finding['measured']): Finding {
  return { check, level: 'ok', what, measured, remedy: null };
}
