/**
 * Durable stores of one process hold the contract as those do that processes share: what outlives a process is opened again, and its
 * claims do not end by a wall clock (F45). SQLite stands for the embedded databases that one process holds alone.
 */

import assert from 'node:assert/strict';
import type { Store } from 'samekey';
import { memoryStore } from 'samekey/stores/memory';
import { sqliteStore } from 'samekey/stores/sqlite';
import { type StoreHarness, storeContract } from '@samekey/testing';
import { describe, it } from 'vitest';
import { availableClients, MEMORY_DISK, temporaryFile } from '../stores/sqlite-clients.ts';

function alone(store: Store, serverClock: boolean): Store {
  const capabilities = {
    ...store.capabilities,
    transactions: false,
    durable: true,
    shared: false,
    serverClock,
  };
  const members = Object.entries({ ...store, capabilities: Object.freeze(capabilities) });
  return Object.fromEntries(
    members.filter(
      ([name]) => !['within', 'transaction', 'transactionFault', 'messages', 'rows'].includes(name),
    ),
  ) as unknown as Store;
}

for (const { name, open } of availableClients().slice(0, 1)) {
  const harness: StoreHarness = {
    name: `${name}, one process`,
    auditsTransitions: true,
    async create(options = { auditTransitions: false }) {
      const file = temporaryFile(MEMORY_DISK);
      let now = Date.UTC(2030, 0);
      let database = open(file.path);
      const start = async (): Promise<Store> => {
        const store = sqliteStore({
          service: 'test',
          ...options,
          database,
          now: () => now,
          monotonicNow: () => now,
        });
        await store.migrate();
        return alone(store, false);
      };
      return {
        store: await start(),
        advance: (ms) => {
          now += ms;
        },
        async reopened() {
          database.close();
          database = open(file.path);
          return start();
        },
        async close() {
          database.close();
          file.remove();
        },
      };
    },
  };
  storeContract({ describe, it }, harness);
}

describe('a durable store of one process', () => {
  it('is found out if, started again, it ends claims by a wall clock while it says that it has no clock', async () => {
    const tests = new Map<string, () => Promise<void>>();
    const collect = { describe: (_title: string, body: () => void) => body(), it: tests.set.bind(tests) };
    storeContract(collect, {
      name: 'wall clock',
      async create() {
        let now = Date.UTC(2030, 0);
        const store = alone(memoryStore({ now: () => now }), false);
        return {
          store,
          advance: (ms) => {
            now += ms;
          },
          reopened: async () => store,
          close: async () => undefined,
        };
      },
    });
    const restarts = [...tests].filter(([title]) => title.includes('started again'));
    assert.equal(restarts.length, 1);
    for (const [, body] of restarts) await assert.rejects(body(), { name: 'AssertionError' });
  });
});
