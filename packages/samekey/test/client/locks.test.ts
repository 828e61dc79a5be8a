/** Turns within one client, where the platform has no locks of its own. */

import { expect, it, vi } from 'vitest';
import { localStoragePending } from '../../../client/src/browser/index.ts';
import { createClient } from '../../../client/src/index.ts';
import { createLocks } from '../../../client/src/locks.ts';

// Node 24 has Web Locks; what is shown here must hold with and without them.
const runAlone = createLocks();
const never = (): AbortSignal => new AbortController().signal;

it('calls under one name run one after the other, also after one that fails, and others do not wait', async () => {
  const order: string[] = [];
  const held = new AbortController();
  const first = runAlone('a', never(), async () => {
    order.push('first begins');
    await new Promise<void>((resolve) => held.signal.addEventListener('abort', () => resolve()));
    order.push('first ends');
    throw new Error('no');
  });
  const second = runAlone('a', never(), async () => {
    order.push('second');
  });
  await runAlone('b', never(), async () => {
    order.push('other');
  });
  held.abort();
  await expect(first).rejects.toThrow('no');
  await second;
  expect(order).toEqual(['first begins', 'other', 'first ends', 'second']);
});

it('who gives up waiting changes nothing for the others (F8)', async () => {
  const held = new AbortController();
  const first = runAlone('c', never(), async () => {
    await new Promise<void>((resolve) => held.signal.addEventListener('abort', () => resolve()));
    return 'first';
  });
  const gaveUp = new AbortController();
  let hasRun = false;
  const second = runAlone('c', gaveUp.signal, async () => {
    hasRun = true;
  });
  let thirdRan = false;
  const third = runAlone('c', never(), async () => {
    thirdRan = true;
    return 'third';
  });
  gaveUp.abort();
  await expect(second).rejects.toThrow();
  expect(thirdRan).toBe(false);
  held.abort();
  expect(await Promise.all([first, third])).toEqual(['first', 'third']);
  expect(hasRun).toBe(false);
  await expect(runAlone('c', AbortSignal.abort(), async () => 'never')).rejects.toThrow();
});

it('no name of an operation is that of the lock of localStorage', async () => {
  const texts = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => void texts.set(name, text),
  });
  const alone = createLocks();
  vi.stubGlobal('navigator', {
    locks: {
      request: (name: string, ...rest: [...{ signal: AbortSignal }[], () => Promise<unknown>]) =>
        alone(name, (rest[0] as { signal?: AbortSignal }).signal ?? never(), rest.at(-1) as never),
    },
  });
  try {
    const client = createClient({
      baseUrl: 'https://shop.example',
      pending: localStoragePending(),
      whenDone: 'same',
      retry: { tryTimeMaxMs: 500 },
      fetch: async () => new Response(''),
    });
    expect(await client.operation('swap').fetch('/pay', { body: '5' })).toMatchObject({ outcome: 'done' });
  } finally {
    vi.unstubAllGlobals();
  }
});
