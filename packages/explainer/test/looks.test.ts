/** Each story and version in each look: on a desktop and a phone, in light and dark. Nothing is cut off, and axe finds nothing. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram } from '../../samekey/test/services/chromium.ts';
import { axe, LOOKS } from '../../samekey/test/services/looks.ts';
import { faultsText, SCENARIOS, type Scenario } from '../src/model/index.ts';
import { ServedPage } from './served-page.ts';

/** The addresses of a story's versions; a sandbox with the faults that break the version. */
function runsOf({ id, variants }: Scenario): readonly string[] {
  return variants.map(({ id: variant, breaks }) => {
    const faults = faultsText(breaks?.faults ?? []);
    return `#${id}/${variant}/1/0${faults === '' ? '' : `?faults=${faults}`}`;
  });
}

/**
 * In the page: goes to a run, and with the arrow keys to its end and back. What is wrong with what is shown, by step: names of lanes over
 * each other, words outside of the stage, a page that is wider than its screen, another caption on the way back.
 */
async function walk(hash: string): Promise<{ readonly steps: number; readonly wrong: readonly string[] }> {
  const explainer = document.querySelector('samekey-explainer') as unknown as {
    readonly shadowRoot: ShadowRoot;
    readonly trace: { readonly scenario: string; readonly variant: string; readonly steps: unknown[] } | null;
  };
  const later = window.setTimeout.bind(window);
  const painted = (): Promise<unknown> => new Promise((resolve) => void later(resolve));
  location.hash = hash;
  while (!hash.startsWith(`#${explainer.trace?.scenario}/${explainer.trace?.variant}/`)) await painted();
  await painted();
  const root = explainer.shadowRoot;
  const caption = (): string => root.querySelector('.caption')?.textContent ?? '';
  const press = async (key: string): Promise<void> => {
    window.dispatchEvent(new KeyboardEvent('keydown', { key }));
    await painted();
  };
  const look = (): string[] => {
    const wrong: string[] = [];
    const page = document.documentElement;
    if (page.scrollWidth > page.clientWidth) wrong.push('the page is wider than its screen');
    const stage = root.querySelector('samekey-stage')?.shadowRoot;
    const room = stage?.querySelector('svg')?.getBoundingClientRect();
    const heads = [...(stage?.querySelectorAll('.heads span') ?? [])];
    const boxes = heads.map((head) => head.getBoundingClientRect());
    if (room === undefined) return ['there is no stage'];
    for (const words of [...heads, ...(stage?.querySelectorAll('svg text') ?? [])]) {
      const { left, right } = words.getBoundingClientRect();
      if (left < room.left - 1 || right > room.right + 1)
        wrong.push(`“${words.textContent}” stands outside of the stage`);
    }
    const isOver = boxes.some((one, i) =>
      boxes.some(
        (other, j) =>
          j > i &&
          other.left < one.right &&
          other.right > one.left &&
          other.top < one.bottom - 2 &&
          one.top < other.bottom - 2,
      ),
    );
    if (isOver) wrong.push('names of lanes stand over each other');
    return wrong.map((fault) => `${caption()}: ${fault}`);
  };
  const wrong = look();
  const there = [caption()];
  for (let step = 1; step < (explainer.trace?.steps.length ?? 0); step += 1) {
    await press('ArrowRight');
    there.push(caption());
    wrong.push(...look());
  }
  for (const said of there.toReversed()) {
    if (said !== caption()) wrong.push(`on the way back: ${caption()}, on the way there: ${said}`);
    await press('ArrowLeft');
  }
  return { steps: there.length, wrong };
}

const program = chromiumProgram();

describe.runIf(program !== undefined)('the looks of the page', () => {
  let served: ServedPage;
  beforeAll(async () => {
    served = await ServedPage.start(program ?? '');
  });
  afterAll(() => served?.stop());

  describe.each(LOOKS)('%s', (_look, options) => {
    let page: Page;
    beforeAll(async () => {
      page = await served.open('', options);
    });
    afterAll(() => page?.context().close());

    it.each(SCENARIOS.map((scenario) => [scenario.id, scenario] as const))(
      '%s: every version to its end and back, nothing cut off, and nothing for axe at the end',
      async (_id, scenario) => {
        for (const hash of runsOf(scenario)) {
          const { steps, wrong } = await page.evaluate(walk, hash);
          expect(steps).toBeGreaterThan(4);
          expect(wrong).toEqual([]);
        }
        // The broken version: the end at which everything is red.
        await page.evaluate(
          (to) => {
            location.hash = to;
          },
          runsOf(scenario)[0]?.replace(/0(\?|$)/, '99$1') ?? '',
        );
        await page.locator('.verdict.harm').waitFor();
        expect(await axe(page)).toEqual([]);
        expect(served.faults.splice(0)).toEqual([]);
      },
    );
  });
});
