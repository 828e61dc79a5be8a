/**
 * The contract of hostile sessions (F121): whatever a server, a user or a driver makes of the sessions that a store and a library get, what is
 * acknowledged is committed, seen by others, and runs once; or the store says in words that it cannot work there. One database for each setting.
 */

import assert from 'node:assert/strict';
import { isStoreError } from 'samekey/internals/core/errors';
import type { StoreWithMessages } from 'samekey/internals/store/message';
import type { Store } from 'samekey/internals/store/store';
import type { TransactionalStore, TransactionSource } from 'samekey/internals/store/transaction';
import { createSamekey } from 'samekey/internals/samekey';
import { claimRequest, finishRequest, only, renewRequest, type TestRunner } from './contract/context.ts';
import { message, takeOne } from './outbox/bench.ts';

/** A database with the table `orders (id text, amount int)`, and a store and a library whose sessions all have the setting. */
export interface SessionsUnderTest {
  readonly store: Store & TransactionalStore & Partial<StoreWithMessages>;
  readonly source: TransactionSource<unknown, unknown>;
  /** Inserts an order by the library's own means. */
  insert(tx: unknown, id: string): Promise<unknown>;
  /** The ids of all orders, and of all records that are in this state, seen by a session of somebody else's. */
  orders(): Promise<readonly string[]>;
  keys(state: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** One setting. */
export interface HostileSetting {
  /** What every session is told when it is opened. */
  readonly sql: string;
  /** What the store says of it, if it cannot work there; default: it works as ever. */
  readonly refused?: RegExp;
  /** False: only the store's own sessions have it, because the library's transactions could write nothing. Default true. */
  readonly ofLibrary?: boolean;
}

/** How the contract gets them. */
export interface SessionsHarness {
  readonly name: string;
  readonly settings: readonly HostileSetting[];
  open(setting: HostileSetting): Promise<SessionsUnderTest>;
}

/** Adds the contract's tests to the runner. */
export function sessionsContract(runner: TestRunner, harness: SessionsHarness): void {
  runner.describe(`sessions contract: ${harness.name}`, () => {
    for (const setting of harness.settings) {
      const { sql, refused } = setting;
      runner.it(`${sql}: ${refused === undefined ? 'all goes as ever' : 'is refused in words'}`, async () => {
        const t = await harness.open(setting);
        try {
          if (refused === undefined) await asEver(t);
          else await isRefused(t.store, refused);
        } finally {
          await t.close();
        }
      });
    }
  });
}

async function asEver(t: SessionsUnderTest): Promise<void> {
  const { store } = t;
  // Several times, because what one statement leaves behind meets the next.
  for (const turn of ['1', '2', '3']) {
    const keys = [`a${turn}`, `b${turn}`, `c${turn}`];
    const requests = keys.map((key) => claimRequest({ key }));
    assert.deepEqual(
      (await store.claim(requests)).map(({ kind }) => kind),
      ['claimed', 'claimed', 'claimed'],
    );
    assert.deepEqual(await t.keys('in_progress'), keys, 'what was claimed is seen by others');
    const owners = requests.map(({ scope, key, claimId }) => ({ scope, key, claimId, attempt: 1 }));
    assert.deepEqual(
      (await store.renew(owners.map(renewRequest))).map(({ kind }) => kind),
      ['renewed', 'renewed', 'renewed'],
    );
    assert.deepEqual(
      (await store.finish(owners.map((owner) => finishRequest(owner, 'completed')))).map(({ kind }) => kind),
      ['applied', 'applied', 'applied'],
    );
    assert.deepEqual(await t.keys('in_progress'), [], 'what was finished is seen by others');
    const again = only(await store.claim([claimRequest({ key: keys[0] ?? '' })]));
    assert.equal(again.kind === 'found' && again.because, 'final');
  }
  await messagesAsEver(t);
  await transactionsAsEver(t);
}

async function messagesAsEver({ store: { messages } }: SessionsUnderTest): Promise<void> {
  if (messages === undefined) return;
  for (let turn = 0; turn < 2; turn += 1) {
    await messages.enqueue([message()]);
    const { id, place, leaseId, started } = await takeOne(messages);
    assert.deepEqual(await messages.done([{ id, place, leaseId, started, record: null }]), ['applied']);
    assert.deepEqual(await messages.list({}), []);
  }
}

async function transactionsAsEver(t: SessionsUnderTest): Promise<void> {
  const samekey = createSamekey({ store: t.store, transactions: t.source, replayCacheTimeMaxMs: 0 });
  let runs = 0;
  const order = samekey.transactional({
    name: 'order',
    async run(id: string, attempt) {
      runs += 1;
      await t.insert(attempt.tx, id);
      return id;
    },
  });
  const ids = ['o-1', 'o-2', 'o-3'];
  try {
    for (const [i, id] of ids.entries()) {
      const request = { scope: ['t'], key: id, input: id };
      assert.equal((await order.run(request)).kind, 'executed');
      assert.deepEqual(await t.orders(), ids.slice(0, i + 1), 'what was answered is seen by others');
      assert.equal((await order.run(request)).kind, 'replay');
    }
    assert.equal(runs, ids.length);
  } finally {
    await samekey.close({ drainMs: 0 });
  }
}

async function isRefused(store: Store, refused: RegExp): Promise<void> {
  await assert.rejects(store.claim([claimRequest()]), (error: unknown) => {
    assert.ok(isStoreError(error), String(error));
    assert.equal(error.applied, 'no');
    assert.match(error.message, refused);
    return true;
  });
  await assert.rejects(store.ready(), refused);
}
