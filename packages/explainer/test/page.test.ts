/** The page as it is served: made from the sources, in a real browser; stepped, and worked by hand. */

import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram } from '../../samekey/test/services/chromium.ts';
import { axe, LOOKS } from '../../samekey/test/services/looks.ts';
import { play, SCENARIOS } from '../src/model/index.ts';
import { QUESTIONS } from '../src/view/questions.ts';
import { placeOf } from '../src/view/step-address.ts';
import { ServedPage } from './served-page.ts';

const RUNS = SCENARIOS.flatMap((scenario) =>
  scenario.variants.map(({ id }) => [`${scenario.id}, ${id}`, `#${scenario.id}/${id}/1/0`] as const),
);

/** Presses a key until nothing moves any more; what the stage has shown, caption and picture, at each step. */
function stepped(page: Page, key: 'ArrowRight' | 'ArrowLeft'): Promise<readonly string[]> {
  return page.evaluate(async (pressed) => {
    const root = document.querySelector('samekey-explainer')?.shadowRoot;
    const look = (): string => {
      const picture = root?.querySelector('samekey-stage')?.shadowRoot?.querySelector('svg');
      return `${root?.querySelector('.caption')?.textContent ?? ''}\n${picture?.innerHTML ?? ''}`;
    };
    const seen = [look()];
    for (;;) {
      window.dispatchEvent(new KeyboardEvent('keydown', { key: pressed }));
      // What is shown follows in microtasks.
      await new Promise((resolve) => void setTimeout(resolve));
      const now = look();
      if (now === seen.at(-1)) return seen;
      seen.push(now);
    }
  }, key);
}

/** Whether the page shows the run that an address names. */
function isPlayed(hash: string): boolean {
  const { trace } = document.querySelector('samekey-explainer') as unknown as {
    readonly trace: { readonly scenario: string; readonly variant: string } | null;
  };
  return trace !== null && hash.startsWith(`#${trace.scenario}/${trace.variant}/`);
}

/** The run that the page shows. */
function playedTrace(): unknown {
  return (document.querySelector('samekey-explainer') as unknown as { readonly trace: unknown }).trace;
}

/** The caption of the first stage. */
const shown = (page: Page): Promise<string> => page.locator('.stages .caption').first().innerText();

const program = chromiumProgram();

