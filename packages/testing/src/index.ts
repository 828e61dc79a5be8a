/**
 * Samekey's own test tools, for tests of applications, stores and adapters. They know no test runner: one is passed in
 * where one is needed.
 */

export {
  adapterContract,
  type AdapterHarness,
  type ContractAnswer,
  type ContractCall,
  type ContractHandler,
  type ContractRequest,
  type ContractRoute,
  type ContractScope,
  type Served,
} from './adapter-contract.ts';
export { type Auditor, type AuditorOptions, createAuditor, type Violation } from './auditor.ts';
export type { AttemptFacts, AuditedRequest, KeyFacts, ProcessFacts, RunFacts } from './audit/facts.ts';
export { faultOf, type Transition, type WritingVerb } from './audit/transitions.ts';
export { AS_EVER, DEPLOY_STATES, deployContract, type DeployRow } from './deploys-contract.ts';
export { engineContract } from './engine-contract.ts';
export { FAKE_WALL_START, type FakeWorld, type FakeWorldOptions, fakeWorld } from './fake-world.ts';
export {
  type FaultKind,
  type FaultyStore,
  type FaultyStoreOptions,
  faultyStore,
  type Injection,
  type Passage,
  passageOf,
  type StoreCall,
} from './faulty-store.ts';
export { createGate, type Gate, gatedStore } from './gate.ts';
export {
  identityContract,
  type IdentifiedStore,
  type IdentityHarness,
  type PlaceUnderTest,
} from './identity-contract.ts';
export { kthContract } from './kth-contract.ts';
export { outboxContract, type OutboxHarness, type OutboxUnderTest } from './outbox-contract.ts';
export { createRandom, type Random } from './random.ts';
export {
  type History,
  type SimulatedDatabase,
  type SimulatedMachine,
  type SimulateOptions,
  simulate,
} from './simulator.ts';
export type { TraceLine } from './simulator/context.ts';
export { describeFailure } from './simulator/report.ts';
export type { HistoryKind, Intent, OperationPlan, Scenario } from './simulator/scenario.ts';
export { sealedContract, type SealedHarness, type SealedUnderTest } from './sealed-contract.ts';
export {
  type HostileSetting,
  sessionsContract,
  type SessionsHarness,
  type SessionsUnderTest,
} from './sessions-contract.ts';
export {
  storeContract,
  type StoreHarness,
  type StoreUnderTest,
  type TestRunner,
  type WithinTransaction,
} from './store-contract.ts';
export { createTimeline, type Timeline, type Timers, turn } from './timeline.ts';
export {
  type ContractIsolation,
  type ContractRow,
  type TxBench,
  txContract,
  type TxHarness,
  type TxOpenOptions,
} from './tx-contract.ts';
