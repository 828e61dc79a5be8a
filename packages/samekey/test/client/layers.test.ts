/** What `bestPending` makes of stores that do not say the same: which text is the newest, and what it tells nobody. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Client, type ClientOptions, createClient } from '../../../client/src/index.ts';
import { bestPending, indexedDbPending } from '../../../client/src/browser/index.ts';
import { OWN_WORLD } from '../../../client/src/client-world.ts';
import { type FakeBrowser, fakeBrowser } from './browser-fakes.ts';

/** Runs each key once; the next answers are lost, after it was done or before. */
class Server {
  readonly done = new Set<string>();
  readonly plan: ('lose' | 'cut')[] = [];
  /** How far all clocks are. */
  laterMs = 0;

  readonly fetch = async (_url: string, { headers }: RequestInit): Promise<Response> => {
    const key = new Headers(headers).get('idempotency-key') ?? '';
    const fate = this.plan.shift();
    if (fate === 'cut') throw new TypeError('Cut.');
    const isReplay = this.done.has(key);
    this.done.add(key);
    if (fate === 'lose') throw new TypeError('Lost.');
    const replayed = isReplay ? { 'idempotency-replayed': 'true' } : undefined;
    const date = new Date(Date.now() + this.laterMs).toUTCString();
    return new Response('paid', { status: 201, headers: { date, ...replayed } });
  };
}

