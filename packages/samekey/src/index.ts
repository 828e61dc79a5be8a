/**
 * Samekey: same key, same answer. What an application imports besides its store and its adapter.
 */

export type { Attempt } from './engine/attempt.ts';
export {
  docsAt,
  type ErrorCode,
  errorCode,
  FenceLostError,
  InvariantError,
  KeyError,
  LedgerError,
  type KeyFault,
  NotExecutedError,
  OptionsError,
  OutcomeUnknownError,
  SamekeyError,
  SchemaError,
  StepError,
  StoreError,
  ValueError,
  type ValueFault,
} from './core/errors.ts';
export type { Comparable } from './fingerprint/digest.ts';
export type { FingerprintSecrets } from './fingerprint/fingerprint.ts';
export type { EventListener, EventType, SamekeyEvent } from './engine/events.ts';
export { type Executed, OUTCOME_KINDS, type Outcome, type OutcomeKind } from './core/outcome.ts';
export { type EndingClass, POLICIES, type Policy, type PolicyName, type Verdict } from './core/policy.ts';
export type {
  Fence,
  Fingerprint,
  Proof,
  RecordId,
  SamekeyRecord,
  State,
  WhenClaimEnds,
} from './core/record.ts';
export {
  hashCaller,
  hashKey,
  type RedactedRecord,
  type RedactedResponse,
  redactRecord,
} from './store/redact.ts';
export type { OutboxMessage } from './store/new-message.ts';
export { type Reply, type ReplyValue, reply } from './ways/reply.ts';
export type { HeaderLine, StoredResponse } from './core/response.ts';
export type { Issue, StandardResult, StandardSchema } from './core/schema.ts';
export { callerScope, singleTenant } from './core/scope.ts';
export type { OperationOptions } from './core/settings.ts';
export type {
  AuditAct,
  AuditRequest,
  AuditRow,
  ByHand,
  Capabilities,
  ClaimRequest,
  ClaimResult,
  EraseRequest,
  EraseResult,
  FencedId,
  FinishRequest,
  FinishResult,
  ForgetRequest,
  HandRequest,
  ReopenRequest,
  HandResult,
  ListRequest,
  NewAuditRow,
  PruneAuditRequest,
  RenewRequest,
  RenewResult,
  SettleRequest,
  Store,
  Swept,
} from './store/store.ts';
export type { ProbePoint, World } from './core/world.ts';
export {
  createSamekey,
  type RunRequest,
  type Samekey,
  type SamekeyOptions,
} from './samekey.ts';
export type {
  SqlTransaction,
  SqlValue,
  TransactionDialect,
  TransactionFault,
  TransactionSource,
} from './store/transaction.ts';
export type { DirectRequest, RunOutcome } from './ways/direct.ts';
export type { Definition, Operation, OperationRequest } from './ways/define-operation.ts';
export type { DeferredOptions } from './ways/deferred.ts';
export type { PlainDefinition } from './ways/plain.ts';
export type { InputCodec } from './ways/input.ts';
export type { PhasedAttempt, PhasedDefinition } from './ways/phased.ts';
export type { EffectCall, EffectQuestion, EffectRule, EffectVerdict } from './ways/effect.ts';
export type { TransactionalAttempt, TransactionalDefinition } from './ways/transactional.ts';
export { PROBE_POINTS, systemWorld } from './system.ts';
