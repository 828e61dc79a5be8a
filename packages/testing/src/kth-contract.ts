/**
 * The k-th call of the store meets a fault, for every k, in every way to run a handler, as one suite: no second effect, no lost answer, no
 * outcome that is called unknown although somebody knows it. It takes the harness of the store contract.
 *
 * Invariants: k goes on until a run makes fewer calls, so that a call which is added to a way is tried too · the process lives on, or closes
 * right after it has answered, and its client asks at another · engines live in virtual time, calls of the store are real.
 */

import assert from 'node:assert/strict';
import type { RunOutcome } from 'samekey/internals/ways/direct';
import type { StoreHarness, TestRunner } from './contract/context.ts';
import { createBench, type EngineBench, type EngineNode } from './engine/bench.ts';
import { KTH_FAULTS, type KthFault } from './kth/faults.ts';
import { type Ask, createLedger, KTH_WAYS, type KthWay, type Ledger } from './kth/ways.ts';

/** Whether the process goes on after its answer, or closes at once. */
const AFTER = ['lives on', 'closes'] as const;
/** More requests than any client needs. */
const REQUESTS_MAX = 60;
/** Whatever is applied late has been applied by then, in milliseconds. */
const LATE_MAX_MS = 4_000;
const DRAIN_MS = 30_000;

/** Adds the suite's tests to the runner, for the stores the harness makes. */
export function kthContract(runner: TestRunner, harness: StoreHarness): void {
  runner.describe(`the k-th call on ${harness.name}`, () => {
    for (const way of KTH_WAYS) {
      for (const fault of KTH_FAULTS) {
        runner.it(
          `${way.name}: whichever call of the store ${fault.title}, it is done once and answered`,
          async () => {
            const t = await harness.create();
            try {
              const bench = createBench(t);
              const other = await bench.node();
              const ledger = createLedger();
              const elsewhere = way.open(other, ledger);
              for (let k = 1; ; k += 1) {
                let calls = 0;
                for (const after of AFTER) {
                  const key = `${after}-${k}`;
                  calls = Math.max(
                    calls,
                    await strikeOnce({ bench, way, fault, k, after, key, ledger, elsewhere }),
                  );
                }
                if (calls < k) {
                  assert.ok(k > way.callsMin, `it makes ${calls} calls, fewer than it can`);
                  break;
                }
              }
            } finally {
              await t.close();
            }
          },
        );
      }
    }
  });
}

interface Struck {
  readonly bench: EngineBench;
  readonly way: KthWay;
  readonly fault: KthFault;
  readonly k: number;
  readonly after: (typeof AFTER)[number];
  readonly key: string;
  readonly ledger: Ledger;
  /** The same way in a process without faults. */
  readonly elsewhere: Ask;
}

/** Resolves with how many calls of the store the process had made when it had answered. */
async function strikeOnce({ bench, way, fault, k, after, key, ledger, elsewhere }: Struck): Promise<number> {
  const where = `${way.name}, call ${k} ${fault.title}, the process ${after}`;
  const node = await bench.node();
  const ask = way.open(node, ledger);
  node.strike(k, fault.passage, fault.count);
  const first = await bench.until(ask(key));
  const { calls } = node;
  known(first, where);
  if (after === 'closes') await close(bench, node, where);
  const last = await untilAnswered(bench, () => elsewhere(key), where);
  if (first.kind === 'executed' && first.state === 'completed')
    assert.deepEqual(last.value, first.value, `${where}: the answer is another`);
  await bench.pass(LATE_MAX_MS);
  const again = await bench.until(elsewhere(key));
  assert.equal(again.kind, 'replay', `${where}: what is applied late changes what was answered`);
  assert.deepEqual('value' in again && again.value, last.value, where);
  assert.deepEqual(ledger.done.get(key), way.done, `${where}: what was done`);
  assert.equal(ledger.paid.get(key)?.size ?? 0, way.payments, `${where}: payments`);
  assert.equal(
    node.events.some(({ type }) => type === 'contradiction'),
    false,
    `${where}: nothing contradicts`,
  );
  if (after !== 'closes') await close(bench, node, where);
  return calls;
}

async function close(bench: EngineBench, node: EngineNode, where: string): Promise<void> {
  const left = await bench.until(node.samekey.close({ drainMs: DRAIN_MS }));
  assert.equal(left, 0, `${where}: nothing is left when it closes`);
  node.world.kill();
}

function known(outcome: RunOutcome<unknown>, where: string): void {
  assert.notEqual(outcome.kind, 'unknown', `${where}: nobody died, so somebody knows`);
}

/** Its client asks again as it is told, until it has its answer. */
async function untilAnswered(
  bench: EngineBench,
  ask: () => Promise<RunOutcome<unknown>>,
  where: string,
): Promise<RunOutcome<unknown> & { readonly value: unknown }> {
  for (let requests = 1; requests <= REQUESTS_MAX; requests += 1) {
    const outcome = await bench.until(ask());
    known(outcome, where);
    if (outcome.kind === 'executed' || outcome.kind === 'replay') return outcome;
    await bench.pass('retryAfterMs' in outcome ? outcome.retryAfterMs : 1_000);
  }
  throw new assert.AssertionError({ message: `${where}: ${REQUESTS_MAX} requests were not answered` });
}
