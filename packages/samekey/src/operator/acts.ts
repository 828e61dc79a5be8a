/**
 * What an operator does to one record: look, act under the fence of what was seen, and if it is refused say what stands there now.
 * Nothing is forced, and nothing is tried again under another fence.
 */

import type { Fence, RecordId, SamekeyRecord } from '../core/record.ts';
import type { StoredResponse } from '../core/response.ts';
import type { FencedId, HandResult, Store } from '../core/store.ts';
import { type NoEffectBecause, shownBy } from './no-effect.ts';

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
}

/**
 * Why an act was refused. `state`: the record is in no state for it. `changed`: it is not what was seen any more. `not-proven`: "no
 * effect" without a word on why nothing can happen any more.
 */
export type RefusedBecause = 'state' | 'changed' | 'not-proven';

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

/** Decides an unknown outcome. */
export function settle(
  store: Store,
  actor: string | null,
  id: RecordId,
  settlement: Settlement,
): Promise<ActResult> {
  const { to, reason, response = null, because } = settlement;
  return act(store, id, settlement, ['unknown'], (fenced, record) => {
    if (to === 'retryable' && because === undefined && shownBy(record) === null) return 'not-proven';
    return () =>
      store.settle([{ ...fenced, to, reason, actor, response: to === 'retryable' ? null : response }]);
  });
}

/** Lets a failed key run again. */
export function reopen(store: Store, actor: string | null, id: RecordId, given: Act): Promise<ActResult> {
  return act(
    store,
    id,
    given,
    ['failed'],
    (fenced) => () => store.reopen([{ ...fenced, reason: given.reason, actor }]),
  );
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
    const moved =
      now === null || now.claimId !== claimId || now.attempt !== attempt || states.includes(record.state);
    return { kind: 'refused', because: moved ? 'changed' : 'state', record: now };
  }
  return { kind: result.kind, record };
}
