/**
 * What waits: outcomes nobody knows, claims that nobody ended, work that nobody began, attempts that fail again and
 * again.
 */

import { shortDuration } from '../operate/duration.ts';
import { counted } from '../operate/print.ts';
import { type Check, type Finding, fine, type Patient } from './finding.ts';
import { PENDING_LONG_MS, TIRED_ATTEMPTS, type Open } from './open-records.ts';

/** A reconciler or an operator should have looked by then. */
const UNKNOWN_OLD_MS = 15 * 60_000;
/** More are a backlog, whatever their age. */
const UNKNOWN_MANY = 100;
/** States that this version knows; others are of newer code, or of a hand. */
const KNOWN: ReadonlySet<string> = new Set(['pending', 'in_progress', 'retryable', 'unknown']);

/** Adds up the groups of one state. */
function sum(patient: Patient, state: string, of: (group: Open) => number): number {
  return groupsOf(patient, state).reduce((total, group) => total + of(group), 0);
}

function groupsOf({ open }: Patient, state: string): readonly Open[] {
  return open.groups.filter((group) => group.state === state);
}

/** How long the first claim of a state has been over. */
function longestOf(patient: Patient, state: string): number {
  return Math.max(
    0,
    ...groupsOf(patient, state).map(({ firstLockedUntil }) => patient.now - firstLockedUntil),
  );
}

/** Outcomes nobody knows. */
export const unknown: Check = (patient) => {
  const count = sum(patient, 'unknown', (group) => group.count);
  if (count === 0) return [fine('unknown', 'No outcome is unknown.', { count })];
  // When it became unknown: its claim ended then.
  const oldestMs = longestOf(patient, 'unknown');
  const givenUp = sum(patient, 'unknown', (group) => group.givenUp);
  const isOld = oldestMs > UNKNOWN_OLD_MS || count > UNKNOWN_MANY || givenUp > 0;
  const forOperator =
    givenUp > 0 ? ` ${givenUp} of them were given up by the reconciler and wait for you.` : '';
  return [
    {
      check: 'unknown',
      level: isOld ? 'warning' : 'note',
      what: `${counted(count, 'outcome is', 'outcomes are')} unknown, the oldest for ${shortDuration(oldestMs)}: their clients are told 409.${forOperator}`,
      measured: { count, oldestMs, givenUp },
      remedy:
        'npx samekey inspect --state unknown, then settle each; run a reconciler so that they settle by themselves.',
    },
  ];
};

/** Claims that are over and not ended, or that no clock of today ends. */
export const claims: Check = (patient) => {
  const inProgress = sum(patient, 'in_progress', ({ count }) => count);
  const over = sum(patient, 'in_progress', (group) => group.over);
  const far = sum(patient, 'in_progress', (group) => group.far);
  const longestMs = longestOf(patient, 'in_progress');
  const measured = { inProgress, over, longestMs: over > 0 ? longestMs : 0, far };
  const findings: Finding[] = [];
  if (over > 0)
    findings.push({
      check: 'claims',
      level: 'warning',
      what: `${counted(over, 'claim is', 'claims are')} over, one for ${shortDuration(longestMs)}, and nobody has ended them: no sweeper is running.`,
      measured,
      remedy: 'Run npx samekey janitor, or a worker: both end claims. Once, now: npx samekey janitor --once.',
    });
  if (far > 0)
    findings.push({
      check: 'claims',
      level: 'warning',
      what: `${counted(far, 'claim ends', 'claims end')} more than a day from now: made by a clock that ran ahead; their keys are told "in progress" until then.`,
      measured,
      remedy:
        'Set the clocks (chrony, systemd-timesyncd), stop the owner if it runs, then look at each: npx samekey inspect --state in_progress.',
    });
  if (findings.length > 0) return findings;
  return [
    fine(
      'claims',
      `${counted(inProgress, 'attempt is', 'attempts are')} running; no claim is over and still open.`,
      measured,
    ),
  ];
};

