/**
 * The auditor of background work: watches messages and records at the store, handlers and charges outside, what workers tell and what people do,
 * and lists what must not happen. It shares no code with the workers and the state table of messages.
 *
 * Invariants it holds a history to
 * - A handler begins a message only under its worker's lease: not after the message was done, not while another has it, not before an earlier
 *   one of its group has gone, not of a transaction that was rolled back, not beside what was decided of its request since, not once more than it may,
 *   and no two on one machine that may have killed another.
 * - Every message of a committed transaction ends by a handler's success or by a person, or stands as a dead letter that its request explains.
 *   It is given up only after all its deliveries, or at its handler's word.
 * - A delivery that may find an earlier one's effect is told so; what was written as without effect had none.
 * - Of each charge under a downstream key there is one. A key's transaction commits once for each time somebody let it run.
 * - Equal retries, equal answers; what was told as stored is stored; what a worker tells, it has written.
 * - An end that does not fit the record is noted in the audit, and so is every act of a person.
 */

import type { AuditRow } from 'samekey/internals/store/audit';
import type { StoredMessage } from 'samekey/internals/store/message';
import { idText, type RecordId } from 'samekey/internals/core/record';
import type { Delivery, ReceivedMessage, WorkerEvent } from 'samekey/internals/worker/index';
import type { Violation } from '../auditor.ts';
import { faultsOfChange } from './changes.ts';
import { type BodyFacts, type DeliveryFacts, deliveryOf, leaseName, type WorkersFacts } from './facts.ts';
import { faultsOfEnd } from './last.ts';
import { DELIVERIES_MAX } from './scenario.ts';
import type { Change } from './watched-messages.ts';

/** What tells of an end, and the verb that writes it. */
const ENDS: Readonly<Partial<Record<WorkerEvent['type'], string>>> = {
  delivered: 'done',
  'dead-letter': 'dead',
  'delivery-failed': 'retry',
};

/** Whose entries go in order: from the payload, because the store may have forgotten its group. */
function accountOf({ topic, payload }: StoredMessage): string | null {
  return topic === 'entry' ? (JSON.parse(payload) as { readonly account: string }).account : null;
}

/** What it is made of. */
export interface WorkersAuditorOptions {
  /** Virtual time. */
  readonly now: () => number;
  readonly storeNow: () => number;
  /** Whether the rows of a body are committed. */
  readonly isCommitted: (body: number) => boolean;
}

/** Watches one history. */
export interface WorkersAuditor {
  readonly violations: readonly Violation[];
  readonly facts: WorkersFacts;
  changed(change: Change): void;
  /** A transaction's body begins; gives its number. */
  begins(key: string): BodyFacts;
  /** A handler begins a delivery on a machine. */
  starts(machine: string, message: ReceivedMessage, delivery: Delivery): DeliveryFacts;
  /** A client was told of a body that ran; `answer`: null, if others may be told something else later. */
  answered(id: RecordId, answer: string | null, body: number | null): void;
  event(machine: string, event: WorkerEvent): void;
  report(id: RecordId | null, seen: Violation['seen'], what: string): void;
  /** Judges the end, once everything has come to it. */
  conclude(audit: readonly AuditRow[], committed: ReadonlyMap<number, number>): void;
}

