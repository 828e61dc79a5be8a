/** Where pages keep operations, in a real browser: which store it is, and what happens when it is blocked, full, slow or cleared. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type * as Ours from '../../../client/src/index.ts';
import type * as OurBrowser from '../../../client/src/browser/index.ts';
import { type Shop, startShop } from '../processes/client-shop.ts';
import { bundled } from '../processes/browser-pages.ts';
import { chromiumProgram } from '../services/chromium.ts';
import { planted } from './planted.ts';

const program = chromiumProgram();

/** What the page has. */
declare const samekey: typeof Ours & typeof OurBrowser;
declare const shown: { client: Ours.Client; store: OurBrowser.BestPending; kept: OurBrowser.KeptIn[] };

const HTML = `<!doctype html><title>shop</title><script type="module">
  import * as samekey from '/client.js';
  window.samekey = samekey;
  const kept = [];
  const store = samekey.bestPending({ onKeptIn: (where) => kept.push(where) });
  const client = samekey.createClient({
    subject: 'alice', pending: store, whenDone: 'same', baseMs: 5, capMs: 20, triesMax: 1,
    // Where the network loses an answer, browsers may send again by themselves (F127).
    async fetch(url, init) {
      const answer = await fetch(url, init);
      if ((window.lost ?? 0) === 0) return answer;
      window.lost -= 1;
      throw new TypeError('Lost.');
    },
  });
  window.shown = { client, store, kept };
  document.body.dataset.ready = 'true';
</script>`;

/** What the page finds of the platform. */
const BLOCKED = `IDBFactory.prototype.open = () => { throw new DOMException('blocked', 'SecurityError'); };`;
const HANGING = `IDBFactory.prototype.open = () => new EventTarget();`;
const FULL = `IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };`;
const NO_LOCAL = `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };`;

const source = (path: string): string =>
  JSON.stringify(new URL(`../../../client/src/${path}`, import.meta.url).pathname);

/** The next answer is lost. */
const lose = (page: Page): Promise<void> => page.evaluate(() => void Object.assign(window, { lost: 1 }));

const pay = (page: Page, amount = 5): Promise<{ outcome: string; why: string; tries: number }> =>
  page.evaluate(async (body) => {
    const { outcome, why, tries } = await shown.client.operation('pay').fetch('/pay', { body });
    return { outcome, why, tries };
  }, JSON.stringify({ amount }));

const keptOf = (page: Page): Promise<readonly string[]> => page.evaluate(() => shown.kept);

