/** What the overview asks of a database that is busy: once, however long it takes, and nobody waits for ever. */

import { createOperator, type StoredMessage } from 'samekey/operator';
import { memoryStore } from 'samekey/stores/memory';
import { describe, expect, it } from 'vitest';
import { lookGently } from '../src/gentle-look.ts';
import { overviewReader, type StoreOfConsole } from '../src/overview.ts';
import { restedCount } from '../src/rested-count.ts';

/** Something that ends when the test says so. */
function gate<Value>(): { readonly opened: Promise<Value>; readonly open: (value: Value) => void } {
  let go: ((value: Value) => void) | undefined;
  const opened = new Promise<Value>((resolve) => {
    go = resolve;
  });
  return { opened, open: (value) => go?.(value) };
}

const message = (state: StoredMessage['state']) => ({ id: state, state }) as StoredMessage;

describe('an overview of a database that does not answer', () => {
  it('is read once, however many ask; whoever has waited long enough hears so, and the next has what it gave', async () => {
    const waits = gate<readonly []>();
    let asked = 0;
    const store: StoreOfConsole = Object.assign(Object.create(memoryStore()), {
      list: async () => {
        asked += 1;
        return waits.opened;
      },
    });
    const reader = overviewReader(store, createOperator({ store, actor: null }), {
      countMs: 60_000,
      waitMs: 20,
      told: () => undefined,
    });
    for (let i = 0; i < 3; i += 1)
      await expect(reader.read()).rejects.toMatchObject({ code: 'slow', status: 503 });
    // The unknown ones and the newest, once.
    expect(asked).toBe(2);
    waits.open([]);
    await expect(reader.read()).resolves.toMatchObject({ unknown: [], looked: 0 });
    expect(asked).toBe(2);
  });

  it('is asked again after an error, which only those hear who asked', async () => {
    let asked = 0;
    const store: StoreOfConsole = Object.assign(Object.create(memoryStore()), {
      list: async () => {
        asked += 1;
        if (asked <= 2) throw new Error('lost');
        return [];
      },
    });
    const reader = overviewReader(store, createOperator({ store, actor: null }), {
      countMs: 60_000,
      told: () => undefined,
    });
    await expect(reader.read()).rejects.toThrow('lost');
    await expect(reader.read()).resolves.toMatchObject({ looked: 0 });
  });
});

describe('counting a whole table', () => {
  it('is done one at a time, and told with when it was done', async () => {
    const gates = [gate<number>(), gate<number>()];
    let counting = 0;
    const counted = restedCount(async () => gates[counting++]?.opened ?? 0, {
      everyMs: 0,
      waitMs: 10,
      told: () => undefined,
    });
    expect(await Promise.all([counted(), counted(), counted()])).toEqual([null, null, null]);
    expect(counting).toBe(1);
    gates[0]?.open(7);
    await expect.poll(counted).toMatchObject({ count: 7 });
    // It took some time, and rests for twenty times as long.
    expect(counting).toBe(1);
  });

  it('goes on after an error, which is told once, and its age tells', async () => {
    let counting = 0;
    const heard: unknown[] = [];
    const counted = restedCount(
      async () => {
        counting += 1;
        if (counting <= 2) throw new Error(`lost ${counting}`);
        return counting;
      },
      { everyMs: 0, waitMs: 1_000, told: (error) => heard.push(error) },
    );
    expect(await counted()).toBeNull();
    await expect.poll(counted).toMatchObject({ count: 3 });
    expect(heard).toEqual([new Error('lost 1')]);
  });
});

describe('a look at one record', () => {
  it.each([
    ['completed', 1, ['dead']],
    ['unknown', 1, ['dead']],
    // Accepted, and not with a worker yet.
    ['pending', 0, ['dead']],
    ['pending', 1, ['dead', 'ready']],
  ] as const)(
    'of state %s, attempt %i: reads the queue only where its work is in it',
    async (state, attempt, found) => {
      const record = { scope: 's', key: 'k', state, attempt, steps: null };
      const store = {
        find: async () => [record],
        audit: async () => [],
        messages: {
          list: async ({ states = ['dead', 'ready'] }: { states?: readonly StoredMessage['state'][] }) =>
            states.map(message),
        },
      } as unknown as StoreOfConsole;
      const whole = await lookGently(store, { scope: 's', key: 'k' });
      expect(whole?.messages.map(({ state: of }) => of)).toEqual(found);
    },
  );
});
