/**
 * What a store offers beyond records works, and what it does not offer is refused at start, in words: nobody finds out with the
 * first payment that there was no transaction, no outbox, no count of keys.
 */

import assert from 'node:assert/strict';
import { createLimits } from 'samekey/internals/guard/index';
import { createOperator } from 'samekey/internals/operator/index';
import { createOutbox } from 'samekey/internals/outbox/index';
import { createSamekey, type Samekey } from 'samekey/internals/samekey';
import type { MessageStore } from 'samekey/internals/store/message';
import type { Store } from 'samekey/internals/store/store';
import type { TransactionSource } from 'samekey/internals/store/transaction';
import { createWorker } from 'samekey/internals/worker/index';
import {
  type AddTest,
  claimed,
  finishRequest,
  ID,
  only,
  recordOf,
  type StoreHarness,
  type TestRunner,
} from './context.ts';

/** What a record has beside its answer, at most. */
const HEAD_BYTES = 8 * 1024;
const SIZE_TRIED_MAX_BYTES = 2 * 1024 * 1024;

const REFUSED = { code: 'ERR_SAMEKEY_OPTIONS' };

export function offerTests(test: AddTest): void {
  // F14, F16, F22, F46, F60, F63, F64: what goes wrong inside transactions cannot go wrong where there is none.
  test('its transactional way is there with its transactions, and refused at start without them', async ({
    store,
  }) => {
    assert.throws(() => define(createSamekey({ store })), REFUSED);
    const source = sourceOf(store.name);
    if (store.capabilities.transactions) {
      define(createSamekey({ store, transactions: source }));
      const reserve = (): unknown => define(createSamekey({ store, transactions: source }), 'in-transaction');
      if (store.capabilities.transactionLock) reserve();
      else assert.throws(reserve, REFUSED);
    } else assert.throws(() => createSamekey({ store, transactions: source }), REFUSED);
    // Those of another database would commit apart from the record.
    const elsewhere = sourceOf(`not-${store.name}`);
    assert.throws(() => createSamekey({ store, transactions: elsewhere }), REFUSED);
  });

  // F46, F51, F52, F53
  test('its outbox and handlers of messages are there with its messages, and refused at start without them', async ({
    store,
  }) => {
    const handlers = { mail: () => undefined };
    const operator = createOperator({ store, actor: 'operator-1' });
    if (messagesIn(store) === undefined) {
      assert.throws(() => createOutbox({ store }), REFUSED);
      assert.throws(() => createWorker({ store, handlers }), REFUSED);
    } else {
      assert.deepEqual(await createOutbox({ store }).count(), []);
      assert.equal(typeof createWorker({ store, handlers }).start, 'function');
    }
    assert.deepEqual(await operator.deadLetters(), []);
    // Operations are pushed on and claims are ended on every store.
    assert.equal(typeof createWorker({ store }).start, 'function');
  });

  test('a limit of stored keys is there with its counts, and refused at start without them', async ({
    store,
  }) => {
    const activeKeys = { store, max: 10 };
    if (store.counters === undefined) return assert.throws(() => createLimits({ activeKeys }), REFUSED);
    await createLimits({ activeKeys }).flush();
    await claimed(store, { scope: 'counted|payments' });
    assert.equal(await store.counters.recount('counted'), 1);
    assert.equal((await store.counters.read(['counted', 'never-counted'])).get('counted'), 1);
  });

  test('its hints never stand in the way: they return at once, may come late or never, and throw nothing', async ({
    store,
  }) => {
    if (store.hints === undefined) return assert.ok(!('hints' in store), 'no hints is no member');
    let told = 0;
    const end = store.hints.watch(ID, () => (told += 1));
    assert.equal(store.hints.changed(ID), undefined);
    store.hints.changed({ ...ID, key: 'watched by nobody' });
    end();
    end();
    assert.ok(told >= 0);
    assert.equal((await claimed(store)).attempt, 1);
  });

  test('its times differ by no less than it says', async (t) => {
    const { timePrecisionMs } = t.store.capabilities;
    assert.ok(Number.isInteger(timePrecisionMs) && timePrecisionMs >= 1);
    await claimed(t.store, { key: 'before' });
    await t.advance(timePrecisionMs);
    await claimed(t.store, { key: 'after' });
    const [before, after] = [
      await recordOf(t.store, { ...ID, key: 'before' }),
      await recordOf(t.store, { ...ID, key: 'after' }),
    ];
    assert.equal(after.createdAt - before.createdAt, timePrecisionMs);
  });

  test('an answer of nearly the size it names is kept whole', async ({ store }) => {
    const { recordSizeMaxBytes } = store.capabilities;
    // Beyond that it is a matter of the machine's memory; two megabytes are kept by each of them.
    if (recordSizeMaxBytes === null || recordSizeMaxBytes > SIZE_TRIED_MAX_BYTES) return;
    const body = new Uint8Array(Math.max(0, recordSizeMaxBytes - HEAD_BYTES)).fill(7);
    const response = { status: 201, headers: [], body };
    const owner = await claimed(store);
    assert.equal(only(await store.finish([finishRequest(owner, 'completed', { response })])).kind, 'applied');
    assert.deepEqual((await recordOf(store)).response, response);
  });
}

/** A store that cannot write transitions says so when it is asked to, and never leaves them out in silence. */
export function withoutTransitionsTests(runner: TestRunner, harness: StoreHarness): void {
  runner.it('the audit of transitions is refused where it is not kept', async () => {
    await assert.rejects(harness.create({ auditTransitions: true }), REFUSED);
  });
}

function define(samekey: Samekey, reserve: 'before' | 'in-transaction' = 'before'): unknown {
  return samekey.transactional({ name: 'order', reserve, run: () => null });
}

/** Of a library that says it is in this database; nothing is run in it. */
function sourceOf(dialect: string): TransactionSource<unknown, unknown> {
  return { name: 'a library', dialect, run: runNothing } as unknown as TransactionSource<unknown, unknown>;
}

function messagesIn(store: Store): MessageStore | undefined {
  return (store as { readonly messages?: MessageStore }).messages;
}

function runNothing(): Promise<never> {
  return Promise.reject(new Error('nothing runs in this test'));
}
