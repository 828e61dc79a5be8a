/**
 * The adapter contract: one suite that every HTTP adapter must pass on a real, listening server. A harness describes nothing
 * but how its framework takes routes; requests, handlers and what must come of them are the contract's.
 *
 * Invariants: bare sockets on the client's side, so that header lines and bytes are compared as they are · virtual time, so
 * that no test waits for a clock · faults of the field are cited by number (F…).
 * Sources: contract §4, §6, §8; RFC 9110, RFC 9112, RFC 9457.
 */

import { answerTests } from './adapter/answers.ts';
import { deployTests } from './adapter/deploys.ts';
import { faultTests } from './adapter/faults.ts';
import type { AdapterHarness } from './adapter/harness.ts';
import { identityTests } from './adapter/identity.ts';
import { identityDeployTests } from './adapter/identity-deploys.ts';
import { answerHookTests } from './adapter/answer-hooks.ts';
import { keyPlaceTests } from './adapter/key-places.ts';
import { keyTests } from './adapter/keys.ts';
import { type AddTest, onBench } from './adapter/kit.ts';
import { moveTests } from './adapter/moves.ts';
import { onceTests } from './adapter/once.ts';
import { optionTests } from './adapter/options.ts';
import { policyTests } from './adapter/policies.ts';
import { profileTests } from './adapter/profiles.ts';
import { validationTests } from './adapter/validation.ts';
import { samenessTests } from './adapter/sameness.ts';
import { streamTests } from './adapter/streams.ts';
import { wireTests } from './adapter/wire.ts';
import type { TestRunner } from './contract/context.ts';

export type { Connection, WireAnswer, WireRequest } from './adapter/client.ts';
export type {
  AdapterHarness,
  ContractAnswer,
  ContractCall,
  ContractHandler,
  ContractRequest,
  ContractRoute,
  ContractScope,
  Served,
} from './adapter/harness.ts';
export { type App, type AppOptions, type Bench, onBench } from './adapter/kit.ts';

const PARTS: Readonly<Record<string, (test: AddTest, harness: AdapterHarness) => void>> = {
  'once, and the same answer': onceTests,
  keys: keyTests,
  keyPlaces: keyPlaceTests,
  answerHooks: answerHookTests,
  'the same request': samenessTests,
  'operation identity': identityTests,
  'operation identity over a deploy': identityDeployTests,
  deploys: deployTests,
  'moves across deploys': moveTests,
  answers: answerTests,
  streams: streamTests,
  policies: policyTests,
  profiles: profileTests,
  validation: validationTests,
  faults: faultTests,
  'the wire': wireTests,
  options: optionTests,
};

/** Describes the contract of HTTP adapters to a test runner, for the adapter of this harness. */
export function adapterContract(runner: TestRunner, harness: AdapterHarness): void {
  for (const [part, addTests] of Object.entries(PARTS)) {
    if (addTests === streamTests && harness.hasStreams === false) continue;
    runner.describe(`${harness.name} keeps the adapter contract: ${part}`, () => {
      addTests((title, body) => void runner.it(title, () => onBench(harness, body)), harness);
    });
  }
}
