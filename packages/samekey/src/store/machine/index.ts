/**
 * The state table (contract §3–4), pure: (record | none, command, view) → what to write and what to answer, by who
 * writes: whoever claims, the owner, the hand of an operator, and upkeep. No clock, no store, no engine. A store
 * applies a decision atomically, under a condition that repeats the fence the decision was made on; stores that speak
 * SQL encode the same table in their statements and are held to it by the contract suite.
 *
 * Invariants: a final record changes by expiry or an operator's hand only · what an operator opens or forgets runs
 * again only when no process may still replay its answer (F62) · attempts only grow within a record's life · a claimId
 * is good for one attempt once · what does not match is reported and changes nothing.
 */

export { decideClaim } from './claim.ts';
export {
  CLAIM_ENDED,
  type Decision,
  ERASED,
  EXHAUSTED,
  NEVER,
  NEVER_KNOWN,
  NEVER_STARTED,
  serverView,
  type View,
} from './decision.ts';
export { decideErase, decideForget, decideReopen, decideSettle, mayHaveHappened } from './hand.ts';
export {
  decideCheckpoint,
  decideFinish,
  decideHandOver,
  decideHandOverAgain,
  decideRenew,
} from './owner-decisions.ts';
export { decidePostpone, decideSweep, decideTakeUnknown, UNKNOWN_MAX_MS } from './upkeep.ts';