describe.runIf(program !== undefined)('bestPending', () => {
  let browser: Browser;
  let script: string;
  let shop: Shop;
  let context: BrowserContext;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: program ?? '', args: ['--no-sandbox'] });
    script = await bundled(
      ['index.ts', 'memory.ts', 'browser/index.ts']
        .map((name) => `export * from ${source(name)};`)
        .join('\n'),
      [planted()],
    );
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    shop = await startShop({
      '/': { type: 'html', text: HTML },
      '/client.js': { type: 'text/javascript', text: script },
    });
    context = await browser.newContext({ baseURL: shop.url });
    context.setDefaultTimeout(20_000);
  });
  afterEach(async () => {
    await context.close();
    await shop.close();
  });

  async function visit(blocks = ''): Promise<Page> {
    const page = await context.newPage();
    if (blocks !== '') await page.addInitScript(blocks);
    await page.goto('/');
    await page.locator('body[data-ready]').waitFor({ state: 'attached' });
    return page;
  }

  it('keeps it in IndexedDB, says so before the request, and marks it elsewhere without body or answer', async () => {
    const page = await visit();
    expect(await page.evaluate(() => shown.store.keptIn())).toBe('indexed-db');
    await lose(page);
    expect(await pay(page, 7_007)).toMatchObject({ outcome: 'unknown' });
    const marks = (): Promise<string> => page.evaluate(() => JSON.stringify(Object.entries(localStorage)));
    const bytes = btoa('{"amount":7007}');
    expect(await marks()).toMatch(/digest/);
    expect(await marks()).not.toMatch(new RegExp(`/pay|${bytes}`));
    expect(await pay(page, 7_007)).toMatchObject({ why: 'replayed' });
    expect(await marks()).not.toMatch(/paid|application/);
    expect(await keptOf(page)).toEqual(['indexed-db']);
    // What was tried out is gone.
    expect(await marks()).not.toContain('probe');
  });

  it.each([
    ['blocked', BLOCKED],
    ['hanging', HANGING],
  ])('IndexedDB on Monday and %s on Tuesday are one key, and on Wednesday it is known', async (_, blocks) => {
    const monday = await visit();
    await lose(monday);
    expect(await pay(monday)).toMatchObject({ why: 'no-answer' });
    const tuesday = await visit(blocks);
    expect(await tuesday.evaluate(() => shown.store.keptIn())).toBe('local-storage');
    const [left] = await tuesday.evaluate(async () =>
      (await shown.client.resume()).map(({ operation, wasSent, canGoOn }) => ({
        operation,
        wasSent,
        canGoOn,
      })),
    );
    expect(left).toEqual({ operation: 'pay', wasSent: true, canGoOn: false });
    expect(await pay(tuesday, 6)).toMatchObject({ outcome: 'unknown', why: 'other-request' });
    // No date of the server was seen: a person decides. The page of this shop has seen one by then.
    const asked = await tuesday.evaluate(async () => {
      // Where IndexedDB hangs the first call of a name that nobody else knows is told so.
      for (let calls = 0; calls < 2; calls++)
        await shown.client.operation('other').fetch('/pay', { body: '1' });
      const { why } = await shown.client.operation('pay').fetch('/pay', { body: '{"amount":5}' });
      return why;
    });
    expect(asked).toBe('age-unknown');
    expect(new Set(shop.keys).size).toBe(2);
    expect(await tuesday.evaluate(() => shown.kept)).toEqual(['local-storage']);
  });

  it('what one page has begun another one goes on with, whichever stores they have', async () => {
    const [monday, tuesday] = [await visit(), await visit(BLOCKED)];
    for (const page of [monday, tuesday])
      await page.evaluate(() => shown.client.operation('seen').fetch('/pay', { body: '1' }));
    await lose(monday);
    expect(await pay(monday)).toMatchObject({ why: 'no-answer' });
    expect(await pay(tuesday)).toMatchObject({ outcome: 'done', why: 'replayed' });
    // IndexedDB has an older row of the same chain.
    expect(await pay(await visit())).toMatchObject({ outcome: 'done', why: 'kept' });
    expect(shop.payments).toHaveLength(2);
  });

  it('what is done in one store is done in the other, without its answer', async () => {
    expect(await pay(await visit())).toMatchObject({ why: 'first' });
    expect(await pay(await visit(BLOCKED))).toMatchObject({ outcome: 'done', why: 'kept', tries: 0 });
    expect(shop.payments).toHaveLength(1);
  });

  it.each([
    ['IndexedDB full', FULL, 'local-storage'],
    ['both full', FULL + NO_LOCAL, 'memory'],
    ['all blocked', BLOCKED + NO_LOCAL, 'memory'],
  ])('%s: paying works, twice is once, and the page is told where it is kept', async (_, blocks, where) => {
    const page = await visit(blocks);
    expect(await page.evaluate(() => shown.store.keptIn())).toBe(where);
    await lose(page);
    expect(await pay(page)).toMatchObject({ why: 'no-answer' });
    expect(await pay(page)).toMatchObject({ outcome: 'done', why: 'replayed' });
    expect(await pay(page)).toMatchObject({ why: 'kept' });
    expect(await keptOf(page)).toEqual([where]);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('all storage cleared while it is in flight, and a double click, are one payment (F128)', async () => {
    const held = new AbortController();
    shop.hold = new Promise((resolve) => held.signal.addEventListener('abort', () => resolve()));
    const page = await visit();
    const first = pay(page);
    await shop.begun(1);
    await page.evaluate(() => {
      localStorage.clear();
      return new Promise<void>((resolve) => {
        const request = indexedDB.deleteDatabase('samekey');
        request.onsuccess = () => resolve();
        request.onblocked = () => resolve();
      });
    });
    const second = pay(page);
    held.abort();
    expect((await Promise.all([first, second])).map(({ outcome }) => outcome)).toEqual(['done', 'done']);
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('in a sandboxed frame, which refuses all storage and locks, paying works and is said to be in memory (F134)', async () => {
    const page = await visit();
    const cors = {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': '*',
      'access-control-expose-headers': '*',
    };
    const keys: string[] = [];
    const server = createServer((request, response) => {
      const key = request.headers['idempotency-key'];
      if (request.method === 'POST' && typeof key === 'string') keys.push(key);
      response.writeHead(200, { ...cors, 'content-type': 'text/javascript' });
      response.end(request.url === '/client.js' ? script : '');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const told = await page.evaluate(
      (from) =>
        new Promise((resolve) => {
          addEventListener('message', ({ data }) => resolve(data));
          const frame = document.createElement('iframe');
          frame.sandbox.add('allow-scripts');
          frame.srcdoc = `<script>
            onerror = (message) => parent.postMessage(String(message), '*');
            onunhandledrejection = ({ reason }) => parent.postMessage(String(reason), '*');
          </script><script type="module">
            import { bestPending, createClient, memoryPending } from '${from}client.js';
            const told = [];
            for (const pending of [bestPending({ onKeptIn: (where) => told.push(where) }), memoryPending()]) {
              const client = createClient({ subject: 'alice', pending, whenDone: 'same', baseUrl: '${from}' });
              const one = client.operation('pay');
              const both = await Promise.all([1, 2].map(() => one.fetch('/paid', { body: '5' })));
              told.push(...both.map(({ outcome }) => outcome));
            }
            parent.postMessage(told, '*');
          </script>`;
          document.body.append(frame);
        }),
      origin,
    );
    server.closeAllConnections();
    server.close();
    expect(told).toEqual(['memory', 'done', 'done', 'done', 'done']);
    expect(new Set(keys).size).toBe(2);
  });

  it('a thousand settled rows hide no open one, and it is found in one look (F135)', async () => {
    const page = await visit();
    const looked = await page.evaluate(async () => {
      const { client, store } = shown;
      const settled = JSON.stringify({
        v: 1,
        key: 'key-0',
        digest: 'd',
        created: { wall: Date.now(), page: 0, server: null },
        page: 'p',
        stage: 'settled',
        settled: { wall: Date.now(), page: 0, server: null },
        by: 'p',
        answer: { outcome: 'done', status: 201, headers: [], body: btoa('x'.repeat(300)) },
      });
      await client.operation('first').fetch('/pay', { body: '1' });
      const [first] = await store.rows('');
      const subject = (first?.[0] ?? '').slice(0, -'first'.length);
      const raw = samekey.indexedDbPending();
      await Promise.all(
        Array.from({ length: 999 }, (_, at) =>
          raw.swap(`${subject}paid-${at}`, null, settled.replace('key-0', `key-${at}`)),
        ),
      );
      await client.operation('pay').fetch('/nowhere', { body: '5' });
      let looks = 0;
      const watched: Ours.PendingStore = {
        read: (one) => ((looks += 1), store.read(one)),
        swap: (...one) => ((looks += 1), store.swap(...one)),
        rows: (prefix) => ((looks += 1), store.rows(prefix)),
      };
      const next = samekey.createClient({ subject: 'alice', pending: watched, whenDone: 'same' });
      looks = 0;
      const left = await next.resume();
      return { open: left.map(({ operation }) => operation), looks };
    });
    expect(looked).toEqual({ open: ['pay'], looks: 1 });
  });
});

/** A browser of its own over a profile that stays. */
async function launch(profile: string): Promise<{ child: ChildProcess; browser: Browser }> {
  const child = spawn(program ?? '', [
    '--headless=new',
    '--no-sandbox',
    '--remote-debugging-port=0',
    `--user-data-dir=${profile}`,
  ]);
  let said = '';
  for await (const chunk of child.stderr as AsyncIterable<Buffer>) {
    said += String(chunk);
    const [, address] = /listening on (ws:\S+)/.exec(said) ?? [];
    if (address !== undefined) {
      return { child, browser: await chromium.connectOverCDP(address) };
    }
  }
  throw new Error(said);
}

it.runIf(program !== undefined)(
  'the key survives a browser that is killed while the payment runs (F131)',
  async () => {
    const profile = mkdtempSync(join(tmpdir(), 'samekey-profile-'));
    const script = await bundled(
      ['index.ts', 'memory.ts', 'browser/index.ts']
        .map((name) => `export * from ${source(name)};`)
        .join('\n'),
      [planted()],
    );
    const shop = await startShop({
      '/': { type: 'html', text: HTML },
      '/client.js': { type: 'text/javascript', text: script },
    });
    try {
      const [first, second] = [await launch(profile), null];
      expect(second).toBeNull();
      const page = await first.browser.contexts()[0]?.newPage();
      await page?.goto(shop.url);
      await page?.locator('body[data-ready]').waitFor({ state: 'attached' });
      shop.hold = new Promise(() => undefined);
      await page?.evaluate(() => void shown.client.operation('pay').fetch('/pay', { body: '5' }));
      await shop.begun(1);
      first.child.kill('SIGKILL');
      await once(first.child, 'exit');
      const again = await launch(profile);
      try {
        const next = await again.browser.contexts()[0]?.newPage();
        await next?.goto(shop.url);
        await next?.locator('body[data-ready]').waitFor({ state: 'attached' });
        const left = await next?.evaluate(async () =>
          (await shown.client.resume()).map(({ operation, wasSent, canGoOn }) => ({
            operation,
            wasSent,
            canGoOn,
          })),
        );
        expect(left).toEqual([{ operation: 'pay', wasSent: true, canGoOn: true }]);
      } finally {
        again.child.kill('SIGKILL');
        await once(again.child, 'exit');
      }
    } finally {
      await shop.close();
      rmSync(profile, { recursive: true, force: true });
    }
  },
);
