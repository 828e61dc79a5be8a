/**
 * Whole engines over a store, as one suite: what the store contract shows verb by verb, this shows as applications see it, with
 * several processes, lost replies and time that passes. It takes the harness of the store contract.
 *
 * Invariants: each test has a fresh store · engines live in virtual time, the store's clock moves with it, the store's calls are
 * real · nothing is skipped. The numbers F… are those of reports from the field.
 *
 * @example
 * ```ts
 * import { describe, it } from 'vitest';
 * import { memoryStore } from 'samekey/stores/memory';
 * import { engineContract } from '@samekey/testing';
 *
 * engineContract({ describe, it }, {
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

import type { StoreHarness, TestRunner } from './contract/context.ts';
import { answerTests } from './engine/answers.ts';
import { askingAgainTests } from './engine/asking-again.ts';
import { type AddEngineTest, createBench } from './engine/bench.ts';
import { bridgeTests } from './engine/bridges.ts';
import { closingTests } from './engine/closing.ts';
import { effectRuleTests } from './engine/effect-rules.ts';
import { effectTests } from './engine/effects.ts';
import { factTests } from './engine/facts.ts';
import { faultTests } from './engine/faults.ts';
import { lifetimeTests } from './engine/lifetimes.ts';
import { onceTests } from './engine/once.ts';
import { ownerTests } from './engine/owners.ts';
import { policyTests } from './engine/policies.ts';
import { raceTests } from './engine/races.ts';
import { saidUnknownTests } from './engine/said-unknown.ts';
import { valueTests } from './engine/values.ts';

/** Adds the suite's tests to the runner, for the stores the harness makes. */
export function engineContract(runner: TestRunner, harness: StoreHarness): void {
  const test: AddEngineTest = (title, body) => {
    runner.it(title, async () => {
      const t = await harness.create();
      try {
        await body(createBench(t));
      } finally {
        await t.close();
      }
    });
  };
  runner.describe(`engines on ${harness.name}`, () => {
    runner.describe('once', () => onceTests(test));
    runner.describe('races', () => raceTests(test));
    runner.describe('owners', () => ownerTests(test));
    runner.describe('policies', () => policyTests(test));
    runner.describe('said to be unknown', () => saidUnknownTests(test));
    runner.describe('faults', () => faultTests(test));
    runner.describe('lifetimes', () => lifetimeTests(test));
    runner.describe('answers', () => answerTests(test));
    runner.describe('asking again', () => askingAgainTests(test));
    runner.describe('effects by their rules', () => effectRuleTests(test));
    runner.describe('facts beat code', () => factTests(test));
    runner.describe('closing', () => closingTests(test));
    runner.describe('values', () => valueTests(test));
    runner.describe('effects', () => effectTests(test));
    runner.describe('bridges across deploys', () => bridgeTests(test));
  });
}
