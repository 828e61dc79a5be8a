/**
 * The contract every store is held to, as one suite: a new store passes it on a real server before it is one. It needs a test
 * runner (`describe` and `it`, passed in) and a harness that makes fresh stores and moves their clocks.
 *
 * Invariant: nothing is skipped. What a store says it cannot do is tested for being absent.
 *
 * @example
 * ```ts
 * import { describe, it } from 'vitest';
 * import { memoryStore } from 'samekey/stores/memory';
 * import { storeContract } from '@samekey/testing';
 *
 * storeContract({ describe, it }, {
 *   name: 'memory',
 *   async create() {
 *     let now = Date.UTC(2030, 0);
 *     return {
 *       store: memoryStore({ now: () => now }),
 *       advance: (ms) => { now += ms; },
 *       close: async () => undefined,
 *     };
 *   },
 * });
 * ```
 */

import { auditTests } from './contract/audit.ts';
import { byHandTests } from './contract/by-hand.ts';
import { byteTests } from './contract/bytes.ts';
import { capabilityTests } from './contract/capabilities.ts';
import { claimTests } from './contract/claims.ts';
import type { AddTest, StoreHarness, TestRunner } from './contract/context.ts';
import { erasingTests } from './contract/erasing.ts';
import { expiryTests } from './contract/expiry.ts';
import { lifecycleTests } from './contract/lifecycle.ts';
import { offerTests, withoutTransitionsTests } from './contract/offers.ts';
import { modelTests } from './contract/model.ts';
import { ownerTests } from './contract/owners.ts';
import { progressTests } from './contract/progress.ts';
import { referenceTests } from './contract/references.ts';
import { factTests } from './contract/facts.ts';
import { verdictTests } from './contract/verdicts.ts';
import { clockTests } from './contract/clocks.ts';
import { serverClockTests } from './contract/server-clock.ts';
import { stateTests } from './contract/states.ts';
import { transitionAuditTests } from './contract/transition-audit.ts';
import { sweepingTests } from './contract/sweeping.ts';
import { reservationTests } from './contract/reservations.ts';
import { transactionTests } from './contract/transactions.ts';
import { unknownTests } from './contract/unknown.ts';

export type { StoreHarness, StoreUnderTest, TestRunner, WithinTransaction } from './contract/context.ts';

/** Adds the contract's tests to the runner, for the stores the harness makes. */
export function storeContract(runner: TestRunner, harness: StoreHarness): void {
  const test: AddTest = (title, body) => {
    runner.it(title, async () => {
      const t = await harness.create();
      try {
        await body(t);
      } finally {
        await t.close();
      }
    });
  };
  runner.describe(`store contract: ${harness.name}`, () => {
    runner.describe('states', () => stateTests(test));
    runner.describe('claims', () => claimTests(test));
    runner.describe('owners', () => ownerTests(test));
    runner.describe('lifecycle', () => lifecycleTests(test));
    runner.describe('sweeping and reaping', () => sweepingTests(test));
    runner.describe('unknown outcomes', () => unknownTests(test));
    runner.describe('bytes and bulk', () => byteTests(test));
    runner.describe('capabilities', () => capabilityTests(test, harness));
    runner.describe('clocks that are ahead', () => clockTests(test));
    runner.describe('server clocks that are set', () => serverClockTests(test));
    runner.describe('audit', () => auditTests(test));
    runner.describe('expiry', () => expiryTests(test));
    runner.describe('erasing', () => erasingTests(test));
    runner.describe('progress', () => progressTests(test));
    runner.describe('facts', () => factTests(test));
    runner.describe('references', () => referenceTests(test));
    runner.describe('verdicts', () => verdictTests(test));
    runner.describe('by hand', () => byHandTests(test));
    runner.describe('transactions', () => transactionTests(test));
    runner.describe('reservations', () => reservationTests(test));
    runner.describe('offers', () => offerTests(test));
    runner.describe('transitions', () =>
      harness.auditsTransitions === true
        ? transitionAuditTests(runner, harness)
        : withoutTransitionsTests(runner, harness),
    );
    runner.describe('model', () => modelTests(test, harness));
  });
}
