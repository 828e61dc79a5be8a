/**
 * What a store is written with, inside this repository and outside of it: the state table, the rows of the audit, the
 * rules of what is due, the watch for stores without a clock, and the verbs off the hot path, made of a store's parts.
 * No store has to decide anything itself.
 *
 * How to use it: docs/internals/adding-a-store.md. What a store promises is held by the suites of `@samekey/testing`.
 */

export {
  ACTOR_LENGTH_MAX,
  AUDIT_ACTS,
  type AuditStore,
  auditLimit,
  checkByHand,
  checkErase,
  checkNotes,
  giveUpRow,
  handRow,
  NOTES_MAX,
  REASON_LENGTH_MAX,
  transitionRow,
} from '../store/audit.ts';
export {
  type ClaimWatch,
  createClaimWatch,
  heldBack,
  WATCHED_MAX,
  type WatchedClaim,
} from '../store/time/claim-watch.ts';
export { type Counters, type Counts, takeOff } from '../store/counters.ts';
export { checkEnds, settlements } from '../store/ends.ts';
export { isListed } from '../store/listed.ts';
export {
  CLAIM_ENDED,
  type Decision,
  decideCheckpoint,
  decideClaim,
  decideErase,
  decideFinish,
  decideForget,
  decideHandOver,
  decideHandOverAgain,
  decidePostpone,
  decideRenew,
  decideReopen,
  decideSettle,
  decideSweep,
  decideTakeUnknown,
  EXHAUSTED,
  NEVER,
  NEVER_KNOWN,
  NEVER_STARTED,
  serverView,
  UNKNOWN_MAX_MS,
  type View,
} from '../store/machine/index.ts';
export type { MessageStore, StoreWithMessages } from '../store/message.ts';
export {
  decideDead,
  decideEnqueue,
  decideRequeue,
  decideRetry,
  decideTake,
  holds,
  isExhausted,
  mayRequeue,
} from '../store/machine/messages.ts';
export { reapedOf } from '../store/reaped.ts';
export {
  compareDue,
  DOUBLED_MAX,
  FORMAT_VERSION,
  idText,
  isDue,
  isErased,
  isExpired,
  isFinal,
  isForgotten,
  isHandedOver,
  isLeftToCode,
  isPurgeable,
  isReplayable,
  REOPEN_DELAY_MS,
  STATES,
} from '../core/record.ts';
export { callerOf } from '../core/scope.ts';
export { createHand } from '../stores/verbs/by-hand.ts';
export {
  BUSY,
  type Change,
  type Decide,
  ifThere,
  isBusy,
  type RowOf,
  type Take,
  takeBy,
  takenOf,
} from '../stores/verbs/change.ts';
export { createErase, createWalkingErase, type Erased } from '../stores/verbs/erase.ts';
export { countsOf, listLimit } from '../stores/verbs/reads.ts';
export {
  createDue,
  createReap,
  createSweep,
  createTakeUnknown,
  type DueWork,
  overByState,
  reapedByState,
  takePurgeable,
} from '../stores/verbs/upkeep.ts';
export { createServerTime, type ServerClock, type ServerTime } from '../store/time/server-time.ts';
export { createSharedTime, type SharedTime, type SharedTimes } from '../store/time/shared-time.ts';
export {
  aFunction,
  anything,
  having,
  oneOf,
  type Read,
  readOptions,
  required,
  type Row,
  row,
  type Table,
  text,
  trueOrFalse,
  wholeNumber,
} from '../core/options.ts';
export type {
  CheckpointRequest,
  CheckpointResult,
  DueRequest,
  FoundReason,
  HotStore,
  LifecycleStore,
  OperatorStore,
  PostponeRequest,
  Reaped,
  Resumed,
  SweepOptions,
  TakeUnknownRequest,
} from '../store/store.ts';
export type { ChangeHints } from '../store/store.ts';
export type { TransactionalStore, Within } from '../store/transaction.ts';
