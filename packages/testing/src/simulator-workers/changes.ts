/** What each verb may do to messages and records, from the text of the contract: who moves a leased message holds its lease, or the lease is over. */

import type { Lease, RetryRequest, StoredMessage } from 'samekey/internals/store/message';
import { idText, type SamekeyRecord } from 'samekey/internals/core/record';
import { deliveryOf, type Fault, leaseName, type WorkersFacts } from './facts.ts';
import { DELIVERIES_MAX } from './scenario.ts';
import type { Change } from './watched-messages.ts';

/** Notes a change, and lists what of it must not be. */
export function faultsOfChange(facts: WorkersFacts, change: Change): readonly Fault[] {
  const faults: Fault[] = [];
  const { before, after } = change;
  for (const [id, message] of after.messages) {
    const was = before.messages.get(id);
    if (was === message) continue;
    const what =
      was === undefined ? faultOfNew(facts, change, message) : faultOfMove(facts, change, was, message);
    if (what !== null) faults.push({ about: message.owner, what: `message ${id} ${what}` });
  }
  for (const [id, was] of before.messages) {
    if (after.messages.has(id)) continue;
    const what = faultOfGoing(facts, change, was);
    if (what !== null) faults.push({ about: was.owner, what: `message ${id} ${what}` });
  }
  for (const [id, record] of after.records) {
    const was = before.records.get(id);
    if (was === record) continue;
    facts.states.add(`${id} ${record.attempt} ${record.state}`);
    const what = was === undefined ? null : faultOfRecord(facts, change.verb, was, record);
    if (what !== null) faults.push({ about: record, what });
  }
  for (const [id, record] of before.records)
    if (!after.records.has(id)) faults.push({ about: record, what: `a record is gone by ${change.verb}` });
  return faults;
}

function faultOfNew(facts: WorkersFacts, { verb }: Change, message: StoredMessage): string | null {
  const isAgain = facts.seen.has(message.id);
  facts.seen.set(message.id, message);
  if (isAgain) return `is there again by ${verb}`;
  return verb === 'commit' || verb === 'enqueue' ? null : `came by ${verb}`;
}

/** The request of a verb that names this delivery; null: none does. */
function leaseIn(
  { requests }: Change,
  was: StoredMessage,
): (Lease & Partial<Pick<RetryRequest, 'begun' | 'proven'>>) | null {
  const found = (requests as readonly RetryRequest[]).find(
    ({ id, leaseId, started }) => id === was.id && leaseId === was.leaseId && started === was.started,
  );
  return was.state === 'leased' ? (found ?? null) : null;
}

function faultOfGoing(facts: WorkersFacts, change: Change, was: StoredMessage): string | null {
  const { verb } = change;
  if (verb === 'drop') return was.state === 'dead' ? null : `was dropped while ${was.state}`;
  if (verb !== 'done') return `is gone by ${verb}`;
  if (leaseIn(change, was) === null) return 'was ended by somebody who does not hold its lease';
  facts.written.add(`done ${was.id} ${was.started}`);
  const ended = deliveryOf(facts, was)?.ended ?? null;
  return ended === 'success' || ended === 'refused'
    ? null
    : `was ended as done, and its handler ${ended ?? 'has not ended'}`;
}

function faultOfMove(
  facts: WorkersFacts,
  change: Change,
  was: StoredMessage,
  is: StoredMessage,
): string | null {
  const { verb, now } = change;
  // What goes lets the next of its group come.
  const isNext = was.state === 'ready' && was.parked && is.state === 'ready' && !is.parked;
  if (isNext && ['done', 'dead', 'requeue'].includes(verb)) return null;
  switch (verb) {
    case 'take':
      if (was.state === 'leased') facts.suspects.add(`${is.id} ${is.started}`);
      return faultOfTake(was, is, now);
    case 'extend':
    case 'note':
      return leaseIn(change, was) === null || is.state !== 'leased'
        ? `moved by ${verb} without its lease`
        : null;
    case 'retry': {
      const request = leaseIn(change, was);
      if (request === null) return 'was given back by somebody who does not hold its lease';
      const delivery = deliveryOf(facts, was);
      facts.written.add(`retry ${was.id} ${was.started}`);
      if (request.begun !== true) return null;
      if (delivery === undefined) return 'is counted as delivered, and no handler has begun it';
      if (request.proven !== true) return null;
      return delivery.ended === 'declined'
        ? null
        : 'is noted as without effect, and its handler did not say so';
    }
    case 'dead': {
      const request = leaseIn(change, was);
      if (request === null) return 'was given up by somebody who does not hold its lease';
      facts.written.add(`dead ${was.id} ${was.started}`);
      const delivery = deliveryOf(facts, was);
      const isExhausted = was.started - was.forgiven >= DELIVERIES_MAX;
      const isSaid = delivery?.gaveUp === true || delivery?.ended === 'unknown';
      return isExhausted || isSaid ? null : `was given up after ${was.started - was.forgiven} deliveries`;
    }
    case 'requeue':
      return faultOfRequeue(change, was, is);
    default:
      return `moved by ${verb}`;
  }
}

function faultOfTake(was: StoredMessage, is: StoredMessage, now: number): string | null {
  if (was.state === 'dead') return 'is dead, and was taken';
  if (is.state === 'ready') return is.parked ? null : 'was changed by a take';
  if (was.state === 'ready' && was.dueAt > now) return 'was taken before it is due';
  if (was.state === 'leased' && was.dueAt > now)
    return `was taken from ${leaseName(was) ?? ''} under its lease`;
  const isCounted = is.started === was.started + 1;
  return isCounted || was.started - was.forgiven >= DELIVERIES_MAX ? null : 'was taken and not counted';
}

function faultOfRequeue({ before }: Change, was: StoredMessage, is: StoredMessage): string | null {
  if (was.state !== 'dead' || is.state !== 'ready') return `was requeued while ${was.state}`;
  if (was.owner === null) return null;
  const record = before.records.get(idText(was.owner));
  const isOpen = record?.state === 'unknown' || record?.state === 'pending' || record?.state === 'retryable';
  if (!isOpen || record.attempt !== was.owner.attempt)
    return `is delivered again beside its request, which is ${record?.state ?? 'gone'}`;
  return null;
}

function faultOfRecord(
  facts: WorkersFacts,
  verb: string,
  was: SamekeyRecord,
  is: SamekeyRecord,
): string | null {
  const isLetRun = is.state === 'retryable' && (verb === 'settle' || verb === 'reopen');
  const id = idText(is);
  if (isLetRun) facts.letRun.set(id, (facts.letRun.get(id) ?? 0) + 1);
  if (was.state === 'completed') return `an answer was written over by ${verb}`;
  if (was.state === 'failed' && verb !== 'reopen') return `a refusal was written over by ${verb}`;
  return null;
}
