/**
 * One record as a line of time: what it says itself, its messages and its audit. Only what was recorded: changes
 * between are there where the store keeps them (`auditTransitions`).
 */

import type { SamekeyRecord } from 'samekey';
import type { AuditRow, StepView, StoredMessage, WholeRecord } from 'samekey/operator';
import { isFinal } from 'samekey/internals/core/record';
import { NEVER } from 'samekey/internals/store/machine/index';
import type { Moment } from './api.ts';

/** A line without what most lines are without. */
type Told = Omit<Moment, 'id' | 'isBad'> & Partial<Pick<Moment, 'id' | 'isBad'>>;

/** What happened, the oldest first; what has no time of its own stands where it must have been. */
export function momentsOf({ record, steps, messages, audit }: WholeRecord, now: number): readonly Moment[] {
  const first: Told = {
    at: record.createdAt,
    kind: 'request',
    title: 'First request with this key',
    detail: record.operation,
  };
  const timed = [
    ...claimMoments(record, now),
    ...messages.flatMap(messageMoments),
    ...audit.map(auditMoment),
    ...laterMoments(record, now),
  ].toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
  return [first, ...(steps ?? []).map((step) => stepMoment(step, record)), ...timed].map(whole);
}

function whole({ at, kind, title, detail, id = null, isBad = kind === 'open' }: Told): Moment {
  return { at, kind, title, detail, id, isBad };
}

function stepMoment(step: StepView, record: SamekeyRecord): Told {
  if (step.kind === 'phase')
    return { at: null, kind: 'step', title: `Phase “${step.name}” committed`, detail: null };
  if (step.isDone) return { at: null, kind: 'step', title: `Effect “${step.name}” done`, detail: null };
  const { call } = step;
  return {
    at: record.intentAt,
    kind: 'open',
    title: `Effect “${step.name}” is open: the call was intended, nobody has said how it ended`,
    detail:
      call === null
        ? null
        : `attempt ${call.attempt}, rule ${call.rule}, at most ${call.timeMaxMs / 1_000} s`,
    id: call?.providerId ?? null,
  };
}

function claimMoments(record: SamekeyRecord, now: number): readonly Told[] {
  const { state, attempt, lockedUntil, finishedAt, reason, response } = record;
  if (isFinal(record)) {
    const status = response === null ? 'no answer is stored' : `status ${response.status}`;
    const renewed = record.renewals === 0 ? '' : `; its claim was renewed ${record.renewals} times`;
    return finishedAt === null
      ? []
      : [
          {
            at: finishedAt,
            kind: 'answer',
            title: `Attempt ${attempt} ended: ${state}`,
            detail: status + renewed,
            isBad: state === 'failed',
          },
        ];
  }
  if (state === 'unknown')
    return [
      {
        at: lockedUntil,
        kind: 'open',
        title: `Attempt ${attempt} ended, and nobody knows how`,
        detail: reason,
      },
    ];
  if (state === 'in_progress') {
    const title =
      lockedUntil <= now ? 'Its claim ended without a word' : 'Its claim ends unless it is renewed';
    return [
      { at: lockedUntil, kind: lockedUntil <= now ? 'open' : 'later', title, detail: `attempt ${attempt}` },
    ];
  }
  if (state === 'retryable')
    return [{ at: lockedUntil, kind: 'claim', title: 'From here on the next request runs', detail: reason }];
  return [
    { at: lockedUntil, kind: 'later', title: 'Its deadline', detail: 'accepted; its work is with a worker' },
  ];
}

function messageMoments(message: StoredMessage): readonly Told[] {
  const { topic, id, createdAt, dueAt, state, started, finished, proven, lastError } = message;
  const handed: Told = {
    at: createdAt,
    kind: 'message',
    title: `Message handed over: ${topic}`,
    detail: null,
    id,
    isBad: lastError !== null,
  };
  const deliveries = `${started} deliveries begun, ${finished} ended, ${proven} proven without effect`;
  const error = lastError === null ? '' : `; last error: ${lastError}`;
  if (state !== 'dead') return [{ ...handed, detail: `${state}, ${deliveries}${error}` }];
  return [
    handed,
    { at: dueAt, kind: 'open', title: `Message given up: ${topic}`, detail: deliveries + error, id },
  ];
}

function auditMoment({ seq, at, act, from, to, reason, actor }: AuditRow): Told {
  const change = from === null && to === null ? '' : ` ${from ?? '–'} → ${to ?? '–'}`;
  return {
    at,
    kind: 'audit',
    title: `${act}${change} by ${actor ?? 'nobody named'}`,
    detail: reason,
    id: `audit ${seq}`,
    isBad: to === 'failed' || to === 'unknown' || act === 'contradiction',
  };
}

function laterMoments(record: SamekeyRecord, now: number): readonly Told[] {
  const { state, reconcileAfter, expiresAt } = record;
  if (state === 'unknown' && reconcileAfter !== null && reconcileAfter < NEVER)
    return [{ at: reconcileAfter, kind: 'later', title: 'A reconciler may ask the provider', detail: null }];
  if (!isFinal(record) || expiresAt >= NEVER) return [];
  const title =
    expiresAt <= now ? 'Its retention was over' : 'Its retention ends, and the key may be used anew';
  return [{ at: expiresAt, kind: 'later', title, detail: null }];
}
