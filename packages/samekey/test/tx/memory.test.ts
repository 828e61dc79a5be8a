/** `fromMemory` keeps the contract, on the rows of the memory store. */

import { describe, it } from 'vitest';
import { type MemoryStore, type MemoryTransaction, memoryStore } from '../../src/stores/memory/index.ts';
import { kthTxContract } from '../../../testing/src/tx/kth.ts';
import { type TxBench, type TxHarness, txContract } from '../../../testing/src/tx-contract.ts';
import { fromMemory } from '../../src/tx/memory/index.ts';

function insert(tx: MemoryTransaction, id: string, amount: number): void {
  if (tx.get(`amounts/${amount}`) !== undefined) throw new Error(`unique: there is an order of ${amount}`);
  tx.set(`amounts/${amount}`, id);
  tx.set(`orders/${id}`, amount);
}

const harness: TxHarness = {
  name: 'memory',
  dialect: 'memory',
  refusesLateUse: true,
  straysRunFirst: true,
  // Nothing but its end ends it.
  noticesEnds: false,
  async open() {
    const store = memoryStore();
    return {
      source: fromMemory(store) as TxBench['source'],
      store,
      another: async () => store,
      query: async (tx, text) => statement(store, tx as MemoryTransaction, text),
      insert: async (tx, id, amount) => insert(tx as MemoryTransaction, id, amount),
      beside: (text) => store.transaction((tx) => statement(store, tx, text)),
      advance: notHere,
      loseCommitReply: notHere,
      crash: notHere,
      close: async () => undefined,
    };
  },
};

/** As much SQL as the contract speaks to a store without it. */
function statement(store: MemoryStore, tx: MemoryTransaction, text: string): Record<string, unknown>[] {
  const like = / LIKE '(.*)%'/.exec(text)?.[1] ?? '';
  const ids = store.rows
    .entries()
    .flatMap(([key]) => (key.startsWith('orders/') ? [key.slice('orders/'.length)] : []));
  if (text.startsWith('INSERT INTO orders')) {
    for (const [, id = '', amount] of text.matchAll(/\('([^']*)', (\d+)\)/g)) insert(tx, id, Number(amount));
  } else if (text === 'DELETE FROM orders') {
    for (const [key] of store.rows.entries()) tx.delete(key);
  } else if (text.startsWith('SELECT count')) return [{ n: ids.length }];
  else if (text.startsWith('SELECT id FROM orders'))
    return ids.filter((id) => id.startsWith(like)).map((id) => ({ id }));
  else if (!text.includes('made_inside')) throw new Error(`${text}: not here`);
  return [];
}

function notHere(): never {
  throw new Error('This fault is made on servers only.');
}

txContract({ describe, it }, harness);
txContract(
  { describe, it },
  { ...harness, name: 'memory, reserved in the transaction', reserve: 'in-transaction' },
);
kthTxContract({ describe, it }, harness);
