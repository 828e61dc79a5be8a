/** Runs every check. One that fails is a finding of its own, and the others go on. */

import { FORMAT_VERSION, isPointer } from 'samekey/operator';
import type { SamekeyRecord } from 'samekey';
import { isErased, isForgotten } from 'samekey/store-kit';
import { explain } from '../cli-error.ts';
import type { Target } from '../operate/target.ts';
import { attempts, claims, pending, unknown } from './backlog.ts';
import { bridges } from './bridges.ts';
import { clock, schema, server, versions } from './database.ts';
import { claimTtl, retention } from './durations.ts';
import type { Check, Finding, Level, Patient, Sample } from './finding.ts';
import { keys } from './sent-keys.ts';
import { messages } from './stuck-messages.ts';
import { openRecords } from './open-records.ts';
import { seals } from './seals.ts';
import { sessions } from './sessions.ts';
import { tables } from './tables.ts';
import type { Outline, Windows } from './outline.ts';

/** In the order in which they are told. */
const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ['database', server],
  ['sessions', sessions],
  ['tables', tables],
  ['clock', clock],
  ['versions', versions],
  ['unknown', unknown],
  ['claims', claims],
  ['pending', pending],
  ['attempts', attempts],
  ['messages', messages],
  ['seals', seals],
  ['claim-ttl', claimTtl],
  ['retention', retention],
  ['keys', keys],
  ['bridges', bridges],
];

/** Newest records that are looked at, and how many come in one page: their answers are in memory for a moment. */
const RECENT_MAX = 2_000;
const PAGE = 100;

const WEIGHT: Readonly<Record<Level, number>> = { failure: 0, warning: 1, note: 2, ok: 3 };

/** Looks at everything; the worst first. Where the tables do not fit, nothing else is asked. */
export async function examine(target: Target, windows: Windows): Promise<readonly Finding[]> {
  const { store, operator, database } = target;
  const outline: Outline = { operator, store, database, windows, known: FORMAT_VERSION };
  const nothing = { groups: [], waitingOperations: [], handedOver: [], isPart: false };
  const first = await run('schema', schema, { ...outline, now: 0, skewMs: null, recent: [], open: nothing });
  if (first.some(({ level }) => level === 'failure')) return first;
  const clocks = await times(target);
  const patient: Patient = {
    ...outline,
    ...clocks,
    open: await openRecords(outline, clocks.now),
    recent: await recentOf(target),
  };
  const findings = [...first];
  for (const [name, check] of CHECKS) findings.push(...(await run(name, check, patient)));
  return findings.toSorted((a, b) => WEIGHT[a.level] - WEIGHT[b.level]);
}

async function run(name: string, check: Check, patient: Patient): Promise<readonly Finding[]> {
  try {
    return await check(patient);
  } catch (error) {
    const what = `It could not be looked at: ${explain(error)}`;
    return [
      {
        check: name,
        level: 'failure',
        what,
        measured: {},
        remedy: 'Mend what the message says, and look again.',
      },
    ];
  }
}

/** The clocks, read so that the way there and back cancels out. */
async function times(target: Target): Promise<Pick<Patient, 'now' | 'skewMs'>> {
  // The first question opens the connection.
  await target.now();
  const before = Date.now();
  const now = await target.now();
  const here = (before + Date.now()) / 2;
  const kind = target.database?.address.kind;
  return { now, skewMs: kind === 'postgres' || kind === 'mysql' ? Math.round(now - here) : null };
}

async function recentOf({ operator }: Target): Promise<readonly Sample[]> {
  const recent: Sample[] = [];
  let createdBefore: number | undefined;
  while (recent.length < RECENT_MAX) {
    const page = await operator.list({
      limit: PAGE,
      ...(createdBefore === undefined ? {} : { createdBefore }),
    });
    // A pointer is no request's record, and lives longer than any.
    recent.push(...page.filter((record) => !isPointer(record)).map(sampleOf));
    if (page.length < PAGE) break;
    createdBefore = page.at(-1)?.createdAt;
  }
  return recent;
}

/** What is looked at of a record: never its answer, and of its input only whether there is one. */
function sampleOf(record: SamekeyRecord): Sample {
  return {
    scope: record.scope,
    key: record.key,
    operation: record.operation,
    state: record.state,
    attempt: record.attempt,
    claimTtlMs: record.claimTtlMs,
    createdAt: record.createdAt,
    finishedAt: record.finishedAt,
    expiresAt: record.expiresAt,
    formatVersion: record.formatVersion,
    sealKeyId: record.sealKeyId,
    isLiving: !isErased(record) && !isForgotten(record),
    mayHaveWaited: record.input !== null,
    hasContent: record.input !== null || (record.response?.body?.length ?? 0) > 0,
  };
}
