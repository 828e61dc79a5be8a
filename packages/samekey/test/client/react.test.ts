/** The hook in React 19, StrictMode, in a real browser against a real shop. */

import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Shop, startShop } from '../processes/client-shop.ts';
import { chromiumProgram } from '../services/chromium.ts';
import { planted } from './planted.ts';

const program = chromiumProgram();

describe.runIf(program !== undefined)('useOnce', () => {
  let browser: Browser;
  let script: string;
  let shop: Shop;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: program ?? '', args: ['--no-sandbox'] });
    const bundle = await rolldown({
      input: fileURLToPath(new URL('react-page.js', import.meta.url)),
      platform: 'browser',
      logLevel: 'silent',
      plugins: [planted()],
      // StrictMode runs effects twice in React's development build only.
      transform: { define: { 'process.env.NODE_ENV': '"development"' } },
      resolve: { conditionNames: ['@samekey/source', 'import', 'default', 'browser'] },
    });
    const { output } = await bundle.generate({ format: 'esm' });
    await bundle.close();
    script = output.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('\n');
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    const html =
      '<!doctype html><title>shop</title><div id="root"></div><script type="module" src="/page.js"></script>';
    shop = await startShop({
      '/': { type: 'html', text: html },
      '/page.js': { type: 'text/javascript', text: script },
      '/receipt': { type: 'html', text: '<!doctype html><title>receipt</title>Thank you.' },
    });
    context = await browser.newContext({ baseURL: shop.url });
    context.setDefaultTimeout(20_000);
    page = await context.newPage();
    await page.goto('/');
  });
  afterEach(async () => {
    await context.close();
    await shop.close();
  });

  /** Payments wait until it is aborted. */
  function hold(): AbortController {
    const held = new AbortController();
    shop.hold = new Promise((resolve) => {
      held.signal.addEventListener('abort', () => resolve());
    });
    return held;
  }

  const state = (text: RegExp): Promise<void> =>
    page.locator('#state', { hasText: text }).waitFor({ state: 'attached' });

  // F23
  it('a double click and renders in between make one payment', async () => {
    const held = hold();
    await page.dblclick('#pay');
    await page.click('#render');
    await page.click('#pay');
    await page.locator('[data-renders="1"]').waitFor();
    await shop.begun(1);
    held.abort();
    await state(/^done$/);
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('after a reload in the middle nothing is sent unasked, and going on has the same key', async () => {
    shop.faults.push('lose-reply', 'cut');
    const held = hold();
    await page.click('#pay');
    await shop.begun(1);
    await page.reload();
    held.abort();
    await state(/^open$/);
    expect(await page.textContent('#why')).toBe('sent');
    expect(shop.keys).toHaveLength(1);
    await page.click('#go-on');
    await state(/^done$/);
    expect(await page.textContent('#why')).toBe('replayed');
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('what no clock proves is open again when a call was told so: the person can go on without a reload', async () => {
    shop.faults.push('lose-reply', 'cut');
    const held = hold();
    await page.click('#pay');
    await shop.begun(1);
    await page.reload();
    held.abort();
    await state(/^open$/);
    await page.click('#pay');
    await page.locator('#why', { hasText: /^age-unknown$/ }).waitFor({ state: 'attached' });
    await state(/^open$/);
    await page.click('#go-on');
    await state(/^done$/);
    expect(shop.payments).toHaveLength(1);
  });

  it('the back button leads to the same payment, the page asks, and only a new intent leads to another', async () => {
    await page.click('#pay');
    await state(/^done$/);
    await page.goto('/receipt');
    await page.goBack();
    await state(/^(idle|done)$/);
    await page.click('#pay');
    await page.locator('#next-step', { hasText: /^ask$/ }).waitFor({ state: 'attached' });
    expect(shop.payments).toHaveLength(1);
    // F24: the same again, on purpose.
    await page.click('#again');
    await state(/^idle$/);
    await page.click('#pay');
    await state(/^done$/);
    expect(await page.textContent('#why')).toBe('first');
    expect(shop.payments).toHaveLength(2);
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('another invoice never shows what became of the last one', async () => {
    // F132
    const held = hold();
    await page.click('#pay');
    await shop.begun(1);
    await page.click('#next');
    await page.locator('#invoice', { hasText: '43' }).waitFor();
    await state(/^idle$/);
    held.abort();
    await page.locator('body[data-settled="done"]').waitFor();
    await page.click('#render');
    await page.locator('[data-renders="1"]').waitFor();
    expect(await page.textContent('#state')).toBe('idle');
    await page.click('#pay');
    await state(/^done$/);
    expect(shop.payments).toHaveLength(2);
    expect(new Set(shop.keys).size).toBe(2);
  });

  it('what was never sent is asked about at the next visit, and cancelled', async () => {
    // F129
    await context.setOffline(true);
    await page.click('#pay');
    await state(/^waiting$/);
    // It waits also before its row is there, and then nothing would be left.
    await page.locator('body[data-made]').waitFor();
    await page.close();
    await context.setOffline(false);
    page = await context.newPage();
    await page.goto('/');
    await state(/^open$/);
    expect(await page.textContent('#why')).toBe('new');
    await page.click('#cancel');
    await state(/^idle$/);
    expect(shop.keys).toHaveLength(0);
    await page.reload();
    await state(/^idle$/);
  });
});
