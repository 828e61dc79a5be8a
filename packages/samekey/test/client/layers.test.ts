/** What `bestPending` makes of stores that do not say the same: which text is the newest, and what it tells nobody. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Client, type ClientOptions, createClient } from '../../../client/src/index.ts';
import { bestPending, indexedDbPending } from '../../../client/src/browser/index.ts';
import { type FakeBrowser, fakeBrowser } from './browser-fakes.ts';

/** Runs each key once; the next answers are lost, after it was done or before. */
class Server {
  readonly done = new Set<string>();
  readonly plan: ('lose' | 'cut')[] = [];

  readonly fetch = async (_url: string, { headers }: RequestInit): Promise<Response> => {
    const key = new Headers(headers).get('idempotency-key') ?? '';
    const fate = this.plan.shift();
    if (fate === 'cut') throw new TypeError('Cut.');
    const isReplay = this.done.has(key);
    this.done.add(key);
    if (fate === 'lose') throw new TypeError('Lost.');
    const replayed = isReplay ? { 'idempotency-replayed': 'true' } : undefined;
    return new Response('paid', { status: 201, headers: { date: new Date().toUTCString(), ...replayed } });
  };
}

let browser: FakeBrowser;
let server: Server;
beforeEach(() => {
  browser = fakeBrowser();
  server = new Server();
});
afterEach(() => {
  vi.useRealTimers();
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
    fetch: server.fetch,
    retry: { baseMs: 1, capMs: 2, triesMax: 1 },
    ...options,
  });

const pay = async (client: Client, name = 'pay'): Promise<readonly [string, string]> => {
  const { outcome, why } = await client.operation(name).fetch('/pay', { body: '{"amount":5}' });
  return [outcome, why];
};

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

  it('that is none of ours is unreadable until it is given up, and stops nothing then', async () => {
    await pay(page());
    browser.local.texts.clear();
    browser.indexed.texts.set(payName(), 'rubbish');
    const next = page();
    expect(await pay(next)).toEqual(['unknown', 'unreadable']);
    expect(await discard(next)).toBe(true);
    expect(await discard(next)).toBe(false);
    expect(await pay(next)).toEqual(['done', 'first']);
  });

  it('is older than one with a head of the same key', async () => {
    server.plan.push('lose');
    await pay(page({ pending: indexedDbPending() }));
    browser.indexed.isFull = true;
    expect(await pay(page())).toEqual(['done', 'replayed']);
    expect(await pay(page())).toEqual(['done', 'kept']);
  });
});