let browser: FakeBrowser;
let server: Server;
beforeEach(() => {
  browser = fakeBrowser();
  server = new Server();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** A page that is loaded now. */
const page = (options: Partial<ClientOptions> = {}): Client =>
  createClient({
    subject: 'alice',
    baseUrl: 'https://shop.example',
    whenDone: 'same',
    trustClock: true,
    pending: bestPending(),
    world: {
      ...OWN_WORLD,
      wallNow: () => Date.now() + server.laterMs,
      monotonicNow: () => performance.now() + server.laterMs,
    },
    fetch: server.fetch,
    baseMs: 1,
    capMs: 2,
    triesMax: 1,
    ...options,
  });

const pay = async (client: Client, name = 'pay'): Promise<readonly [string, string]> => {
  const { outcome, why } = await client.operation(name).fetch('/pay', { body: '{"amount":5}' });
  return [outcome, why];
};

/** Under the caller's key. */
const payOwn = (client: Client): Promise<{ why: string }> =>
  client.operation('pay', { key: 'order-00000000000000000017' }).fetch('/pay', { body: '5' });

const discard = (client: Client): Promise<boolean> => client.operation('pay').discard({ consented: true });

const payName = (): string =>
  [...browser.indexed.texts.keys()].find((name) => name.endsWith(':pay')) ?? 'none';

describe('a text without a head', () => {
  it('of a page that used IndexedDB alone is gone on with under its key', async () => {
    server.plan.push('lose');
    expect(await pay(page({ pending: indexedDbPending() }))).toEqual(['unknown', 'no-answer']);
    expect(await pay(page())).toEqual(['done', 'replayed']);
    expect(await pay(page())).toEqual(['done', 'kept']);
    expect(server.done.size).toBe(1);
  });

  it('of a page that used IndexedDB alone can be given up, and paid after that', async () => {
    server.plan.push('cut');
    await pay(page({ pending: indexedDbPending() }));
    const next = page();
    expect(await discard(next)).toBe(true);
    expect(await pay(next)).toEqual(['done', 'first']);
    expect(await pay(page())).toEqual(['done', 'kept']);
  });

  // F134: some read as JSON, and are no head all the same.
  it.each([
    ['rubbish'],
    [''],
    ['12'],
    ['null\n'],
    ['{}\n{}'],
    ['[1]\nx'],
    ['["a"]\n'],
    ['["a", "b"]\n{"v":1}'],
  ])('that is none of ours (%j) is unreadable until it is given up, and stops nothing then', async (text) => {
    await pay(page());
    browser.local.texts.clear();
    browser.indexed.texts.set(payName(), text);
    const next = page();
    expect(await pay(next)).toEqual(['unknown', 'unreadable']);
    expect(await discard(next)).toBe(true);
    expect(await discard(next)).toBe(false);
    expect(await pay(next)).toEqual(['done', 'first']);
  });

  it('that cannot be written over is taken away, and what is newer counts', async () => {
    server.plan.push('cut');
    await pay(page({ pending: indexedDbPending() }));
    browser.indexed.isFull = true;
    const next = page();
    expect(await discard(next)).toBe(true);
    expect(await discard(next)).toBe(false);
    expect(await pay(next)).toEqual(['done', 'first']);
    expect(await pay(page())).toEqual(['done', 'kept']);
  });
});

const HOUR = 3_600_000;

/** IndexedDB can be read no more, and localStorage can be written. */
function tuesday(): void {
  browser.indexed.isBlocked = true;
  browser.local.isFull = false;
}

const wednesday = (): void => void (browser.indexed.isBlocked = false);

it('what was given up on a day of localStorage is not open again in IndexedDB', async () => {
  server.plan.push('lose');
  await pay(page());
  tuesday();
  expect(await discard(page())).toBe(true);
  wednesday();
  expect(await pay(page())).toEqual(['done', 'first']);
  expect(server.done.size).toBe(2);
});

const again = (): Client => page({ whenDone: 'again' });

describe('two tabs that cannot read each other’s store', () => {
  it('count on by themselves: what one of them sent is not behind what the other one did, it is told', async () => {
    await pay(page());
    browser.local.isBlocked = true;
    server.plan.push('lose');
    expect(await pay(again())).toEqual(['unknown', 'no-answer']);
    browser.local.isBlocked = false;
    tuesday();
    expect(await pay(again())).toEqual(['done', 'first']);
    wednesday();
    expect(await pay(page())).toEqual(['unknown', 'unreadable']);
    expect(server.done.size).toBe(3);
    const looked = page();
    expect(await discard(looked)).toBe(true);
    expect(await pay(looked)).toEqual(['done', 'first']);
    expect(await pay(page())).toEqual(['done', 'kept']);
  });

  it('and what was over before the others began stays over, however many they were', async () => {
    server.plan.push('lose');
    await pay(page());
    tuesday();
    expect(await pay(again())).toEqual(['done', 'replayed']);
    for (let cups = 2; cups <= 5; cups++) expect(await pay(again())).toEqual(['done', 'first']);
    wednesday();
    expect(await pay(page())).toEqual(['done', 'kept']);
    expect(server.done.size).toBe(5);
  });
});

describe('two keys of one name, where a mark was lost', () => {
  beforeEach(() => {
    browser.local.isFull = true;
  });

  it('one that was never sent is not sent beside one that was', async () => {
    const hanging = page({ headers: () => new Promise(() => undefined) });
    void pay(hanging);
    await vi.waitFor(() => expect(payName()).not.toBe('none'));
    browser.closeAll();
    tuesday();
    server.plan.push('lose');
    await pay(page());
    wednesday();
    expect(await pay(page())).toEqual(['done', 'replayed']);
    expect(server.done.size).toBe(1);
  });

  it.each([['lose'], [undefined]] as const)(
    'two that were sent are told, and neither is sent (%s)',
    async (fate) => {
      server.plan.push('cut', ...(fate === undefined ? [] : [fate]));
      await pay(page());
      tuesday();
      await pay(page());
      wednesday();
      const next = page();
      expect(await pay(next)).toEqual(['unknown', 'unreadable']);
      const [left] = await next.resume();
      expect(left).toMatchObject({ operation: 'pay', canGoOn: false, wasSent: true });
      expect(server.done.size).toBe(1);
      expect(await discard(next)).toBe(true);
      expect(await pay(next)).toEqual(['done', 'first']);
      expect(await pay(page())).toEqual(['done', 'kept']);
    },
  );

  it('are told after the user has signed out as well, and no request is left', async () => {
    server.plan.push('cut', 'lose');
    await pay(page());
    tuesday();
    await pay(page());
    wednesday();
    await page().clear();
    expect(JSON.stringify([...browser.indexed.texts, ...browser.local.texts])).not.toMatch(/shop\.example/);
    expect(await pay(page())).toEqual(['unknown', 'unreadable']);
  });

  it('of two that are done the later one counts, whatever store it is in', async () => {
    await pay(page());
    tuesday();
    server.laterMs = 48 * HOUR;
    await pay(page());
    wednesday();
    server.laterMs += HOUR;
    expect(await pay(page())).toEqual(['done', 'kept']);
    expect(server.done.size).toBe(2);
  });

  it('one that began after the other was done is gone on with: a later payment', async () => {
    await pay(page());
    tuesday();
    server.laterMs = 48 * HOUR;
    server.plan.push('lose');
    await pay(page());
    wednesday();
    expect(await pay(page())).toEqual(['done', 'replayed']);
    expect(server.done.size).toBe(2);
  });

  it('one that is done counts before one that was given up', async () => {
    await pay(page());
    tuesday();
    server.plan.push('cut');
    const next = page();
    await pay(next);
    expect(await discard(next)).toBe(true);
    wednesday();
    expect(await pay(page())).toEqual(['done', 'kept']);
    expect(server.done.size).toBe(1);
  });

  it('one key of the caller that is done in one store is done in both', async () => {
    server.plan.push('lose');
    await payOwn(page());
    tuesday();
    await payOwn(page());
    wednesday();
    expect(await payOwn(page())).toMatchObject({ why: 'kept' });
  });
});

describe('an IndexedDB connection that is lost without an event', () => {
  it('is opened once more', async () => {
    const client = page({ pending: indexedDbPending() });
    await pay(client, 'first');
    browser.indexed.lose();
    expect(await pay(client)).toEqual(['done', 'first']);
    expect(browser.indexed.opened).toBe(2);
  });
});

/** Runs until it is told, on a clock that is pushed. */
async function told<Value>(promise: Promise<Value>): Promise<Value> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  promise.then(end, end);
  while (!ended.signal.aborted) {
    await vi.advanceTimersByTimeAsync(10);
    // Digests are made beside this thread, and take the machine's own time.
    await new Promise((resolve) => void setImmediate(resolve));
  }
  return promise;
}

describe('IndexedDB that is slow', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  });

  it('for one moment is first again, as soon as it answers in time', async () => {
    const kept: string[] = [];
    const client = page({ pending: bestPending({ onKeptIn: (where) => kept.push(where) }) });
    browser.indexed.delayMs = 2_100;
    await told(pay(client, 'one'));
    browser.indexed.delayMs = 60;
    await told(pay(client, 'two'));
    await told(pay(client, 'three'));
    expect(kept.at(-1)).toBe('indexed-db');
  });

  it('makes no second key of what it alone knows: it is told, until it answers', async () => {
    browser.local.isFull = true;
    server.plan.push('lose');
    await told(pay(page()));
    const next = page();
    browser.indexed.delayMs = 2_100;
    // Two clicks at once are told both.
    expect(await told(Promise.all([pay(next), pay(next)]))).toEqual([
      ['unknown', 'not-kept'],
      ['unknown', 'not-kept'],
    ]);
    await vi.advanceTimersByTimeAsync(3_000);
    // It is waited for only shortly now, and has answered since.
    browser.indexed.delayMs = 60;
    expect(await told(pay(next))).toEqual(['unknown', 'not-kept']);
    await vi.advanceTimersByTimeAsync(3_000);
    expect((await told(pay(next)))[0]).toBe('done');
    expect(server.done.size).toBe(1);
  });

  it('for good is told once, and paying goes on without it', async () => {
    browser.indexed.delayMs = Infinity;
    const client = page();
    expect(await told(pay(client))).toEqual(['unknown', 'not-kept']);
    expect(await told(pay(client))).toEqual(['done', 'first']);
    expect(await told(pay(client, 'other'))).toEqual(['done', 'first']);
    expect(await told(pay(client))).toEqual(['done', 'kept']);
  });
});
