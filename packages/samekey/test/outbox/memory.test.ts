/** The memory store holds the outbox contract. */

import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { message, take } from '../../../testing/src/outbox/bench.ts';
import { outboxContract } from '../../../testing/src/outbox-contract.ts';
import { memoryHarness } from '../stores/memory-harness.ts';

outboxContract({ describe, it }, memoryHarness());

describe('the memory store', () => {
  it('takes no more messages than it has room for, by themselves or within a transaction, and drops none', async () => {
    const store = memoryStore({ messagesMax: 2 });
    await store.messages.enqueue([message()]);
    const two = [message(), message()];
    await expect(store.messages.enqueue(two)).rejects.toMatchObject({ applied: 'no', transient: true });
    const full = store.transaction((tx) => {
      tx.set('order-1', { amount: 1 });
      store.within(tx).enqueue(two);
    });
    await expect(full).rejects.toMatchObject({ applied: 'no', transient: true });
    expect(store.transactionFault(await full.catch((error: unknown) => error))).toBe('rolled-back');
    expect(store.rows.entries()).toEqual([]);
    expect(await take(store.messages)).toHaveLength(1);
  });

  it('wakes whoever listens once a message is committed, and not before', async () => {
    const store = memoryStore();
    let heard = 0;
    const end = store.messages.listen?.(() => (heard += 1));
    await store.transaction((tx) => {
      store.within(tx).enqueue([message()]);
      expect(heard).toBe(0);
    });
    expect(heard).toBe(1);
    end?.();
    await store.messages.enqueue([message()]);
    expect(heard).toBe(1);
  });
});
