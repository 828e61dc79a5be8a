/**
 * What users do to payments, in a real browser against a real shop: reload in the middle, double click, two tabs, offline and online
 * again, the back button (F23); with faults drawn from a seed. Each must be one execution under one key, and the page must be told.
 */

import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { type Fault, type Shop, startShop } from './client-shop.ts';
import { shopPages } from './browser-pages.ts';

/** What can be done, by name. */
export const HABITS: readonly Habit[] = ['reload', 'double-click', 'two-tabs', 'offline', 'back'];
export type Habit = 'reload' | 'double-click' | 'two-tabs' | 'offline' | 'back';

/** A browser that is open. */
export interface BrowserBench {
  /** One user doing one thing; what was wrong. */
  round(options: { seed: number; habit?: Habit }): Promise<{ failures: readonly string[]; note: string }>;
  close(): Promise<void>;
}

/** Starts it, without a window. */
export async function startBrowser(program: string): Promise<BrowserBench> {
  // As root there is no sandbox.
  const browser: Browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
  const pages = await shopPages();
  return {
    async round({ seed, habit = HABITS[seed % HABITS.length] ?? 'reload' }) {
      const store = Math.floor(seed / HABITS.length) % 2 === 0 ? 'indexed-db' : 'local';
      const shop = await startShop(pages);
      const context = await browser.newContext({ baseURL: shop.url });
      context.setDefaultTimeout(20_000);
      const what = `seed ${seed}, ${habit}, ${store}`;
      try {
        shop.faults.push(...faultsOf(seed));
        await DO[habit](context, shop, store === 'local' ? '/?local' : '/');
        return { failures: judge(shop).map((fault) => `${what}: ${fault}`), note: what };
      } catch (error) {
        return { failures: [`${what}: ${String(error)}`], note: what };
      } finally {
        await context.close();
        await shop.close();
      }
    },
    close: () => browser.close(),
  };
}

/** None in a third of the rounds, else up to three. */
function faultsOf(seed: number): Fault[] {
  const known: readonly Fault[] = ['cut', 'lose-reply', { status: 503 }, { status: 502 }, 'lose-reply'];
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % below;
  };
  if (next(3) === 0) return [];
  return Array.from({ length: 1 + next(3) }, () => known[next(known.length)] ?? 'cut');
}

function judge(shop: Shop): string[] {
  const faults: string[] = [];
  if (shop.payments.length !== 1) faults.push(`${shop.payments.length} executions`);
  if (new Set(shop.keys).size !== 1) faults.push(`${new Set(shop.keys).size} keys`);
  return faults;
}

/** One habit each; resolves when every page was told that it is paid. */
const DO: Readonly<Record<Habit, (context: BrowserContext, shop: Shop, path: string) => Promise<void>>> = {
  async reload(context, shop, path) {
    const held = new AbortController();
    shop.hold = new Promise((resolve) => {
      held.signal.addEventListener('abort', () => resolve());
    });
    const page = await openPage(context, path);
    await page.click('#pay');
    await shop.begun(1);
    await page.reload();
    held.abort();
    // Nothing is sent unasked.
    await page.locator('body[data-left="sent"]').waitFor();
    await page.click('#go-on');
    await told(page, 'resumed', 1);
  },
  async 'double-click'(context, _shop, path) {
    const page = await openPage(context, path);
    await page.dblclick('#pay');
    await told(page, '', 2);
  },
  async 'two-tabs'(context, _shop, path) {
    const tabs = await Promise.all([openPage(context, path), openPage(context, path)]);
    await Promise.all(tabs.map((tab) => tab.evaluate(() => document.getElementById('pay')?.click())));
    await Promise.all(tabs.map((tab) => told(tab, '', 1)));
  },
  async offline(context, _shop, path) {
    const page = await openPage(context, path);
    await context.setOffline(true);
    await page.click('#pay');
    await page.locator('#events li', { hasText: 'waiting offline' }).first().waitFor({ state: 'attached' });
    await context.setOffline(false);
    await told(page, '', 1);
  },
  async back(context, _shop, path) {
    const page = await openPage(context, path);
    await page.click('#pay');
    await told(page, '', 1);
    await page.goto('/receipt');
    await page.goBack();
    await page.locator('body[data-ready]').waitFor();
    const before = await page.locator('#results li').count();
    await page.click('#pay');
    await told(page, '', before + 1);
  },
};

async function openPage(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(path);
  await page.locator('body[data-ready]').waitFor();
  return page;
}

/** Waits for so many results, each of them that it is paid. */
async function told(page: Page, prefix: string, count: number): Promise<void> {
  const results = page.locator('#results li');
  await results.nth(count - 1).waitFor({ state: 'attached' });
  for (const text of await results.allTextContents()) {
    if (!new RegExp(`^${prefix} ?done$`).test(text)) throw new Error(`the page was told "${text}"`);
  }
}
