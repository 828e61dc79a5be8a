/**
 * The contract of every store that keeps messages, as one suite: `samekey/outbox` and `samekey/worker` rely on nothing else. As the
 * store contract, it needs a test runner, passed in, and a harness that makes fresh stores and moves their clocks.
 */

import type { TestRunner } from './contract/context.ts';
import type { AddOutboxTest, OutboxHarness } from './outbox/bench.ts';
import { deliveryTests } from './outbox/deliveries.ts';
import { outboxModelTests } from './outbox/model.ts';
import { outboxReferenceTests } from './outbox/references.ts';
import { togetherTests } from './outbox/together.ts';

export type { OutboxHarness, OutboxUnderTest } from './outbox/bench.ts';

/** Adds the contract's tests to the runner, for the stores the harness makes. */
export function outboxContract(runner: TestRunner, harness: OutboxHarness): void {
  const test: AddOutboxTest = (title, body) => {
    runner.it(title, async () => {
      const t = await harness.create();
      try {
        await body(t);
      } finally {
        await t.close();
      }
    });
  };
  runner.describe(`outbox contract: ${harness.name}`, () => {
    runner.describe('deliveries', () => deliveryTests(test));
    runner.describe('transactions, groups, records', () => togetherTests(test));
    runner.describe('references', () => outboxReferenceTests(test));
    runner.describe('model', () => outboxModelTests(test));
  });
}
