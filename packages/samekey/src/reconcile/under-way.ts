/**
 * Whether a provider may speak of a call whose id nobody has noted yet (F153): its webhook overtook the answer to the call. It is to come
 * again then, and be found. Ids of strangers are told so at once at all other times, because providers switch off endpoints that only
 * answer 503.
 *
 * Invariant: one call keeps strangers away for `callTimeMaxMs` at most, counted from the first word that was about nobody while it was under
 * way.
 */

import type { StoreWithMessages } from '../core/message.ts';
import type { SamekeyRecord, State } from '../core/record.ts';
import type { Store } from '../core/store.ts';
import type { World } from '../core/world.ts';
import { openEffectOf } from './effect-of.ts';
import { type CallRule, callTimeOf } from './no-effect.ts';
import type { Watch } from './watch.ts';

/** What it needs. */
export interface UnderWayOptions {
  readonly store: Store;
  readonly world: World;
  /** Records that are looked at, at most. */
  readonly lookupMax: number;
  readonly ruleOf: (operation: string) => CallRule;
  readonly watchedMs: Watch;
}

/** States in which a call may be under way: its owner may have died within it. */
const STATES: readonly State[] = ['in_progress', 'unknown', 'retryable'];
/** Inputs are read with their records: so many at once. */
const PAGE = 100;

/** The state of a request of the operations whose call may be under way without a noted id; null when there is none. */
export async function stateUnderWay(
  operations: readonly string[],
  options: UnderWayOptions,
): Promise<State | null> {
  for (const operation of operations) {
    const state = await inRecords(operation, options);
    if (state !== null) return state;
  }
  return inMessages(operations, options);
}

async function inRecords(
  operation: string,
  { store, world, lookupMax, ruleOf, watchedMs }: UnderWayOptions,
): Promise<State | null> {
  let before: number | null = null;
  for (let left = lookupMax; left > 0; ) {
    const limit = Math.min(PAGE, left);
    const page: readonly SamekeyRecord[] = await store.list({
      states: STATES,
      limit,
      operation,
      ...(before === null ? {} : { createdBefore: before }),
    });
    for (const record of page) {
      if (record.intentAt === null) continue;
      const effect = await openEffectOf(record, world);
      if (effect !== null && effect.providerId !== null) continue;
      const callTimeMs = callTimeOf(effect, ruleOf(record.operation));
      const isOver = record.state !== 'in_progress' && world.wallNow() > record.lockedUntil + callTimeMs;
      if (!isOver && watchedMs(record) <= callTimeMs) return record.state;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return null;
    left -= page.length;
    // Those of one moment are shown again, unless they are all of a page.
    const next: number = Math.floor(last.createdAt) + 1;
    before = before !== null && next >= before ? Math.floor(last.createdAt) : next;
  }
  return null;
}

/** Deliveries of what was handed over. */
async function inMessages(
  operations: readonly string[],
  { store, ruleOf, watchedMs }: UnderWayOptions,
): Promise<State | null> {
  const { messages } = store as Partial<StoreWithMessages>;
  const leased = (await messages?.list({ states: ['leased'], limit: PAGE })) ?? [];
  for (const { owner, providerId, leaseId } of leased) {
    if (owner === null || providerId !== null) continue;
    const record = (await store.find([owner]))[0] ?? null;
    if (record === null || record.state !== 'pending') continue;
    if (!operations.includes(record.operation)) continue;
    const delivery = { scope: owner.scope, key: owner.key, claimId: leaseId ?? owner.claimId };
    if (watchedMs(delivery) <= callTimeOf(null, ruleOf(record.operation))) return record.state;
  }
  return null;
}
