/**
 * What the parts of the store contract share: the shape of a harness, requests with defaults, and short ways to say
 * "this was claimed". Durations are chosen so that each is far from the others: claim 10 s, retention 100 s.
 */

import assert from 'node:assert/strict';
import { type Fence, FORMAT_VERSION, type RecordId, type SamekeyRecord } from 'samekey/internals/core/record';
import type { StoredResponse } from 'samekey/internals/core/response';
import type {
  ClaimRequest,
  ClaimResult,
  EraseRequest,
  FencedId,
  FinishRequest,
  ForgetRequest,
  FoundReason,
  HandRequest,
  HandResult,
  RenewRequest,
  SettleRequest,
  Store,
} from 'samekey/internals/store/store';
import type { Within } from 'samekey/internals/store/transaction';

/** The test runner, passed in: vitest, node:test, mocha and jest all fit. */
export interface TestRunner {
  describe(title: string, body: () => void): unknown;
  it(title: string, body: () => Promise<void>): unknown;
}

/** The store's verbs inside a user's transaction. */
export type WithinTransaction = Pick<Within, 'finish' | 'checkpoint' | 'handOver' | 'reserve' | 'record'>;

/** A fresh, empty store and the means to test it. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Moves every clock the store goes by, of all handles, wall and monotonic. */
  advance(ms: number): void | Promise<void>;
  /**
   * Moves the server's clock alone, as if it was set: nothing else passes. Required when a server's clock is believed only after it has kept
   * pace (`onClockOff` of a store with `serverClock`).
   */
  step?(ms: number): void | Promise<void>;
  /**
   * Another handle on the same data, as another process would hold it, with an application clock that is off. Required when
   * the store is `shared`, absent when it is not.
   */
  another?(options: { readonly wallOffsetMs: number }): Promise<Store>;
  /**
   * The same data behind a new handle, as a process opens it that was started again; called after `store.close()`. Required when
   * the store is `durable` and not `shared`; else `another` does, or nothing is left to open.
   */
  reopened?(): Promise<Store>;
  /** Runs `body` in a user's transaction, which a throw rolls back. Required when the store has `transactions`. */
  transaction?<T>(body: (within: WithinTransaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** How the contract gets stores. */
export interface StoreHarness {
  readonly name: string;
  /** Whether the store can write each change of state into the audit; `create` is then also asked for one that does. */
  readonly auditsTransitions?: boolean;
  /** A fresh, empty store, `ready()`. */
  create(options?: { readonly auditTransitions: boolean }): Promise<StoreUnderTest>;
}

/** Adds one test: it gets a store of its own, closed afterwards. */
export type AddTest = (title: string, body: (t: StoreUnderTest) => Promise<void>) => void;

export const CLAIM_TTL_MS = 10_000;
export const RETENTION_MS = 100_000;
export const ID: RecordId = { scope: 'tenant-1/payments', key: 'key-1' };
export const FINGERPRINT = { label: 'v1/sha256', digest: 'digest-of-the-first-body' };

let claimIds = 0;

/** A claimId no other call gives. */
export function newClaimId(): string {
  claimIds += 1;
  return `claim-${claimIds}`;
}

/** A claim with a fresh claimId. */
export function claimRequest(overrides: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    ...ID,
    operation: 'POST /payments',
    claimId: newClaimId(),
    claimTtlMs: CLAIM_TTL_MS,
    fingerprint: FINGERPRINT,
    whenClaimEnds: 'unknown',
    retentionMs: RETENTION_MS,
    replayMinMs: RETENTION_MS,
    tombstoneMs: 0,
    attemptMax: 10,
    formatVersion: FORMAT_VERSION,
    readVersion: FORMAT_VERSION,
    entry: 'run',
    input: null,
    pendingTimeMaxMs: CLAIM_TTL_MS,
    takesSteps: true,
    ...overrides,
  };
}

export const ANSWER: StoredResponse = {
  status: 201,
  headers: [['content-type', 'application/json']],
  body: new TextEncoder().encode('{"id":1}'),
};

/** What a refused request is told by hand. */
export const REFUSAL: StoredResponse = { ...ANSWER, status: 402 };

/** The end of an attempt; a final one carries an answer, `retryable` a proof. */
export function finishRequest(
  owner: FencedId,
  to: FinishRequest['to'],
  overrides: Partial<FinishRequest> = {},
): FinishRequest {
  return {
    ...fencedId(owner),
    to,
    proof: to === 'retryable' ? 'declared' : null,
    reason: null,
    response: to === 'completed' || to === 'failed' ? ANSWER : null,
    unbindFingerprint: false,
    extendMs: 0,
    reconcileAfterMs: 5_000,
    handedOver: false,
    ...overrides,
  };
}

/** An unknown outcome decided. */
export function settleRequest(owner: FencedId, to: SettleRequest['to']): SettleRequest {
  return {
    ...fencedId(owner),
    to,
    reason: 'asked the bank',
    actor: 'reconciler-1',
    response: to === 'retryable' ? null : to === 'failed' ? REFUSAL : ANSWER,
  };
}

/** An act by hand on a record as it was seen. */
export function handRequest(owner: FencedId, reason = 'mended'): HandRequest {
  return { ...fencedId(owner), reason, actor: 'operator-1' };
}

/** Drops a record as it is found now. */
export async function forgetAsSeen(
  store: Pick<Store, 'find' | 'forget'>,
  owner: FencedId,
  by: Partial<ForgetRequest> = {},
): Promise<readonly HandResult[]> {
  const [record] = await store.find([owner]);
  return store.forget([{ ...handRequest(owner), state: record?.state ?? 'completed', ...by }]);
}

/** Empties a caller's records, by hand. */
export function eraseRequest(scope: string, limit = 100): EraseRequest {
  return { scope, limit, reason: 'asked to be forgotten', actor: 'operator-1' };
}

/** A renewal for the usual time. */
export function renewRequest(owner: FencedId): RenewRequest {
  return { ...fencedId(owner), claimTtlMs: CLAIM_TTL_MS };
}

/** Nothing but the id and the fence. */
export function fencedId({ scope, key, claimId, attempt }: FencedId): FencedId {
  return { scope, key, claimId, attempt };
}

/** The only result of a call with one request. */
export function only<T>(results: readonly T[]): T {
  assert.equal(results.length, 1, 'one request gets one result');
  return results[0] as T;
}

/** Claims, expects to get it, and returns the fence. */
export async function claimed(store: Store, overrides: Partial<ClaimRequest> = {}): Promise<FencedId> {
  const request = claimRequest(overrides);
  const result = only(await store.claim([request]));
  assert.equal(result.kind, 'claimed', `the claim must be granted, got ${describeResult(result)}`);
  const fence: Fence = { claimId: request.claimId, attempt: result.kind === 'claimed' ? result.attempt : 0 };
  return { scope: request.scope, key: request.key, ...fence };
}

/** Claims, expects to be told why not, and returns what was found. */
export async function foundBecause(
  store: Store,
  because: FoundReason,
  overrides: Partial<ClaimRequest> = {},
): Promise<Extract<ClaimResult, { kind: 'found' }>> {
  const result = only(await store.claim([claimRequest(overrides)]));
  assert.ok(result.kind === 'found', `the claim must be refused, got ${describeResult(result)}`);
  assert.equal(result.because, because);
  return result;
}

/** Claims and finishes. */
export async function finished(
  store: Store,
  to: FinishRequest['to'],
  overrides: Partial<ClaimRequest> = {},
): Promise<FencedId> {
  const owner = await claimed(store, overrides);
  const result = only(await store.finish([finishRequest(owner, to)]));
  assert.equal(result.kind, 'applied');
  return owner;
}

/** The record, which must be there. */
export async function recordOf(store: Store, id: RecordId = ID): Promise<SamekeyRecord> {
  const record = only(await store.find([{ scope: id.scope, key: id.key }]));
  assert.ok(record !== null, 'the record must be there');
  return record;
}

/** A result in a few words: `found in-progress`, `claimed 2`, `applied`. */
export function describeResult(result: { readonly kind: string }): string {
  const { kind, because, attempt } = result as { kind: string; because?: string; attempt?: number };
  return [kind, because, attempt].filter((word) => word !== undefined).join(' ');
}
