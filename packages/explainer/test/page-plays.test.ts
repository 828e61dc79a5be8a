/** The page as it plays by itself: the story in sixty seconds, its picture, its voice; and when it stands still. */

import { readFileSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram } from '../../samekey/test/services/chromium.ts';
import { DESKTOP } from '../../samekey/test/services/looks.ts';
import { ServedPage } from './served-page.ts';

/** What happens in the step that the first stage shows. */
const captionOf = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const { trace, place } = document.querySelector('samekey-explainer') as unknown as {
      readonly trace: { readonly steps: readonly { readonly caption: string }[] };
      readonly place: { readonly step: number };
    };
    return trace.steps[place.step]?.caption ?? '';
  });

/** A voice that writes down what it says, and ends when it is told to. */
function stubVoice(): void {
  const said: string[] = [];
  let spoken: EventTarget | null = null;
  class Utterance extends EventTarget {
    readonly text: string;
    constructor(text: string) {
      super();
      this.text = text;
    }
  }
  const speechSynthesis = {
    cancel: () => undefined,
    speak(words: Utterance) {
      said.push(words.text);
      spoken = words;
    },
  };
  const endSaid = (): unknown => spoken?.dispatchEvent(new Event('end'));
  for (const [name, value] of Object.entries({
    said,
    endSaid,
    speechSynthesis,
    SpeechSynthesisUtterance: Utterance,
  }))
    Object.defineProperty(window, name, { value, configurable: true });
}

const program = chromiumProgram();

describe.runIf(program !== undefined)('the page by itself', () => {
  let served: ServedPage;
  let faults: string[];
  const open = (hash: string, look?: BrowserContextOptions, before?: () => void): Promise<Page> =>
    served.open(hash, look, before);

  beforeAll(async () => {
    served = await ServedPage.start(program ?? '');
    ({ faults } = served);
  });
  afterAll(() => served?.stop());

  it('saves a whole run as a picture', async () => {
    const page = await open('#double-click/no-claim/1/3');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as a picture' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('samekey-double-click-no-claim-1.png');
    const bytes = readFileSync(await file.path());
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
    // Width and height, as a PNG begins with them.
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20) > 1_000]).toEqual([2_880, true]);
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('tells the story in sixty seconds, scene after scene, until somebody takes over', async () => {
    const page = await open('#two-tenants/samekey/1/3');
    for (const _ of [2, 4]) await page.getByRole('button', { name: /^Speed/ }).click();
    await page.getByRole('button', { name: 'The story in sixty seconds' }).click();
    await page.getByRole('heading', { name: 'The lost answer' }).waitFor();
    await expect.poll(() => page.locator('samekey-stage').count()).toBe(2);
    await page.getByRole('heading', { name: 'The double click' }).waitFor();
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('.play').innerText()).toContain('Play');
    await page.context().close();
  });

  it('saves the whole story as one picture while it is told', async () => {
    const page = await open('');
    await page.getByRole('button', { name: 'The story in sixty seconds' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save the story as a picture' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('samekey-story.png');
    expect(readFileSync(await file.path()).readUInt32BE(20)).toBeGreaterThan(3_000);
    await page.keyboard.press('ArrowRight');
    await page.getByRole('button', { name: 'Save as a picture' }).waitFor();
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('reads out what stands there when it is asked to, and plays on when it has been said', async () => {
    const page = await open('#lost-answer/samekey/1/0', DESKTOP, stubVoice);
    const said = (): Promise<readonly string[]> =>
      page.evaluate(() => (window as unknown as { readonly said: string[] }).said);
    await page.locator('h1').click();
    await page.keyboard.press('ArrowRight');
    expect(await said()).toEqual([]);
    await page.getByLabel('Read out').check();
    await expect.poll(said).toEqual([await captionOf(page)]);
    await page.clock.install();
    await page.getByRole('button', { name: 'Play' }).click();
    await page.clock.runFor(5_000);
    expect(await said()).toHaveLength(1);
    await page.evaluate(() => (window as unknown as { readonly endSaid: () => void }).endSaid());
    await page.clock.runFor(5_000);
    expect(await said()).toHaveLength(2);
    await page.getByLabel('Read out').uncheck();
    await page.keyboard.press('End');
    expect(await said()).toHaveLength(2);
    await page.context().close();
  });

  it('has no switch for a voice where the browser has none', async () => {
    const page = await open('', DESKTOP, () => {
      Reflect.deleteProperty(window, 'speechSynthesis');
    });
    expect(await page.getByLabel('Two versions side by side').count()).toBe(1);
    expect(await page.getByLabel('Read out').count()).toBe(0);
    await page.context().close();
  });

  it('plays only while it is on screen', async () => {
    const page = await open('#crash/samekey/1/0');
    await page.clock.install();
    const step = (): Promise<string> => page.locator('samekey-controls .of').innerText();
    await page.getByRole('button', { name: 'Play' }).click();
    await page.clock.runFor(10_000);
    const before = await step();
    expect(before).not.toMatch(/^1 /);
    const scroll = (away: boolean): Promise<void> =>
      page.evaluate(async (isAway) => {
        const explainer = document.querySelector('samekey-explainer');
        if (explainer === null) return;
        (explainer as HTMLElement).style.marginTop = isAway ? '300vh' : '0';
        window.scrollTo(0, 0);
        // Whoever looks later is told later: the page knows by then.
        await new Promise((resolve) => new IntersectionObserver(resolve).observe(explainer));
      }, away);
    await scroll(true);
    await page.clock.runFor(60_000);
    expect(await step()).toBe(before);
    await scroll(false);
    await page.clock.runFor(10_000);
    expect(await step()).not.toBe(before);
    await page.context().close();
  });

  it('plays by itself to the end and stands still there', async () => {
    const page = await open('#lost-answer/no-protection/1/7');
    for (const _ of [2, 4]) await page.getByRole('button', { name: /^Speed/ }).click();
    await page.getByRole('button', { name: 'Play' }).click();
    await page.getByRole('button', { name: 'Again' }).waitFor();
    expect(await page.locator('samekey-controls .of').innerText()).toBe('11 / 11');
    await page.context().close();
  });
});
