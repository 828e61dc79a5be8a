/**
 * What an operator does to one record: look, act under the fence of what was seen, and if it is refused say what stands there now.
 * Nothing is forced, and nothing is tried again under another fence.
 */

import { NEVER_KNOWN } from '../core/machine.ts';
import type { Fence, RecordId, SamekeyRecord } from '../core/record.ts';
import type { StoredResponse } from '../core/response.ts';
import { checkWholeNumber } from '../core/options.ts';
import { storableByHand } from '../core/stored-response.ts';
import type { FencedId, HandResult, Store } from '../core/store.ts';
import { callTimeOf, type NoEffectBecause, shownBy, stepsWithResult } from './no-effect.ts';

/** What every act by hand names. */
export interface Act {
  /** For people and the audit: why. 1 to 1,000 characters, no personal data: it outlives the record. */
  readonly reason: string;
  /** Only if the record still is what was seen with this; default: what is found when the act begins. */
  readonly seen?: Fence;
}

/** How an outcome that nobody knew is decided. */
export interface Settlement extends Act {
  /** `completed` and `failed` are final; `retryable`: nothing happened, the next request runs. */
  readonly to: 'completed' | 'failed' | 'retryable';
  /**
   * What retries get; for `completed` and `failed`. Null: it is not known any more, and they get 410 with nothing but that. A
   * response whose body is null tells them its status too.
   */
  readonly response?: StoredResponse | null;
  /** For `retryable`: why nothing of the last attempt can happen any more. Not needed where the record shows it. */
  readonly because?: NoEffectBecause;
  /**
   * For `retryable`: how long a call to a provider may be under way after the claim has ended, in milliseconds; "no effect" does not
   * count earlier. Default: what the open effect says of its call, else 60,000.
   */
  readonly callTimeMaxMs?: number;
  /**
   * For `retryable`: the open effect did happen, and gave this, any JSON value. Its call is not made again, and the next attempt goes on
   * behind it. Then nothing has to be proven.
   */
  readonly effectResult?: unknown;
}

/** How a failed key is let run again. */
export interface Reopening extends Act {
  /** Of an outcome that nobody came to know (`outcome-never-known`): that nothing happened. Needed there, and means nothing elsewhere. */
  readonly effect?: 'none';
}

/**
 * Why an act was refused. `state`: the record is in no state for it. `changed`: it is not what was seen any more. `not-proven`: "no
 * effect" without a word on why nothing can happen any more, or for a key to reopen whose outcome nobody knows. `too-early`: a call may still be under way. `no-open-effect`: a result was
 * given, and there is no effect that it could be of.
 */
export type RefusedBecause = 'state' | 'changed' | 'not-proven' | 'too-early' | 'no-open-effect';

/**
 * What became of an act. `applied`: done; `record` is what it was done to. `already`: this was done before. `absent`: there is no such
 * record. `refused`: nothing was done; `record` is what stands there, null when it is gone.
 */
export type ActResult =
  | { readonly kind: 'applied'; readonly record: SamekeyRecord }
  | { readonly kind: 'already'; readonly record: SamekeyRecord }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly because: RefusedBecause; readonly record: SamekeyRecord | null };

type Write = () => Promise<readonly HandResult[]>;

/** Decides an unknown outcome. Throws `OptionsError` for a response that no server could send. */
export function settle(
  store: Store,
  actor: string | null,
  id: RecordId,
  settlement: Settlement,
): Promise<ActResult> {
  const { to, reason } = settlement;
  return act(store, id, settlement, ['unknown'], (fenced, record) => {
    const by = { ...fenced, reason, actor };
    if (to !== 'retryable') {
      const { response: given = null } = settlement;
      const response = given === null ? null : storableByHand('The response of a settlement', given);
      return () => store.settle([{ ...by, to, response }]);
    }
    if (settlement.effectResult !== undefined) {
      const newSteps = stepsWithResult(record, settlement.effectResult);
      return newSteps === null
        ? 'no-open-effect'
        : () => store.settle([{ ...by, to, response: null, newSteps }]);
    }
    if (settlement.because === undefined && shownBy(record) === null) return 'not-proven';
    const claimEndedForMs = checkWholeNumber(
      'callTimeMaxMs',
      settlement.callTimeMaxMs ?? callTimeOf(record),
      0,
    );
    return () => store.settle([{ ...by, to, response: null, claimEndedForMs }]);
  });
}

/** Lets a failed key run again. */
export function reopen(
  store: Store,
  actor: string | null,
  id: RecordId,
  given: Reopening,
): Promise<ActResult> {
  const { reason, effect } = given;
  return act(store, id, given, ['failed'], (fenced, record) => {
    if (record.reason === NEVER_KNOWN && effect !== 'none') return 'not-proven';
    return () => store.reopen([{ ...fenced, reason, actor, ...(effect !== undefined && { effect }) }]);
  });
}

/** Drops a record: its key acts as never used. */
export function forget(store: Store, actor: string | null, id: RecordId, given: Act): Promise<ActResult> {
  return act(
    store,
    id,
    given,
    ['completed', 'failed', 'retryable'],
    (fenced) => () => store.forget([{ ...fenced, reason: given.reason, actor }]),
  );
}

async function act(
  store: Store,
  { scope, key }: RecordId,
  { seen }: Act,
  states: readonly SamekeyRecord['state'][],
  prepare: (id: FencedId, record: SamekeyRecord) => RefusedBecause | Write,
): Promise<ActResult> {
  const [record] = await store.find([{ scope, key }]);
  if (record === null || record === undefined) return { kind: 'absent' };
  if (seen !== undefined && (seen.claimId !== record.claimId || seen.attempt !== record.attempt))
    return { kind: 'refused', because: 'changed', record };
  const { claimId, attempt } = record;
  const write = prepare({ scope, key, claimId, attempt }, record);
  if (typeof write === 'string') {
    return states.includes(record.state)
      ? { kind: 'refused', because: write, record }
      : { kind: 'refused', because: 'state', record };
  }
  // The store decides, not what was read: the record may have moved on since.
  const [result] = await write();
  if (result === undefined || result.kind === 'refused') {
    const now = result?.record ?? null;
    return { kind: 'refused', because: refusalOf(record, now, states.includes(record.state)), record: now };
  }
  return { kind: result.kind, record };
}

/** Why the store refused it, from what stood there before and now. */
function refusalOf(before: SamekeyRecord, now: SamekeyRecord | null, fitted: boolean): RefusedBecause {
  const isSame = now !== null && now.claimId === before.claimId && now.attempt === before.attempt;
  if (!isSame) return 'changed';
  if (!fitted) return 'state';
  // Where nothing has moved, only the time stood in the way.
  return now.state === before.state ? 'too-early' : 'changed';
}
