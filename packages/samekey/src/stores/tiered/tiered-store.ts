/**
 * A store made of a store and caches in front of it: claims that meet a final answer which was read a moment ago are
 * answered from memory or from a cache that processes share. Everything else is the store's, untouched: it alone
 * grants, writes and decides.
 *
 * Invariants
 * - Only what the store itself has told of a claim is kept, and only what it called final, with its body, bound to a
 *   request.
 * - Kept it is `trustMs` at most from when the store was asked (memory) or read it (shared cache), never past the
 *   record's expiry, and answered only to an equal fingerprint, label and digest. So it is over before a reopened or
 *   forgotten key runs again (F62).
 * - `find` is never answered from a cache: who reads decides by it (unclear commits, waiting, operators).
 * - A worker's claim (`take`) and a claimId that stands in the record itself go to the store.
 */

import type { RecordId } from '../../core/record.ts';
import { isReplayable } from '../../core/record.ts';
import { askingNow, type Asked } from '../../engine/replay-cache.ts';
import type { ClaimRequest, ClaimResult, Store } from '../../store/store.ts';
import { createHeldBack } from './held-back.ts';
import { createMemoryTier } from './memory-tier.ts';
import { type CacheCounts, checkOptions, type TieredStoreOptions } from './options.ts';
import { createSharedTier, type Trusted } from './shared-tier.ts';

/** The store it was made of, with what its caches have done. */
export type Tiered<S extends Store> = S & { cacheCounts(): Readonly<CacheCounts> };

type Found = Extract<ClaimResult, { readonly kind: 'found' }>;

/** What was opened by hand is asked of the store for this much longer than anything is trusted. */
const HOLD_EXTRA_MS = 1_000;

/** Makes a tiered store. Give it to every part of an application. Throws `OptionsError`. */
export function tieredStore<S extends Store>(options: TieredStoreOptions<S>): Tiered<S> {
  const checked = checkOptions(options);
  const { world, trustMs } = checked;
  const { store } = options;
  const counts: CacheCounts = {
    memoryHits: 0,
    sharedHits: 0,
    sharedMisses: 0,
    sharedRefused: 0,
    sharedSkipped: 0,
    sharedFailures: 0,
    fills: 0,
    fillsDropped: 0,
  };
  const memory = createMemoryTier(checked);
  const shared = checked.shared === null ? null : createSharedTier(checked.shared, checked, counts);
  const held = createHeldBack(world, trustMs + HOLD_EXTRA_MS);

  /** Answers what the shared cache may answer, and takes it off the open ones. */
  async function askShared(open: Map<number, ClaimRequest>, results: ClaimResult[]): Promise<void> {
    const asked = [...open].filter(([, request]) => request.entry !== 'take' && !held.has(request));
    if (shared === null || asked.length === 0 || !shared.mayAsk()) return;
    // Before: what is left of trust is told of a moment since, and this process may stand still behind it.
    const at = askingNow(world);
    const found = await shared.lookup(asked.map(([, { scope, key }]) => ({ scope, key })));
    for (const [n, [i, request]] of asked.entries()) {
      const trusted = found[n] ?? null;
      // Held back while it was looked up: what it found is of before.
      if (trusted === null || held.has(request)) continue;
      if (!isAnswerTo(trusted, request)) {
        counts.sharedRefused += 1;
        continue;
      }
      counts.sharedHits += 1;
      memory?.put(trusted, at);
      results[i] = foundAs(trusted);
      open.delete(i);
    }
  }

  /** Keeps what the store has said, or lets go of what it no longer says. */
  function learn(request: ClaimRequest, result: ClaimResult, asked: Asked): void {
    const isFinal = result.kind === 'found' && result.because === 'final';
    if (!isFinal) {
      memory?.drop(request);
      return;
    }
    const readAt = result.record.expiresAt - result.lifeLeftMs;
    const isKept = isKeepable(result, readAt) && !held.has(request);
    if (isKept) {
      const { record, lifeLeftMs, trustLeftMs = trustMs } = result;
      memory?.put({ record, lifeLeftMs, trustLeftMs: Math.min(trustMs, trustLeftMs) }, asked);
    }
    // What another tier has read is its own to share: nobody here knows when that was.
    if (result.trustLeftMs === undefined) shared?.read(result.record, readAt, asked, isKept);
  }

  async function claim(requests: readonly ClaimRequest[]): Promise<readonly ClaimResult[]> {
    const results: ClaimResult[] = [];
    const open = new Map<number, ClaimRequest>();
    for (const [i, request] of requests.entries()) {
      const known =
        request.entry === 'take' || held.has(request) ? null : memory?.get(request, request.fingerprint);
      if (known && isAnswerTo(known, request)) {
        counts.memoryHits += 1;
        results[i] = foundAs(known);
      } else open.set(i, request);
    }
    const missed = open.size;
    if (shared !== null && missed > 0) await askShared(open, results);
    let finals = missed - open.size;
    if (open.size > 0 || requests.length === 0) {
      const asked = askingNow(world);
      const answers = await store.claim([...open.values()]);
      for (const [n, [i, request]] of [...open].entries()) {
        const result = answers[n] as ClaimResult;
        results[i] = result;
        if (result.kind === 'found' && result.because === 'final') finals += 1;
        learn(request, result, asked);
      }
    }
    shared?.saw(missed, finals);
    return results;
  }

  /** An act by hand: whatever becomes of it, nothing read before it is given out here any more. */
  async function byHand<Request extends RecordId, Result>(
    requests: readonly Request[],
    act: (requests: readonly Request[]) => Promise<Result>,
  ): Promise<Result> {
    const hold = (): void => {
      for (const request of requests) {
        held.hold(request);
        memory?.drop(request);
      }
    };
    hold();
    try {
      return await act(requests);
    } finally {
      hold();
      if (requests.length > 0) await shared?.drop(requests);
    }
  }

  return {
    ...store,
    ...(options.hints !== undefined && { hints: options.hints }),
    claim,
    settle: (requests) => byHand(requests, (rows) => store.settle(rows)),
    reopen: (requests) => byHand(requests, (rows) => store.reopen(rows)),
    forget: (requests) => byHand(requests, (rows) => store.forget(rows)),
    async erase(request) {
      held.holdCaller(request.scope);
      try {
        return await store.erase(request);
      } finally {
        held.holdCaller(request.scope);
      }
    },
    cacheCounts: () => ({ ...counts }),
  };
}

/**
 * Whether the store would say "final" to this request of this record. Where it might say anything else, it is asked.
 */
function isAnswerTo({ record }: Trusted, request: ClaimRequest): boolean {
  const { fingerprint } = record;
  return (
    fingerprint !== null &&
    fingerprint.label === request.fingerprint.label &&
    fingerprint.digest === request.fingerprint.digest &&
    record.formatVersion <= request.readVersion &&
    record.claimId !== request.claimId
  );
}

/** What a reopening waits for. Anything else final runs again at once when it is opened, so nobody may keep it. */
function isKeepable({ record, lifeLeftMs }: Found, readAt: number): boolean {
  const isWhole = record.unreadable === undefined && record.fingerprint !== null;
  return isWhole && lifeLeftMs > 0 && isReplayable(record, readAt);
}

function foundAs({ record, lifeLeftMs, trustLeftMs }: Trusted): Found {
  return { kind: 'found', because: 'final', record, claimLeftMs: 0, ageMs: 0, lifeLeftMs, trustLeftMs };
}
