/**
 * What an operator does to one record: look, act under the fence of what was seen, and if it is refused say what stands
 * there now. Nothing is forced, and nothing is tried again under another fence.
 */

import { type Fence, isForgotten, type RecordId, type SamekeyRecord } from '../core/record.ts';
import { sameResponse } from '../core/response.ts';
import { mayHaveHappened, NEVER_KNOWN } from '../store/machine/index.ts';
import type { FencedId, HandResult, Store } from '../store/store.ts';
import { callTimeOf, hasResult, shownBy, stepsWithResult } from './no-effect-by-hand.ts';
import {
  type CheckedSettlement,
  type Forgetting,
  type Reopening,
  readForgetting,
  readId,
  readReopening,
  readSettlement,
  type Settlement,
} from './requests.ts';

/**
 * Why an act was refused. `state`: the record is in no state for it. `changed`: it is not what was seen any more.
 * `not-proven`: "no effect" without a word on why nothing can happen any more, or for a key to reopen or to forget
 * whose outcome nobody knows. `too-early`: a call may still be under way. `no-open-effect`: a result was given, and
 * there is no effect that it could be of.
 */
export type RefusedBecause = 'state' | 'changed' | 'not-proven' | 'too-early' | 'no-open-effect';

/**
 * What became of an act. `applied`: done; `record` is what it was done to. `already`: this was done before.
 * `contradiction`: somebody has settled it otherwise, which stands and is `record`; the audit has a row of it.
 * `absent`: there is no such record. `refused`: nothing was done; `record` is what stands there, null when it is gone.
 */
export type ActResult =
  | { readonly kind: 'applied'; readonly record: SamekeyRecord }
  | { readonly kind: 'already'; readonly record: SamekeyRecord }
  | { readonly kind: 'contradiction'; readonly record: SamekeyRecord }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly because: RefusedBecause; readonly record: SamekeyRecord | null };

type Write = () => Promise<readonly HandResult[]>;

/** What an act comes to by what was found, or how it is written. */
type Prepared = RefusedBecause | 'already' | 'contradiction' | Write;

/**
 * Decides an unknown outcome. Throws `OptionsError` for what is no settlement, and for a response that no server could
 * send.
 */
export async function settle(
  store: Store,
  actor: string | null,
  id: RecordId,
  given: Settlement,
): Promise<ActResult> {
  const settlement = readSettlement(given);
  const { to, reason, response } = settlement;
  const result = await act(store, id, settlement.seen, ['unknown'], (fenced, record): Prepared => {
    if (isSettled(record)) return says(record, settlement) ? 'already' : 'contradiction';
    const by = { ...fenced, reason, actor, to, response };
    if (to !== 'retryable') return () => store.settle([by]);
    if (settlement.effectResult !== undefined) {
      const newSteps = stepsWithResult(record, settlement.effectResult);
      return newSteps === null ? 'no-open-effect' : () => store.settle([{ ...by, newSteps }]);
    }
    if (settlement.because === undefined && shownBy(record) === null) return 'not-proven';
    const claimEndedForMs = settlement.callTimeMaxMs ?? callTimeOf(record);
    return () => store.settle([{ ...by, claimEndedForMs }]);
  });
  if (result.kind !== 'contradiction') return result;
  // F152: nothing was written, and two people have said two things: somebody has to look.
  const { scope, key, operation, attempt, state: from } = result.record;
  await store.note([{ scope, key, operation, attempt, act: 'contradiction', from, to, reason, actor }]);
  return result;
}

/** Whether somebody else than its owner has decided what it is, and it can be read what. */
function isSettled(record: SamekeyRecord): boolean {
  const { proof, state, unreadable } = record;
  return proof === 'settled' && state !== 'unknown' && unreadable === undefined && !isForgotten(record);
}

/** Whether the record says what is said now. */
function says(record: SamekeyRecord, { to, response, effectResult }: CheckedSettlement): boolean {
  return (
    record.state === to &&
    sameResponse(record.response, response) &&
    (effectResult === undefined || hasResult(record, effectResult))
  );
}

/** Lets a failed key run again. Throws `OptionsError`. */
export async function reopen(
  store: Store,
  actor: string | null,
  id: RecordId,
  given: Reopening,
): Promise<ActResult> {
  const { reason, effect, seen } = readReopening(given);
  return act(store, id, seen, ['failed'], (fenced, record) => {
    if (record.reason === NEVER_KNOWN && effect !== 'none') return 'not-proven';
    return () => store.reopen([{ ...fenced, reason, actor, ...(effect !== undefined && { effect }) }]);
  });
}

/** Drops a record: its key acts as never used. Throws `OptionsError`. */
export async function forget(
  store: Store,
  actor: string | null,
  id: RecordId,
  given: Forgetting,
): Promise<ActResult> {
  const { reason, effect, seen } = readForgetting(given);
  return act(store, id, seen, ['completed', 'failed', 'retryable'], (fenced, record) => {
    const { state } = record;
    // Another end under the same fence: a finish that came late, or a colleague's word.
    if (!isForgotten(record) && (seen?.state ?? state) !== state) return 'changed';
    if (mayHaveHappened(record) && effect !== 'none') return 'not-proven';
    return () => store.forget([{ ...fenced, state, reason, actor, ...(effect !== undefined && { effect }) }]);
  });
}

async function act(
  store: Store,
  id: RecordId,
  seen: Fence | undefined,
  states: readonly SamekeyRecord['state'][],
  prepare: (id: FencedId, record: SamekeyRecord) => Prepared,
): Promise<ActResult> {
  const { scope, key } = readId(id);
  const [record] = await store.find([{ scope, key }]);
  if (record === null || record === undefined) return { kind: 'absent' };
  if (seen !== undefined && (seen.claimId !== record.claimId || seen.attempt !== record.attempt))
    return { kind: 'refused', because: 'changed', record };
  const { claimId, attempt } = record;
  const write = prepare({ scope, key, claimId, attempt }, record);
  if (write === 'already' || write === 'contradiction') return { kind: write, record };
  if (typeof write === 'string') {
    return states.includes(record.state)
      ? { kind: 'refused', because: write, record }
      : { kind: 'refused', because: 'state', record };
  }
  // The store decides, not what was read: the record may have moved on since.
  const [result] = await write();
  if (result === undefined || result.kind === 'refused') {
    const now = result?.record ?? null;
    if (now !== null && isSame(record, now) && states.includes('unknown') && isSettled(now))
      return { kind: 'contradiction', record: now };
    return { kind: 'refused', because: refusalOf(record, now, states.includes(record.state)), record: now };
  }
  return { kind: result.kind, record };
}

/** Why the store refused it, from what stood there before and now. */
function refusalOf(before: SamekeyRecord, now: SamekeyRecord | null, fitted: boolean): RefusedBecause {
  if (now === null || !isSame(before, now)) return 'changed';
  if (!fitted) return 'state';
  // Where nothing has moved, only the time stood in the way.
  return now.state === before.state ? 'too-early' : 'changed';
}

function isSame(before: SamekeyRecord, now: SamekeyRecord): boolean {
  return now.claimId === before.claimId && now.attempt === before.attempt;
}
