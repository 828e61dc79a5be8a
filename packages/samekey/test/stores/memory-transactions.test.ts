/** Transactions of the memory store: rows of the application's own, and who may commit. */

import { describe, expect, it } from 'vitest';
import { createSamekey } from '../../src/index.ts';
import { type MemoryTransaction, memoryStore } from '../../src/stores/memory/index.ts';
import { claimed, finishRequest, recordOf } from '../../../testing/src/contract/context.ts';
import { fromMemory } from '../../src/tx/memory/index.ts';

describe('transactions in memory', () => {
  it('of two that read and write the same row one runs again, and no write is lost', async () => {
    const store = memoryStore();
    const samekey = createSamekey({ store, transactions: fromMemory(store) });
    let runs = 0;
    let meet: (() => void) | undefined;
    const met = new Promise<void>((resolve) => (meet = resolve));
    const count = samekey.transactional({
      name: 'count',
      async run(_input: string, { tx }) {
        runs += 1;
        const before = (tx.get('counter') as number | undefined) ?? 0;
        if (runs === 2) meet?.();
        await met;
        tx.set('counter', before + 1);
        return before;
      },
    });
    const asked = ['a', 'b'].map((key) => count.run({ scope: ['t'], key, input: key }));
    const values = (await Promise.all(asked)).map((outcome) => outcome.kind === 'executed' && outcome.value);
    expect(new Set(values)).toEqual(new Set([0, 1]));
    expect([runs, store.rows.get('counter')]).toEqual([3, 2]);
  });

  // F60
  it('cannot commit once somebody has renewed, or moved, the record that it ends', async () => {
    const store = memoryStore();
    const owner = await claimed(store);
    const stale = store.transaction(async (tx) => {
      tx.set('order-1', 1);
      store.within(tx).finish(finishRequest(owner, 'completed'));
      await store.renew([{ ...owner, claimTtlMs: 10_000 }]);
    });
    const error = await stale.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'ERR_SAMEKEY_STORE', applied: 'no' });
    expect(store.transactionFault(error)).toBe('again');
    expect((await recordOf(store)).state).toBe('in_progress');
    expect(store.rows.get('order-1')).toBeUndefined();
  });

  it('commits nothing beyond its limit by the store’s clock', async () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    const late = store.transaction(async (tx) => {
      await store.within(tx).limit(1_000);
      tx.set('order-1', 1);
      now += 1_001;
    });
    const error = await late.catch((thrown: unknown) => thrown);
    expect(store.transactionFault(error)).toBe('rolled-back');
    expect(store.rows.entries()).toEqual([]);
  });

  it('shows its own writes inside, and what is committed beside only', async () => {
    const store = memoryStore();
    await store.transaction((tx) => tx.set('b', { list: [1] }));
    await store.transaction((tx) => {
      const seen = tx.get('b') as { list: number[] };
      // A copy: only set() writes.
      seen.list.push(2);
      tx.set('a', seen);
      seen.list.push(3);
      tx.delete('b');
      expect([tx.get('a'), tx.get('b')]).toEqual([{ list: [1, 2] }, undefined]);
      expect(store.rows.entries()).toEqual([['b', { list: [1] }]]);
    });
    expect(store.rows.entries()).toEqual([['a', { list: [1, 2] }]]);
  });

  it('refuses a transaction that has ended, and one of another store', async () => {
    const [store, other] = [memoryStore(), memoryStore()];
    let kept: MemoryTransaction | undefined;
    await store.transaction((tx) => {
      kept = tx;
      expect(() => other.within(tx)).toThrow(/belongs to another store/);
    });
    expect(() => kept?.set('a', 1)).toThrow(/has ended/);
    expect(() => kept?.get('a')).toThrow(/has ended/);
    expect(() => kept && store.within(kept)).toThrow(/has ended/);
    expect(store.rows.get('a')).toBeUndefined();
  });

  // F63
  it('holds nothing that others wait for: beside a hundred that are open, all goes on', async () => {
    const store = memoryStore();
    let end: (() => void) | undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const open = Array.from({ length: 100 }, (_, i) =>
      store.transaction(async (tx) => {
        tx.set(`order-${i}`, i);
        await ended;
      }),
    );
    const owner = await claimed(store);
    expect((await store.finish([finishRequest(owner, 'completed')]))[0]?.kind).toBe('applied');
    await store.transaction((tx) => tx.set('order-of-another', 1));
    end?.();
    await Promise.all(open);
    expect(store.rows.entries()).toHaveLength(101);
  });
});
