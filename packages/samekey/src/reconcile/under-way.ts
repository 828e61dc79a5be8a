/**
 * Whether a provider may speak of a call whose id nobody has noted yet (F153): its webhook overtook the answer to the
 * call. It is to come again then, and be found. Ids of strangers are told so at once at all other times, because
 * providers switch off endpoints that only answer 503.
 *
 * Invariant: one call keeps strangers away for `callTimeMaxMs` at most, counted from the first word that was about
 * nobody while it was under way.
 */

import type { StoreWithMessages } from '../store/message.ts';
import type { SamekeyRecord, State } from '../core/record.ts';
import type { CallUnderWay } from '../store/references.ts';
import { openIntent, readSteps } from '../ways/steps.ts';
import type { Store } from '../store/store.ts';
import type { World } from '../core/world.ts';
import type { CallRule } from './no-effect.ts';
import type { Watch } from './watch.ts';

/** What it needs. */
interface UnderWayOptions {
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
  for await (const call of callsUnderWay(operations, options)) {
    if (mayBeUnderWay(call, options)) return call.state;
  }
  return null;
}

async function* callsUnderWay(
  operations: readonly string[],
  options: UnderWayOptions,
): AsyncGenerator<CallUnderWay, void> {
  const { references } = options.store;
  if (references !== undefined) {
    yield* await references.underWay(operations, options.lookupMax);
    return;
  }
  for (const operation of operations) yield* inRecords(operation, options);
  yield* inMessages(operations, options);
}

function mayBeUnderWay(call: CallUnderWay, { ruleOf, watchedMs, world }: UnderWayOptions): boolean {
  const { state, lockedUntil, steps, operation } = call;
  const intent = openIntent(readSteps(steps) ?? [])?.call;
  if (intent?.providerId !== undefined) return false;
  const callTimeMs = Math.max(ruleOf(operation).callTimeMaxMs, intent?.timeMaxMs ?? 0);
  // Only a claim, or a lease, tells that its owner lives.
  const isHeld = state === 'in_progress' || state === 'pending';
  if (!isHeld && world.wallNow() > lockedUntil + callTimeMs) return false;
  return watchedMs(call) <= callTimeMs;
}

async function* inRecords(
  operation: string,
  { store, lookupMax }: UnderWayOptions,
): AsyncGenerator<CallUnderWay, void> {
  let before: number | null = null;
  for (let left = lookupMax; left > 0; ) {
    const limit = Math.min(PAGE, left);
    const page: readonly SamekeyRecord[] = await store.list({
      states: STATES,
      limit,
      operation,
      ...(before === null ? {} : { createdBefore: before }),
    });
    yield* page.filter(({ intentAt }) => intentAt !== null);
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    left -= page.length;
    // Those of one moment are shown again, unless they are all of a page.
    const next: number = Math.floor(last.createdAt) + 1;
    before = before !== null && next >= before ? Math.floor(last.createdAt) : next;
  }
}

/** Deliveries of what was handed over. */
async function* inMessages(
  operations: readonly string[],
  { store }: UnderWayOptions,
): AsyncGenerator<CallUnderWay, void> {
  const { messages } = store as Partial<StoreWithMessages>;
  const leased = (await messages?.list({ states: ['leased'], limit: PAGE })) ?? [];
  for (const { owner, providerId, leaseId } of leased) {
    if (owner === null || providerId !== null) continue;
    const record = (await store.find([owner]))[0] ?? null;
    if (record === null || record.state !== 'pending') continue;
    if (!operations.includes(record.operation)) continue;
    const { scope, key, operation, state } = record;
    yield { scope, key, operation, state, claimId: leaseId ?? owner.claimId, lockedUntil: 0, steps: null };
  }
}