describe.runIf(program !== undefined)('the page', () => {
  let served: ServedPage;
  let faults: string[];
  /** One page in which all runs are stepped. */
  let stepping: Page | undefined;
  const open = (hash: string, look?: BrowserContextOptions): Promise<Page> => served.open(hash, look);

  beforeAll(async () => {
    served = await ServedPage.start(program ?? '');
    ({ faults } = served);
  });
  afterAll(() => served?.stop());

  it.each(RUNS)(
    '%s: is stepped to its end and back, and shows the same on the way back',
    async (_name, hash) => {
      const page = (stepping ??= await open(hash));
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await page.waitForFunction(isPlayed, hash);
      // One source of truth: the browser plays what Node plays.
      expect(await page.evaluate(playedTrace)).toEqual(await play(placeOf(hash)));
      const there = await stepped(page, 'ArrowRight');
      expect(there.length).toBeGreaterThan(4);
      expect(there.at(-1)).toContain('Meant: €');
      expect(page.url()).toContain(`/1/${there.length - 1}`);
      const back = await stepped(page, 'ArrowLeft');
      expect(back.toReversed()).toEqual(there);
      expect(faults.splice(0)).toEqual([]);
    },
  );

  it('holds its memory: what is left when all runs are stepped once more is what was left before', async () => {
    // The runs above have been stepped there and back: an hour and more of play.
    const page = (stepping ??= await open(''));
    const session = await page.context().newCDPSession(page);
    const heap = async (): Promise<number> => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    const before = await heap();
    for (const [, hash] of RUNS) {
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await page.waitForFunction(isPlayed, hash);
      await page.evaluate(() => {
        const root = document.querySelector('samekey-explainer');
        for (let i = 0; i < 60; i += 1)
          window.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
        return (root as unknown as { readonly updateComplete: Promise<boolean> }).updateComplete;
      });
    }
    expect((await heap()) - before).toBeLessThan(2 * 2 ** 20);
  });

  it('answers five questions, each beside a step that shows it', async () => {
    const page = await open('');
    const asked = page.getByRole('region', { name: 'Questions' });
    for (const { asks, answer, address } of QUESTIONS) {
      await asked.getByText(asks, { exact: true }).click();
      await asked.getByText(answer.slice(0, 40)).waitFor();
      await asked.getByRole('link', { name: `See it: ${asks}` }).click();
      await expect.poll(() => page.url()).toContain(address);
    }
    expect(await axe(page)).toEqual([]);
    await page.context().close();
  });

  it.each(LOOKS)(
    '%s: axe finds nothing at the beginning, in the middle and at the end, side by side or not',
    async (_name, look) => {
      const page = await open('#double-click/no-claim/1/0', look);
      expect(await axe(page)).toEqual([]);
      await page.locator('.transcript summary').click();
      await page.keyboard.press('Home');
      for (let i = 0; i < 8; i += 1) await page.keyboard.press('ArrowRight');
      for (const message of await page.locator('samekey-messages summary').all()) await message.click();
      expect(await axe(page)).toEqual([]);
      await page.getByLabel('Two versions side by side').check();
      await page.locator('h1').click();
      await page.keyboard.press('End');
      await page.locator('.verdict').nth(1).waitFor();
      expect(await axe(page)).toEqual([]);
      const overflows = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflows).toBeLessThanOrEqual(0);
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    },
  );

  it('opens at the step that its address names, and follows the address', async () => {
    const page = await open('#other-amount/samekey/1/11');
    await expect.poll(() => shown(page)).toContain('another one than that of the row');
    expect(await page.locator('samekey-row dl').innerText()).toContain('completed');
    await page.evaluate(() => {
      location.hash = '#double-click/no-claim/1/9';
    });
    await expect.poll(() => shown(page)).toContain('a second time');
    await page.context().close();
  });

  it('is worked by keyboard alone: a version is chosen, the task is shown, played and ticked off', async () => {
    const page = await open('');
    const focus = (): Promise<string> =>
      page.evaluate(() => {
        let element = document.activeElement;
        for (let next = element; next !== null; next = next.shadowRoot?.activeElement ?? null) element = next;
        return element?.textContent?.trim() ?? '';
      });
    for (let i = 0; i < 40 && (await focus()) !== 'Show me'; i += 1) await page.keyboard.press('Tab');
    expect(await focus()).toBe('Show me');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.play').innerText()).toContain('Pause');
    await page.keyboard.press('End');
    await expect.poll(() => page.locator('.tasks .done').count()).toBe(1);
    expect(await page.locator('.money output').first().innerText()).toBe('€24.00');
    await page.context().close();
  });

  it('has a number that matters stand over its lane, and plays what it is turned to', async () => {
    const page = await open('#forgetful/trusts/1/0');
    const dial = page.getByLabel('Provider Remembers a key for');
    const lane = page.locator('samekey-stage .heads').getByText('Provider');
    const middles = await Promise.all(
      [dial, lane].map(async (one) => {
        const { x, width } = (await one.boundingBox()) ?? { x: 0, width: 0 };
        return x + width / 2;
      }),
    );
    expect(Math.abs((middles[0] ?? 0) - (middles[1] ?? 999))).toBeLessThan(4);
    await page.locator('h1').click();
    await page.keyboard.press('End');
    await expect.poll(() => shown(page)).toContain('paid twice');
    await dial.fill('20000');
    await expect.poll(() => page.url()).toContain('/0?memory=20000');
    await page.locator('h1').click();
    await page.keyboard.press('End');
    await expect.poll(() => shown(page)).toContain('Each order was paid once');
    await page.context().close();
  });

  it('lets a fault be placed by hand, keeps it in the address, and takes it away again', async () => {
    const page = await open('#sandbox/no-protection/1/2');
    const panel = page.getByRole('region', { name: 'Faults' });
    await expect.poll(() => panel.innerText()).toContain('leaves, from Provider to API 1');
    await page.keyboard.press('ArrowRight');
    await panel.getByRole('button', { name: 'It is lost' }).click();
    await panel.getByText('message 1 from API 1 to App').waitFor();
    await expect.poll(() => page.url()).toContain('/3?faults=lose.api-1.client.1');
    await page.keyboard.press('End');
    await expect.poll(() => page.locator('.money output').first().innerText()).toBe('€24.00');
    await page.locator('.tasks .done').waitFor();
    await page.goto(page.url());
    await page.reload();
    await expect.poll(() => shown(page)).toContain('paid twice');
    await page.locator('.variants').getByText('Samekey').click();
    await page.locator('h1').click();
    await page.keyboard.press('End');
    await expect.poll(() => shown(page)).toContain('Each order was paid once');
    await panel.getByRole('button', { name: /^Take away/ }).click();
    await expect.poll(() => page.url()).not.toContain('faults');
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it.each(LOOKS)('%s: axe finds nothing in the sandbox', async (_name, look) => {
    const placed = 'hold.api-1.provider.1_dies.store.api-2.1_lose.api-2.client.40';
    const page = await open(`#sandbox/samekey/1/3?faults=${placed}`, look);
    await page.getByText('does not come about in this version').waitFor();
    expect(await axe(page)).toEqual([]);
    const overflows = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflows).toBeLessThanOrEqual(0);
    await page.context().close();
  });

  it('says so where a story cannot be loaded, and loads it when it can', async () => {
    const page = await open('');
    await page.route('**/tell-unknown-*.js', (route) => route.abort());
    await page.getByRole('button', { name: 'Nobody knows' }).click();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/tell-unknown-*.js');
    await page.getByRole('button', { name: 'The order in three parts' }).click();
    await expect.poll(() => shown(page)).toContain('Order and pay');
    expect(faults.splice(0).join()).toContain('Failed to');
    await page.context().close();
  });
});