/** Work that was accepted and not begun, or handed over to a message that is gone. */
export const pending: Check = async (patient) => {
  const { operator, open } = patient;
  const count = sum(patient, 'pending', (group) => group.count);
  if (count === 0) return [fine('pending', 'No accepted work waits.', { count: 0 })];
  const waiting = groupsOf(patient, 'pending')
    .filter(({ isBegun }) => !isBegun)
    .reduce((total, { old }) => total + old, 0);
  const lost: string[] = [];
  for (const record of open.handedOver) {
    const whole = await operator.find(record);
    if (whole?.record.state === 'pending' && whole.isHandedOver && whole.messages.length === 0)
      lost.push(record.operation);
  }
  const findings: Finding[] = [];
  if (waiting > 0) {
    findings.push({
      check: 'pending',
      level: 'warning',
      what: `${counted(waiting, 'accepted request has', 'accepted requests have')} not been begun for more than ${shortDuration(PENDING_LONG_MS)} (${open.waitingOperations.join(', ')}).`,
      measured: { count, waiting },
      remedy:
        'Run npx samekey worker --app with a module that defines these operations; past their deadline they fail with 408.',
    });
  }
  if (lost.length > 0) {
    findings.push({
      check: 'pending',
      level: 'failure',
      what: `${counted(lost.length, 'request was', 'requests were')} handed over to messages that are gone (${[...new Set(lost)].join(', ')}): they never end by themselves.`,
      measured: { count, lost: lost.length },
      remedy:
        'Somebody has deleted rows of samekey_messages: find out what happened to their work, and restore the rows from a backup.',
    });
  }
  if (findings.length > 0) return findings;
  return [
    fine('pending', `${counted(count, 'accepted request waits', 'accepted requests wait')}, none for long.`, {
      count,
    }),
  ];
};

/** Keys that fail again and again, steps that nobody goes on with, and states that nobody here knows. */
export const attempts: Check = (patient) => {
  const open = patient.open.groups;
  const total = (of: (group: Open) => number, groups: readonly Open[] = open): number =>
    groups.reduce((sumOf, group) => sumOf + of(group), 0);
  const tired = total(({ tired: n }) => n);
  const openIntents = total(
    ({ openIntents: n }) => n,
    open.filter(({ state }) => state === 'retryable'),
  );
  const strange = open.filter(({ state }) => !KNOWN.has(state));
  const measured = { tired, openIntents, strange: total(({ count }) => count, strange) };
  const findings: Finding[] = [];
  if (tired > 0)
    findings.push({
      check: 'attempts',
      level: 'warning',
      what: `${counted(tired, 'key has', 'keys have')} used ${TIRED_ATTEMPTS} attempts or more: the tenth is the last, then clients are told "attempts exhausted".`,
      measured,
      remedy: 'npx samekey inspect --state retryable shows the last error of each: mend the cause.',
    });
  if (openIntents > 0)
    findings.push({
      check: 'attempts',
      level: 'warning',
      what: `${counted(openIntents, 'operation has', 'operations have')} stopped at a call whose result is not known, for more than an hour, and nobody goes on with ${openIntents === 1 ? 'it' : 'them'}: no completer is running.`,
      measured,
      remedy: 'Run npx samekey worker --app with a module that defines these operations: it pushes them on.',
    });
  if (strange.length > 0)
    findings.push({
      check: 'attempts',
      level: 'warning',
      what: `${total(({ count }) => count, strange)} records are in states that this version does not know: newer code wrote them, or a hand did.`,
      measured,
      remedy:
        'Use the command of the newest version that runs; if nobody runs a newer one, restore these rows from a backup.',
    });
  if (findings.length > 0) return findings;
  return [
    fine('attempts', 'No key is near its last attempt, and no operation has stopped at a call.', measured),
  ];
};
