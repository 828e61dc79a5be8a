/** What `bestPending` finds of a browser, in Node: stores that can be blocked, full and slow between two pages. */

import { vi } from 'vitest';

/** Switches of one store. */
interface Switches {
  /** Nothing can be done with it. */
  isBlocked: boolean;
  /** Nothing can be written. */
  isFull: boolean;
  /** Before it answers; Infinity: never. */
  delayMs: number;
}

/** One store: what it holds, and its switches. */
export interface FakeStore extends Switches {
  readonly texts: Map<string, string>;
}

export interface FakeBrowser {
  readonly indexed: FakeStore & {
    /** Connections that were opened. */
    opened: number;
    /** What is open so far is lost, and the browser does not say so. */
    lose(): void;
  };
  readonly local: FakeStore;
  /** All pages are gone, with their locks. */
  closeAll(): void;
}

const fresh = (): FakeStore => ({ texts: new Map(), isBlocked: false, isFull: false, delayMs: 0 });

const blocked = (): Error => new Error('Blocked.');

/** Puts them where the modules look; `vi.unstubAllGlobals()` takes them away. */
export function fakeBrowser(): FakeBrowser {
  const indexed = {
    ...fresh(),
    opened: 0,
    alive: 0,
    lose() {
      indexed.alive = indexed.opened;
    },
  };
  const local = fresh();
  vi.stubGlobal('indexedDB', { open: () => openFake(indexed) });
  vi.stubGlobal('IDBKeyRange', { bound: (low: string, high: string) => ({ low, high }) });
  vi.stubGlobal('localStorage', localFake(local));
  const last = new Map<string, Promise<unknown>>();
  const request = (name: string, ...rest: unknown[]): Promise<unknown> => {
    const body = rest.at(-1) as () => unknown;
    const turn = Promise.resolve(last.get(name)).then(() => body());
    last.set(
      name,
      turn.catch(() => null),
    );
    return turn;
  };
  vi.stubGlobal('navigator', { onLine: true, locks: { request } });
  return { indexed, local, closeAll: () => last.clear() };
}

type Listener = (() => void) | undefined;

/** A request of IndexedDB, as far as it is looked at. */
interface FakeRequest {
  result?: unknown;
  error?: Error;
  onsuccess?: Listener;
  onerror?: Listener;
}

function openFake(store: FakeBrowser['indexed'] & { alive: number }): FakeRequest {
  const opening: FakeRequest = {};
  store.opened += 1;
  const number = store.opened;
  queueMicrotask(() => {
    if (store.isBlocked) {
      opening.error = blocked();
      opening.onerror?.();
      return;
    }
    const isLost = (): boolean => store.isBlocked || number <= store.alive;
    opening.result = { close: () => null, transaction: () => transactionFake(store, isLost()) };
    opening.onsuccess?.();
  });
  return opening;
}

function transactionFake(store: FakeStore, isLost: boolean): object {
  if (isLost) throw blocked();
  const waiting: (() => void)[] = [];
  const queue = (run: () => unknown): FakeRequest => {
    const request: FakeRequest = {};
    waiting.push(() => {
      request.result = run();
      request.onsuccess?.();
    });
    return request;
  };
  const names = ({ low, high }: { low: string; high: string }): string[] =>
    [...store.texts.keys()].filter((name) => name >= low && name <= high);
  const table = {
    get: (name: string) => queue(() => store.texts.get(name)),
    put: (text: string, name: string) =>
      queue(() => {
        if (store.isFull) throw new Error('Full.');
        return store.texts.set(name, text);
      }),
    delete: (name: string) => queue(() => store.texts.delete(name)),
    getAllKeys: (range: { low: string; high: string }) => queue(() => names(range)),
    getAll: (range: { low: string; high: string }) =>
      queue(() => names(range).map((name) => store.texts.get(name))),
  };
  const transaction: { oncomplete?: Listener; onabort?: Listener; error?: unknown; objectStore: unknown } = {
    objectStore: () => table,
  };
  const run = (): void => {
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) next();
      transaction.oncomplete?.();
    } catch (error) {
      transaction.error = error;
      transaction.onabort?.();
    }
  };
  if (store.delayMs !== Infinity) setTimeout(run, store.delayMs);
  return transaction;
}

/** Texts are its properties too, as they are those of the real one. */
function localFake(store: FakeStore): object {
  const verbs = {
    getItem(name: string) {
      if (store.isBlocked) throw blocked();
      return store.texts.get(name) ?? null;
    },
    setItem(name: string, text: string) {
      if (store.isBlocked || store.isFull) throw blocked();
      store.texts.set(name, text);
    },
    removeItem: (name: string) => void store.texts.delete(name),
  };
  return new Proxy(verbs, {
    ownKeys: () => [...store.texts.keys()],
    getOwnPropertyDescriptor: (_target, name) => ({
      configurable: true,
      enumerable: true,
      value: store.texts.get(String(name)),
    }),
    get: (target, name) =>
      Reflect.has(target, name) ? (Reflect.get(target, name) as unknown) : store.texts.get(String(name)),
  });
}
