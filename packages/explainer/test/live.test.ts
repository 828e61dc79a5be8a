/** The page of buttons, served by the demo itself, in a real browser. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildExplainer } from '../../../tools/build-explainer.mjs';
import { freshFolder, RunningDemo } from '../../cli/test/running-demo.ts';
import { chromiumProgram } from '../../samekey/test/services/chromium.ts';
import { axe, LOOKS } from '../../samekey/test/services/looks.ts';

const program = chromiumProgram();

describe.runIf(program !== undefined)('the page of buttons', () => {
  const page = mkdtempSync(join(tmpdir(), 'samekey-explainer-'));
  const data = freshFolder();
  let demo: RunningDemo;
  let browser: Browser;

  beforeAll(async () => {
    await buildExplainer(page);
    demo = await RunningDemo.start(data.dir, ['--explainer', page]);
    browser = await chromium.launch({ executablePath: program ?? '', args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await demo?.interrupt();
    data.remove();
    rmSync(page, { recursive: true });
  });

  async function open(path: string, look: BrowserContextOptions = {}): Promise<Page> {
    const opened = await browser.newPage({ reducedMotion: 'reduce', ...look });
    opened.setDefaultTimeout(20_000);
    await opened.goto(demo.origin + path);
    return opened;
  }

  it('pays by a button, replays by the next one, and shows ledger and record as they change', async () => {
    const live = await open('/live');
    await live.getByRole('button', { name: 'Send: A payment' }).click();
    await live.locator('.try').first().locator('.pill', { hasText: '201' }).waitFor();
    await live.getByRole('button', { name: 'Send: Its retry: the very same request again' }).click();
    await live.locator('.try').nth(1).locator('.pill', { hasText: 'replayed' }).waitFor();
    await live.getByRole('button', { name: 'Send: The same key with another amount' }).click();
    await live.locator('.try').nth(2).locator('.pill', { hasText: '422' }).waitFor();
    await live.getByText('one charge for each').waitFor();
    expect(await live.locator('.sums strong').allInnerTexts()).toEqual(['1', '1']);
    expect(await live.locator('tbody tr').first().innerText()).toContain('completed');
    expect(await live.locator('.try pre').first().textContent()).toContain('curl -i');
    expect(await axe(live)).toEqual([]);
    await live.close();
  });

  it.each(LOOKS)('%s: axe finds nothing, and nothing is wider than the screen', async (_name, look) => {
    const live = await open('/live', look);
    await live.locator('tbody tr').first().waitFor();
    expect(await axe(live)).toEqual([]);
    const overflows = await live.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflows).toBeLessThanOrEqual(0);
    await live.close();
  });

  it('charges once for each payment under chaos, however often it is sent', async () => {
    const live = await open('/live');
    await live.getByRole('checkbox').check();
    await live.getByText('Start over with new keys').click();
    const pay = live.getByRole('button', { name: 'Send: A payment' });
    const answer = live.locator('.try').first().locator('.answer').first();
    await expect
      .poll(
        async () => {
          await pay.click();
          await answer.getByText('under way').waitFor({ state: 'detached' });
          return answer.innerText();
        },
        { timeout: 40_000, interval: 500 },
      )
      .toContain('201');
    await expect.poll(() => live.locator('.sums strong').allInnerTexts()).toEqual(['2', '2']);
    await live.close();
  });

  it('leads to the stories and back, and its looking around is not in the log of requests', async () => {
    const stories = await open('/');
    await stories.locator('samekey-stage svg').first().waitFor();
    await stories.getByRole('link', { name: 'Buttons for your own API' }).click();
    await stories.locator('.try').first().waitFor();
    await stories.getByRole('link', { name: 'See what happens, step by step' }).click();
    await stories.locator('samekey-stage svg').first().waitFor();
    expect(demo.lines.filter((line) => /GET .*(demo|live|explainer)/.test(line))).toEqual([]);
    expect(demo.stdout).toContain(`${demo.origin}/live`);
    await stories.close();
  });
});
