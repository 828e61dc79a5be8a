/** A payment as tests of effects make it: one operation per process, and a provider outside of everything with its own ledger. */

import assert from 'node:assert/strict';
import type { EffectCall, EffectRule } from 'samekey/internals/ways/effect';
import { reply } from 'samekey/internals/ways/reply';
import type { Operation } from 'samekey/internals/ways/define-operation';
import { CLAIM_TTL_MS, type EngineBench, type EngineNode } from './bench.ts';
import { met } from './expect.ts';
import { createSignal } from './signals.ts';

export const CALL_TIME_MAX_MS = 2_000;
const REQUEST = { scope: ['tenant-1'], key: 'key-1', input: { amount: 5 } };

/** What a test has of one process: the call it makes and the rule it follows. */
interface Paying {
  readonly bank: Bank;
  readonly call: (effect: EffectCall) => Promise<Charge>;
  readonly rule?: 'inquire' | 'downstreamKey' | 'reconcile';
  readonly afterwards?: () => Promise<unknown>;
}

interface Charge {
  readonly id: number;
}

/** A provider without keys, that can be asked. */
export function provider(): {
  readonly charges: Charge[];
  charge(): Charge;
  readonly asked: number;
  find(): Charge | null;
} {
  const charges: Charge[] = [];
  let asked = 0;
  return {
    charges,
    get asked() {
      return asked;
    },
    charge() {
      const charge = { id: charges.length + 1 };
      charges.push(charge);
      return charge;
    },
    find() {
      asked += 1;
      return charges[0] ?? null;
    },
  };
}

type Bank = ReturnType<typeof provider>;

function ruleOf(bank: Bank, rule: Paying['rule']): EffectRule<Charge> {
  const callTimeMaxMs = CALL_TIME_MAX_MS;
  switch (rule) {
    case 'downstreamKey':
      return { rule, callTimeMaxMs, retentionMs: 86_400_000 };
    case 'reconcile':
      return { rule, callTimeMaxMs };
    default:
      return {
        rule: 'inquire',
        callTimeMaxMs,
        inquire: async () => {
          const found = bank.find();
          return found === null ? null : { result: found };
        },
      };
  }
}

const payments = new WeakMap<
  EngineNode,
  { readonly operation: Operation<unknown, unknown>; readonly paying: Paying[] }
>();

/** Asks a process to pay. */
export function pay(node: EngineNode, paid: Paying): ReturnType<Operation<unknown, unknown>['run']> {
  let known = payments.get(node);
  if (known === undefined) {
    const paying: Paying[] = [];
    const operation = node.samekey.phased({
      name: 'pay',
      attemptMax: 3,
      run: async (_input: unknown, attempt): Promise<unknown> => {
        const own = paying.at(-1) as Paying;
        const charge = await attempt.effect('charge', own.call, ruleOf(own.bank, own.rule));
        return reply(201, (await own.afterwards?.()) ?? charge);
      },
    });
    known = { operation, paying };
    payments.set(node, known);
  }
  known.paying.push(paid);
  return known.operation.run(REQUEST);
}

/** A process that stands still in the middle of its call; `stands` is when it does. */
export function stillness(node: EngineNode): { readonly stands: Promise<void>; stand(): Promise<void> } {
  const still = createSignal();
  return {
    stands: still.sent,
    async stand() {
      node.world.freeze();
      still.send();
      await node.sleep(0);
    },
  };
}

/** A call whose answer is lost. */
export async function lost(): Promise<never> {
  throw new Error('socket hang up');
}

/** The claim of whoever stands still ends, and another process sees it: some stores watch claims, and do not compare times. */
export async function claimEnds(bench: EngineBench, b: EngineNode, bank: Bank): Promise<void> {
  met(await bench.until(pay(b, { bank, call: async () => bank.charge() })), 'in-progress');
  await bench.pass(CLAIM_TTL_MS);
}

/** The claim of whoever stands still ends, and another process pays. */
export async function overtaken(bench: EngineBench, b: EngineNode, bank: Bank): Promise<void> {
  await claimEnds(bench, b, bank);
  const ended = await bench.until(pay(b, { bank, call: async () => bank.charge() }));
  assert.ok(ended.kind === 'executed' && ended.attempt === 2, ended.kind);
}

/** The one record there is. */
export async function standing({
  t,
}: EngineBench): Promise<Awaited<ReturnType<typeof t.store.list>>[number]> {
  const [record] = await t.store.list({});
  assert.ok(record !== undefined, 'there is a record');
  return record;
}