/** Makes it. */
export function createWorkersAuditor(options: WorkersAuditorOptions): WorkersAuditor {
  const violations: Violation[] = [];
  const facts: WorkersFacts = {
    messages: new Map(),
    records: new Map(),
    seen: new Map(),
    deliveries: [],
    bodies: [],
    written: new Set(),
    suspects: new Set(),
    states: new Set(),
    gone: new Set(),
    acts: [],
    contradictions: [],
    letRun: new Map(),
    charges: new Map(),
    answers: new Map(),
  };

  function report(id: RecordId | null, seen: Violation['seen'], what: string): void {
    violations.push({ at: options.now(), id, seen, what });
  }

  function faultOfStart(
    machine: string,
    row: StoredMessage | undefined,
    id: string,
    n: number,
  ): string | null {
    if (row === undefined) return facts.seen.has(id) ? 'which was done before' : 'which was never committed';
    if (row.state !== 'leased' || row.started !== n || leaseName(row) !== machine)
      return `which is ${row.state} by now, with ${leaseName(row) ?? 'nobody'}`;
    if (options.storeNow() > row.dueAt) return 'under a lease that is over';
    if (row.started - row.forgiven > DELIVERIES_MAX) return `which has had its ${DELIVERIES_MAX} deliveries`;
    const others = facts.suspects.has(`${id} ${n}`)
      ? facts.deliveries.filter((one) => facts.suspects.has(`${one.id} ${one.number}`) && runs(one, machine))
      : [];
    if (others[0] !== undefined) return `beside ${others[0].id}, and both may kill their worker`;
    const account = accountOf(row);
    for (const other of facts.messages.values()) {
      const isBefore = account !== null && accountOf(other) === account && other.place < row.place;
      if (isBefore && other.state !== 'dead') return `before ${other.id} of its group`;
    }
    const record = row.owner === null ? undefined : facts.records.get(idText(row.owner));
    if (row.owner !== null && (record?.state !== 'pending' || record.attempt !== row.owner.attempt))
      return `although its request is ${record?.state ?? 'gone'}`;
    return null;
  }

  /** Whether a handler is at it there, under a lease that holds. */
  function runs({ id, number, machine, ended, timeUp }: DeliveryFacts, where: string): boolean {
    const row = facts.messages.get(id);
    if (row === undefined || machine !== where || ended !== null || timeUp) return false;
    return row.started === number && leaseName(row) === where && options.storeNow() < row.dueAt;
  }

  return {
    violations,
    facts,
    report,

    changed(change) {
      facts.messages = change.after.messages;
      facts.records = change.after.records;
      for (const { about, what } of faultsOfChange(facts, change)) report(about, 'state', what);
    },

    begins(key) {
      const body = { n: facts.bodies.length + 1, key };
      facts.bodies.push(body);
      return body;
    },

    starts(machine, message, delivery) {
      const { id } = message;
      const { body } = message.payload as { readonly body: number };
      const row = facts.messages.get(id);
      const fault =
        faultOfStart(machine, row, id, delivery.number) ??
        (options.isCommitted(body) ? null : 'whose transaction was rolled back');
      if (fault !== null) report(row?.owner ?? null, 'outside', `${machine} begins message ${id}, ${fault}`);
      const begun: DeliveryFacts = {
        id,
        number: delivery.number,
        machine,
        toldRunBefore: delivery.mayHaveRunBefore,
        owner: row?.owner ?? null,
        ended: null,
        effects: 0,
        gaveUp: false,
        timeUp: false,
      };
      facts.deliveries.push(begun);
      return begun;
    },

    answered(id, answer, body) {
      const text = idText(id);
      const answers = facts.answers.get(text) ?? [];
      facts.answers.set(text, answers);
      if (answer !== null) answers.push(answer);
      if (body !== null && !options.isCommitted(body))
        report(id, 'outside', `was told of body ${body} as done, whose writes are not there`);
    },

    event(machine, event) {
      if (event.type === 'time-up') {
        const late = deliveryOf(facts, { id: event.id, started: event.delivery });
        if (late !== undefined) late.timeUp = true;
      }
      if (event.type === 'contradiction') facts.contradictions.push({ machine, key: event.record.key });
      const state = 'record' in event && typeof event.record === 'string' ? event.record : null;
      const owner = ('delivery' in event ? facts.seen.get(event.id)?.owner : undefined) ?? null;
      if (
        state !== null &&
        (owner === null || !facts.states.has(`${idText(owner)} ${owner.attempt} ${state}`))
      )
        report(owner, 'outside', `${machine} tells "${event.type}" as ${state}, which was never written`);
      const verb = ENDS[event.type];
      if (verb === undefined || !('delivery' in event)) return;
      if (!facts.written.has(`${verb} ${event.id} ${event.delivery}`))
        report(owner, 'outside', `${machine} tells "${event.type}" of ${event.id}, which was not written`);
    },

    conclude(audit, committed) {
      for (const { about, what } of faultsOfEnd(facts, audit, committed)) report(about, 'outside', what);
    },
  };
}
