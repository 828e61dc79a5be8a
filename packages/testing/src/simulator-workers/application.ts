/**
 * The simulated application: orders in one transaction with their messages, reports that a worker makes, payments at the provider.
 *
 * Invariant: it is honest. What a body commits is a row under the body's own number, with how many messages it has enqueued.
 */

import type { RunOutcome } from 'samekey/internals/ways/direct';
import type { Outbox } from 'samekey/internals/outbox/index';
import { reply } from 'samekey/internals/ways/reply';
import type { Samekey } from 'samekey/internals/samekey';
import type { MemoryTransaction } from 'samekey/internals/stores/memory/index';
import type { Operation } from 'samekey/internals/ways/define-operation';
import type { TransactionalAttempt } from 'samekey/internals/ways/transactional';
import type { FakeWorld } from '../fake-world.ts';
import { paymentOf, pause, SCOPE, type WorkersContext } from './context.ts';
import { CALL_MAX_MS, type WorkName, type WorkPlan } from './scenario.ts';

/** What a machine can be asked. */
export interface Application {
  knows(operation: WorkName): boolean;
  ask(work: WorkPlan): Promise<RunOutcome<unknown>>;
}

/** What it runs on. */
export interface ApplicationOptions {
  readonly context: WorkersContext;
  readonly world: FakeWorld;
  readonly isNew: boolean;
  readonly samekey: Samekey<MemoryTransaction>;
  readonly outbox: Outbox;
}

/** What a body leaves of itself. */
export interface BodyRow {
  readonly messages: number;
}

export function bodyRow(n: number | string): string {
  return `body/${n}`;
}

/** What a handler does on purpose. */
class OnPurpose extends Error {}

/** Makes it. */
export function application(own: ApplicationOptions): Application {
  const { context, isNew, samekey } = own;
  const { scenario } = context;
  const planOf = (key: string): WorkPlan => scenario.operations.find((work) => work.key === key) as WorkPlan;
  const run = ({ key }: Input, attempt: Attempt): Promise<unknown> => transact(own, planOf(key), attempt);
  // Both forms are at work on one table, as during a deploy.
  const reserve = isNew ? 'in-transaction' : 'before';
  const known = new Map<WorkName, Operation<Input, unknown>>([
    ['order', samekey.transactional({ name: 'order', reserve, run })],
    [
      'pay',
      samekey.phased({
        name: 'pay',
        async run({ key }: Input, attempt) {
          const { rule } = planOf(key);
          const charged = await attempt.effect(
            'charge',
            ({ downstreamKey, signal }) => pay(own, key, rule === 'reconcile' ? null : downstreamKey, signal),
            rule === 'reconcile'
              ? { rule, callTimeMaxMs: CALL_MAX_MS }
              : { rule, callTimeMaxMs: CALL_MAX_MS, retentionMs: 86_400_000 },
          );
          return reply(201, charged);
        },
      }),
    ],
  ]);
  if (isNew) known.set('report', samekey.deferred(samekey.transactional({ name: 'report', reserve, run })));
  return {
    knows: (operation) => known.has(operation),
    async ask({ operation, key }) {
      const asked = known.get(operation);
      if (asked === undefined) throw new TypeError(`${operation} was asked of a machine that has none`);
      return asked.run({ scope: SCOPE, key, input: { key } });
    },
  };
}

interface Input {
  readonly key: string;
}

type Attempt = TransactionalAttempt<MemoryTransaction>;

/** The body of a transaction: reads what others write, writes, enqueues; then throws, rolls back, or answers. */
async function transact(
  { context, world, outbox }: ApplicationOptions,
  work: WorkPlan,
  attempt: Attempt,
): Promise<unknown> {
  const { auditor, random, calm } = context;
  const { account, key } = work;
  const { n } = auditor.begins(key);
  const { tx } = attempt;
  // Read and written by others too: one of them runs again.
  const balance = `account/${account}`;
  const read = work.entries === 0 ? null : ((tx.get(balance) as number | undefined) ?? 0);
  await pause(world, random.pick([0, 1, 10, 60]));
  if (read !== null) tx.set(balance, read + work.entries);
  const payload = { body: n, key, attempt: attempt.number, account };
  const messages = [
    ...Array.from({ length: work.notes }, () => ({ topic: 'note', payload })),
    ...Array.from({ length: work.entries }, () => ({ topic: 'entry', group: `account ${account}`, payload })),
    ...(work.bomb ? [{ topic: 'bomb', payload }] : []),
  ];
  await outbox.enqueueAll(tx, messages);
  if (work.handsOver) await attempt.handOver({ topic: 'ship', payload });
  const row: BodyRow = { messages: messages.length + (work.handsOver ? 1 : 0) };
  tx.set(bodyRow(n), row);
  context.strike(machineOf(context, world));
  await pause(world, random.pick([0, 1, 10, 60]));
  if (!calm && random.chance(0.1)) throw new OnPurpose('on purpose');
  return work.handsOver ? { body: n } : reply(201, { body: n });
}

/** Makes a call, perhaps after it has stood still for as long as it likes. */
async function pay(
  { context, world }: ApplicationOptions,
  key: string,
  downstreamKey: string | null,
  signal: AbortSignal,
): Promise<{ readonly charge: number }> {
  const { provider, random } = context;
  context.strike(machineOf(context, world));
  await pause(world, random.between(0, CALL_MAX_MS / 3));
  signal.throwIfAborted();
  const what = paymentOf(key);
  return provider.charge(world, {
    what,
    downstreamKey,
    landsWithinMs: CALL_MAX_MS / 2,
    landed(made) {
      noteCharge(context, what, made);
      context.landed({ operation: 'pay', key, charge: made });
    },
  });
}

/** Into the books of the auditor. */
export function noteCharge({ auditor, trace }: WorkersContext, what: string, charge: number): void {
  const { charges } = auditor.facts;
  charges.set(what, (charges.get(what) ?? new Set()).add(charge));
  trace(null, () => `${what} LANDS as charge ${charge}`);
}

function machineOf(
  { machines }: WorkersContext,
  world: FakeWorld,
): WorkersContext['machines'][number] | undefined {
  return machines.find((machine) => machine.world === world);
}
