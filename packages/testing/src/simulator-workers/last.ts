/** The end of a history of background work: nothing is open, nothing is lost, nothing was done twice, and everything is noted. */

import type { AuditRow } from 'samekey/internals/store/audit';
import { idText } from 'samekey/internals/core/record';
import type { DeliveryFacts, Fault, WorkersFacts } from './facts.ts';

/** Lists what must not be. `committed`: how many messages each committed body has enqueued. */
export function faultsOfEnd(
  facts: WorkersFacts,
  audit: readonly AuditRow[],
  committed: ReadonlyMap<number, number>,
): readonly Fault[] {
  return [
    ...stuck(facts),
    ...lost(facts, committed),
    ...twice(facts, committed),
    ...untold(facts),
    ...unnoted(facts, audit),
  ];
}

function* stuck({ messages, records }: WorkersFacts): Iterable<Fault> {
  for (const record of records.values()) {
    if (record.state !== 'completed' && record.state !== 'failed')
      yield { about: record, what: `its record is left ${record.state}` };
  }
  for (const { id, owner, state, topic } of messages.values()) {
    const record = owner === null ? undefined : records.get(idText(owner));
    // Decided otherwise, or run again: it is nobody's any more.
    const isOver = record !== undefined && (record.state === 'completed' || record.state === 'failed');
    if (state !== 'dead' || !isOver)
      yield { about: owner, what: `message ${id} (${topic}) is left ${state}` };
  }
}

function* lost(facts: WorkersFacts, committed: ReadonlyMap<number, number>): Iterable<Fault> {
  const counts = new Map<number, number>();
  for (const { payload } of facts.seen.values()) {
    const { body } = JSON.parse(payload) as { readonly body: number };
    counts.set(body, (counts.get(body) ?? 0) + 1);
  }
  for (const [body, count] of counts) {
    if (!committed.has(body))
      yield { about: null, what: `body ${body} was rolled back, and left ${count} messages` };
  }
  for (const [body, most] of committed) {
    const count = counts.get(body) ?? 0;
    if (count !== most)
      yield { about: null, what: `body ${body} enqueued ${most} messages, and ${count} came` };
  }
}

function* twice(facts: WorkersFacts, committed: ReadonlyMap<number, number>): Iterable<Fault> {
  for (const [what, charges] of facts.charges)
    if (charges.size > 1) yield { about: null, what: `${what} was charged ${charges.size} times` };
  const runs = new Map<string, number>();
  for (const { n, key } of facts.bodies) if (committed.has(n)) runs.set(key, (runs.get(key) ?? 0) + 1);
  for (const [key, count] of runs) {
    const record = [...facts.records.values()].find((one) => one.key === key);
    const most = 1 + (record === undefined ? 0 : (facts.letRun.get(idText(record)) ?? 0));
    if (count > most) yield { about: record ?? null, what: `its transaction was committed ${count} times` };
  }
  for (const [id, answers] of facts.answers) {
    if (new Set(answers).size > 1 && !facts.letRun.has(id))
      yield {
        about: facts.records.get(id) ?? null,
        what: `its client got different answers: ${answers.join(' | ')}`,
      };
  }
}

/** Of a delivery that was told that nothing can have run before it. */
function* untold({ deliveries }: WorkersFacts): Iterable<Fault> {
  for (const [i, { id, number, owner, toldRunBefore }] of deliveries.entries()) {
    if (toldRunBefore) continue;
    const earlier = deliveries.slice(0, i).find((one) => one.id === id && one.effects > 0);
    if (earlier !== undefined)
      yield {
        about: owner,
        what: `delivery ${number} of ${id} was told that none had run before it, and one was charged`,
      };
  }
}

function* unnoted(facts: WorkersFacts, audit: readonly AuditRow[]): Iterable<Fault> {
  const left = [...audit];
  for (const { act, actor, key } of facts.acts) {
    const at = left.findIndex((row) => row.act === act && row.actor === actor && row.key === key);
    if (at < 0) yield { about: null, what: `"${act}" of ${key} by ${actor} has no row in the audit` };
    else left.splice(at, 1);
  }
  const byHand = left.find(
    ({ act, actor }) => actor?.startsWith('operator') === true && act !== 'contradiction',
  );
  if (byHand !== undefined)
    yield {
      about: null,
      what: `the audit has "${byHand.act}" of ${byHand.key} by ${byHand.actor}, who did no such thing`,
    };
  for (const { machine, key } of facts.contradictions) {
    const isNoted = audit.some((row) => row.act === 'contradiction' && row.key === key);
    if (!isNoted && !facts.gone.has(machine))
      yield { about: null, what: `${machine} told a contradiction of ${key}, and the audit has none` };
  }
  for (const delivery of facts.deliveries) {
    const what = faultOfLateEnd(facts, audit, delivery);
    if (what !== null) yield { about: delivery.owner, what };
  }
}

/** Work that was done and is not what its record says must be noted: nobody else knows of it. */
function faultOfLateEnd(
  facts: WorkersFacts,
  audit: readonly AuditRow[],
  { id, number, owner, ended, machine }: DeliveryFacts,
): string | null {
  if (owner === null || ended !== 'success' || facts.gone.has(machine)) return null;
  // All deliveries of a message carry one key: what one has done, all have.
  const isWritten = facts.deliveries.some(
    (one) => one.id === id && facts.written.has(`done ${id} ${one.number}`),
  );
  const record = facts.records.get(idText(owner));
  if (isWritten || (record?.attempt === owner.attempt && record.state === 'completed')) return null;
  // A webhook may say the same, and need not.
  const isNoted = audit.some(({ act, reason }) => act === 'contradiction' && reason === `message ${id}`);
  return isNoted
    ? null
    : `delivery ${number} of ${id} did its work, its record is ${record?.state ?? 'gone'}, and nothing is noted`;
}
