/**
 * The contract of whose a database is (F116): a store of another service is given nothing that is this one's, whatever it asks first; all
 * processes of one service are one; and a copy gets a name of its own.
 */

import assert from 'node:assert/strict';
import { isStoreError } from 'samekey/internals/core/errors';
import { createSamekey } from 'samekey/internals/samekey';
import type { MigrateRequest, StoreIdentity } from 'samekey/internals/store/identity';
import type { StoreWithMessages } from 'samekey/internals/store/message';
import type { Store } from 'samekey/internals/store/store';
import {
  claimed,
  claimRequest,
  eraseRequest,
  finished,
  finishRequest,
  forgetAsSeen,
  foundBecause,
  handRequest,
  ID,
  recordOf,
  renewRequest,
  settleRequest,
  type TestRunner,
} from './contract/context.ts';
import { message } from './outbox/bench.ts';

/** A store that says whose its keys are. */
export type IdentifiedStore = Store &
  Partial<StoreWithMessages> & {
    migrate?(request?: MigrateRequest): Promise<void>;
  };

/** One place where stores of several services might meet. */
export interface PlaceUnderTest {
  /** A store made for this service, as by a process of its own. Nothing is checked or made yet. */
  open(service: string): IdentifiedStore;
  close(): Promise<void>;
}

/** How the contract gets them. */
export interface IdentityHarness {
  readonly name: string;
  /** `refused`: another service is refused. `apart`: it has keys of its own there. */
  readonly others: 'refused' | 'apart';
  /** Whether the service `*` takes any. */
  readonly takesAny: boolean;
  /** An empty place. */
  create(): Promise<PlaceUnderTest>;
}

const BOTH = /belongs to the service "orders", and this store was made for "billing"/;

/** Adds the contract's tests to the runner. */
export function identityContract(runner: TestRunner, harness: IdentityHarness): void {
  const test = (title: string, body: (place: PlaceUnderTest) => Promise<void>): void => {
    runner.it(title, async () => {
      const place = await harness.create();
      try {
        await body(place);
      } finally {
        await place.close();
      }
    });
  };

  runner.describe(`identity contract: ${harness.name}`, () => {
    test('the processes of one service are one', async (place) => {
      const [first, second] = [await begun(place, 'orders'), await begun(place, 'orders')];
      assert.deepEqual(await identity(second), await identity(first));
      assert.equal((await identity(first)).service, 'orders');
      await finished(first, 'completed');
      await foundBecause(second, 'final');
    });

    if (harness.others === 'apart') {
      // F116
      test('another service has keys of its own', async (place) => {
        const [orders, billing] = [await begun(place, 'orders'), await begun(place, 'billing')];
        await finished(orders, 'completed');
        await finished(billing, 'completed');
        assert.notEqual((await identity(billing)).databaseId, (await identity(orders)).databaseId);
        assert.equal((await billing.list({})).length, 1);
        await billing.erase(eraseRequest(ID.scope));
        await foundBecause(orders, 'final');
      });
      return;
    }

    // F116
    test('a store of another service is refused, whatever it asks first, and nothing is done', async (place) => {
      const orders = await begun(place, 'orders');
      const owner = await claimed(orders);
      const before = await recordOf(orders);
      for (const [verb, ask] of Object.entries(FIRST_QUESTIONS)) {
        const billing = place.open('billing');
        try {
          // A message store is not everybody's.
          if (verb.startsWith('messages') && billing.messages === undefined) continue;
          await assert.rejects(ask(billing, owner), (error: unknown) => {
            assert.ok(isStoreError(error), `${verb}: ${String(error)}`);
            assert.equal(error.applied, 'no', verb);
            assert.match(error.message, BOTH, verb);
            return true;
          });
        } finally {
          await billing.close();
        }
      }
      assert.deepEqual(await recordOf(orders), before);
    });

    // F116
    test('the start of another service fails with what to do, and its handler never runs', async (place) => {
      await finished(await begun(place, 'orders'), 'completed');
      const billing = place.open('billing');
      await assert.rejects(billing.ready(), BOTH);
      await assert.rejects(identity(billing), BOTH);
      const samekey = createSamekey({ store: billing, replayCacheTimeMaxMs: 0 });
      let runs = 0;
      const outcome = await samekey.run(
        { operation: 'pay', policy: 'payments', scope: ['t'], key: 'key-of-a-payment', fingerprint: 1 },
        () => {
          runs += 1;
          return 1;
        },
      );
      assert.equal(outcome.kind, 'unavailable');
      assert.equal(runs, 0);
      await samekey.close({ drainMs: 0 });
    });

    test('of services that come at once one gets it, and every other is told', async (place) => {
      const stores = Array.from({ length: 6 }, (_, i) => place.open(i % 2 === 0 ? 'orders' : 'billing'));
      const ends = await Promise.allSettled(
        stores.map((store) => (store.migrate === undefined ? store.ready() : store.migrate())),
      );
      const owner = await Promise.any(stores.map((store) => identity(store)));
      for (const [i, end] of ends.entries()) {
        const isOwner = (i % 2 === 0 ? 'orders' : 'billing') === owner.service;
        assert.equal(end.status, isOwner ? 'fulfilled' : 'rejected', `store ${i} of ${owner.service}`);
        if (end.status === 'rejected') assert.match(String(end.reason), /belongs to the service/);
      }
      await Promise.all(stores.map((store) => store.close()));
    });

    // F116
    test('a copy is given to another service, under a name of its own', async (place) => {
      const orders = await begun(place, 'orders');
      if (orders.migrate === undefined) return;
      const before = await identity(orders);
      const billing = place.open('billing');
      await assert.rejects(billing.migrate?.() ?? Promise.resolve(), BOTH);
      await billing.migrate?.({ newIdentity: true });
      await billing.ready();
      const after = await identity(billing);
      assert.equal(after.service, 'billing');
      assert.notEqual(after.databaseId, before.databaseId);
      await assert.rejects(place.open('orders').ready(), /belongs to the service "billing"/);
      // Once more, and it has another name again.
      await billing.migrate?.({ newIdentity: true });
      assert.notEqual((await identity(place.open('billing'))).databaseId, after.databaseId);
    });

    if (!harness.takesAny) return;
    test('a tool takes whichever it is, and makes nothing that is nobody’s', async (place) => {
      const nobody = place.open('*');
      await assert.rejects(nobody.migrate?.() ?? Promise.resolve(), /has not been given to a service: name/);
      await nobody.close();
      const orders = await begun(place, 'orders');
      const tool = await begun(place, '*');
      assert.deepEqual(await identity(tool), await identity(orders));
      await finished(orders, 'completed');
      await foundBecause(tool, 'final');
    });
  });
}

