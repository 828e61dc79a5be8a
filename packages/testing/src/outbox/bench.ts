/** What the parts of the outbox contract share: messages with defaults, takes, and what a list shows of a message. */

import assert from 'node:assert/strict';
import type {
  DeadRequest,
  Lease,
  MessageStore,
  NewMessage,
  RetryRequest,
  StoredMessage,
  StoreWithMessages,
  TakenMessage,
  TakeRequest,
} from 'samekey/internals/store/message';
import { FORMAT_VERSION } from 'samekey/internals/core/record';
import type { ClaimRequest, FencedId, FinishRequest, Store } from 'samekey/internals/store/store';
import type { Within } from 'samekey/internals/store/transaction';

/** A fresh, empty store and the means to test it. */
export interface OutboxUnderTest {
  readonly store: Store & StoreWithMessages;
  /** Moves every clock the store goes by. */
  advance(ms: number): void | Promise<void>;
  /** Runs `body` in a user's transaction, which a throw rolls back. */
  transaction<T>(body: (within: Within) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** How the contract gets stores. */
export interface OutboxHarness {
  readonly name: string;
  /** A fresh, empty store, `ready()`. */
  create(): Promise<OutboxUnderTest>;
}

/** Adds one test: it gets a store of its own, closed afterwards. */
export type AddOutboxTest = (title: string, body: (t: OutboxUnderTest) => Promise<void>) => void;

export const LEASE_MS = 10_000;

let ids = 0;

/** A message with an id no other call gives. */
export function message(own: Partial<NewMessage> = {}): NewMessage {
  ids += 1;
  return {
    id: `message-${ids}`,
    topic: 'mail',
    group: null,
    payload: '{"to":"Zoë 💶"}',
    headers: null,
    delayMs: 0,
    owner: null,
    ...own,
  };
}

/** Takes what is due. */
export async function take(
  messages: MessageStore,
  own: Partial<TakeRequest> = {},
): Promise<readonly TakenMessage[]> {
  ids += 1;
  const request = {
    topics: ['mail'],
    limit: 100,
    leaseId: `lease-${ids}`,
    leaseMs: LEASE_MS,
    suspectsMax: 100,
    deliveriesMax: 10,
    ...own,
  };
  return (await messages.take(request)).taken;
}

/** Takes the one message that is due. */
export async function takeOne(messages: MessageStore, own: Partial<TakeRequest> = {}): Promise<TakenMessage> {
  const taken = await take(messages, own);
  assert.equal(taken.length, 1);
  return taken[0] as TakenMessage;
}

/** The message, wherever it is; undefined when it is gone. */
export async function look(messages: MessageStore, id: string): Promise<StoredMessage | undefined> {
  return (await messages.list({ limit: 1_000 })).find((each) => each.id === id);
}

/** A failed delivery's words. */
export function failed(
  lease: Lease,
  own: { delayMs?: number; proven?: boolean; begun?: boolean } = {},
): RetryRequest {
  return { ...lease, delayMs: 0, error: 'out of paper', proven: false, begun: true, ...own };
}

/** A message that is given up. */
export function given(lease: Lease, record: FinishRequest | null = null, begun = true): DeadRequest {
  return { ...lease, error: 'no such address', proven: false, begun, record };
}

/** The claim of an attempt. */
export function claimOf(owner: FencedId): ClaimRequest {
  return {
    ...owner,
    operation: 'mail',
    claimTtlMs: 60_000,
    fingerprint: { label: 'v1', digest: 'd' },
    whenClaimEnds: 'resume',
    retentionMs: 1_000_000,
    replayMinMs: 0,
    tombstoneMs: 0,
    attemptMax: 10,
    formatVersion: FORMAT_VERSION,
    readVersion: FORMAT_VERSION,
    entry: 'run',
    input: null,
    pendingTimeMaxMs: 0,
  };
}

/** A record that was handed over with a message, as the transactional way leaves it. */
export async function handedOver(t: OutboxUnderTest, key: string): Promise<FencedId> {
  const owner = { scope: 'tenant-1/mail', key, claimId: `claim-${key}`, attempt: 1 };
  const [claim] = await t.store.claim([claimOf(owner)]);
  assert.equal(claim?.kind, 'claimed');
  await t.transaction(async (within) => {
    await within.enqueue([message({ id: `of-${key}`, owner })]);
    assert.equal((await within.handOver(owner)).kind, 'applied');
  });
  return owner;
}

/** The end of a handed-over attempt. */
export function endOf(owner: FencedId, to: FinishRequest['to'] = 'completed', handed = true): FinishRequest {
  return {
    ...owner,
    to,
    proof: null,
    reason: null,
    response: null,
    unbindFingerprint: false,
    extendMs: 0,
    reconcileAfterMs: 0,
    handedOver: handed,
  };
}

/** The state of a record. */
export async function stateOf({ store }: OutboxUnderTest, owner: FencedId): Promise<string | undefined> {
  return (await store.find([owner]))[0]?.state;
}
