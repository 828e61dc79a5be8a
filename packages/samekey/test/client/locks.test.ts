/** Turns by Web Locks, and what goes on without them. */

import { once } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { localStoragePending } from '../../../client/src/browser/index.ts';
import { createClient } from '../../../client/src/index.ts';
import { memoryPending } from '../../../client/src/memory.ts';

afterEach(() => vi.unstubAllGlobals());

type Locks = Pick<LockManager, 'request'>;

/** Locks as a browser has them, one after the other; what was asked for. */
function webLocks(): { locks: Locks; asked: string[] } {
  const asked: string[] = [];
  const tails = new Map<string, Promise<unknown>>();
  const request = async (name: string, ...rest: unknown[]): Promise<unknown> => {
    asked.push(name);
    const body = rest.at(-1) as () => Promise<unknown>;
    const { signal } = rest[0] as { signal?: AbortSignal };
    const before = tails.get(name);
    const mine = new Promise((resolve, reject) => {
      const giveUp = (): void => reject(signal?.reason as Error);
      signal?.addEventListener('abort', giveUp);
      void Promise.resolve(before).then(() => {
        // Once it is granted the signal changes nothing.
        signal?.removeEventListener('abort', giveUp);
        resolve(signal?.aborted === true ? undefined : body());
      });
    });
    tails.set(name, Promise.allSettled([before, mine]));
    return mine;
  };
  return { locks: { request } as Locks, asked };
}

const clientOf = (locks: unknown, options: object = {}): ReturnType<typeof createClient> => {
  vi.stubGlobal('navigator', { locks });
  return createClient({
    baseUrl: 'https://shop.example',
    subject: 'alice',
    pending: memoryPending(),
    whenDone: 'same',
    tryTimeMaxMs: 500,
    fetch: async () => new Response(''),
    ...options,
  });
};

it('no name of an operation is that of the lock of localStorage, nor of a lock of the page', async () => {
  // F133
  const texts = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => void texts.set(name, text),
  });
  const { locks, asked } = webLocks();
  vi.stubGlobal('navigator', { locks });
  const client = clientOf(locks, { pending: localStoragePending() });
  for (const name of ['swap', 'samekey-swap'])
    expect(await client.operation(name).fetch('/pay', { body: '5' })).toMatchObject({ outcome: 'done' });
  expect(asked.every((name) => name === 'samekey-swap' || /^samekey:.{43,44}:/.test(name))).toBe(true);
  expect([...texts.keys()].every((name) => name.startsWith('samekey:'))).toBe(true);
});

it('a tab that holds the lock for ever, and a platform that refuses locks, keep nobody from paying', async () => {
  // F133, F134
  const refusing: Locks = {
    request: () => Promise.reject(new DOMException('not here', 'SecurityError')),
  };
  const held: Locks = {
    request: (async (_name: string, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      })) as never,
  };
  for (const locks of [refusing, held, undefined]) {
    const client = clientOf(locks, { tryTimeMaxMs: 20 });
    expect(await client.operation('pay').fetch('/pay', { body: '5' })).toMatchObject({
      outcome: 'done',
      why: 'first',
      tries: 1,
    });
  }
});

it('who gives up waiting has sent nothing, and changes nothing for the others (F8)', async () => {
  const { locks } = webLocks();
  let sent = 0;
  const held = new AbortController();
  const control = new AbortController();
  const client = clientOf(locks, {
    async fetch() {
      sent += 1;
      control.abort(new Error('left'));
      if (!held.signal.aborted) await once(held.signal, 'abort');
      return new Response('');
    },
  });
  const operation = client.operation('pay');
  const first = operation.fetch('/pay', { body: '5' });
  const second = operation.fetch('/pay', { body: '5', signal: control.signal });
  const third = operation.fetch('/pay', { body: '5' });
  expect(await second).toMatchObject({ outcome: 'unknown', why: 'aborted', tries: 0 });
  held.abort();
  expect(await Promise.all([first, third])).toMatchObject([{ why: 'first' }, { why: 'kept' }]);
  expect(sent).toBe(1);
});

it('a double click where there are no locks is one key', async () => {
  const keys = new Set<string | null>();
  const operation = clientOf(undefined, {
    fetch: async (_url: string, { headers }: RequestInit) => {
      keys.add(new Headers(headers).get('idempotency-key'));
      return new Response('');
    },
  }).operation('pay');
  const both = await Promise.all([1, 2].map(() => operation.fetch('/pay', { body: '5' })));
  expect(both.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
  expect(keys.size).toBe(1);
});