/** Every store that is under this contract says whose it is. */
async function identity(store: IdentifiedStore): Promise<StoreIdentity> {
  assert.ok(store.identity !== undefined, 'the store must say whose it is');
  return store.identity();
}

async function begun(place: PlaceUnderTest, service: string): Promise<IdentifiedStore> {
  const store = place.open(service);
  await store.migrate?.();
  await store.ready();
  return store;
}

type Owner = Awaited<ReturnType<typeof claimed>>;

/** What a process may ask first. Where it changes something, it asks for what stands there. */
const FIRST_QUESTIONS: Readonly<Record<string, (store: IdentifiedStore, owner: Owner) => Promise<unknown>>> =
  {
    claim: (store) => store.claim([claimRequest()]),
    renew: (store, owner) => store.renew([renewRequest(owner)]),
    finish: (store, owner) => store.finish([finishRequest(owner, 'completed')]),
    find: (store) => store.find([ID]),
    sweep: (store) => store.sweep(10),
    reap: (store) => store.reap(10),
    due: (store) => store.due({ operations: ['pay'], limit: 10 }),
    takeUnknown: (store) => store.takeUnknown({ operations: null, leaseMs: 1_000, limit: 10 }),
    settle: (store, owner) => store.settle([settleRequest(owner, 'retryable')]),
    reopen: (store, owner) => store.reopen([handRequest(owner)]),
    forget: (store, owner) => forgetAsSeen(store, owner),
    erase: (store) => store.erase(eraseRequest(ID.scope)),
    list: (store) => store.list({}),
    count: (store) => store.count(),
    'messages.take': async (store) =>
      store.messages?.take({
        topics: ['mail'],
        limit: 1,
        leaseId: 'lease',
        leaseMs: 1_000,
        suspectsMax: 1,
        deliveriesMax: 5,
      }),
    'messages.enqueue': async (store) => store.messages?.enqueue([message()]),
    'messages.list': async (store) => store.messages?.list({}),
  };
