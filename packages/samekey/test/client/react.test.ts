/** The hook in React 19, StrictMode, in a real browser against a real shop. */

import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Shop, startShop } from '../processes/client-shop.ts';
import { chromiumProgram } from '../services/chromium.ts';

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

  const state = (text: RegExp): Promise<void> =>
    page.locator('#state', { hasText: text }).waitFor({ state: 'attached' });

  // F23
  it('a double click and renders in between make one payment', async () => {
    const held = new AbortController();
    shop.hold = new Promise((resolve) => {
      held.signal.addEventListener('abort', () => resolve());
    });
    await page.dblclick('#pay');
    await page.click('#render');
    await page.click('#pay');
    await page.locator('[data-renders="1"]').waitFor();
    await shop.begun(1);
    held.abort();
    await state(/^(first|replayed)$/);
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('a reload in the middle is gone on with when the component appears', async () => {
    shop.faults.push('lose-reply', 'cut');
    const held = new AbortController();
    shop.hold = new Promise((resolve) => {
      held.signal.addEventListener('abort', () => resolve());
    });
    await page.click('#pay');
    await shop.begun(1);
    await page.reload();
    held.abort();
    await state(/^replayed$/);
    expect(shop.payments).toHaveLength(1);
    expect(new Set(shop.keys).size).toBe(1);
  });

  it('the back button leads to the same payment, and only a new intent to another', async () => {
    await page.click('#pay');
    await state(/^first$/);
    await page.goto('/receipt');
    await page.goBack();
    await page.locator('#pay').click();
    await state(/^(first|replayed)$/);
    expect(shop.payments).toHaveLength(1);
    // F24: the same again, on purpose.
    await page.click('#again');
    await state(/^idle$/);
    await page.click('#pay');
    await state(/^first$/);
    expect(shop.payments).toHaveLength(2);
    expect(new Set(shop.keys).size).toBe(2);
  });
});
