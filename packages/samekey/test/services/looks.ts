/** How a page is looked at in a browser: on a desktop and a phone, in light and dark, and by axe. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContextOptions, Page } from 'playwright-core';

export const DESKTOP = { viewport: { width: 1440, height: 1000 } };
export const PHONE = { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true };

/** By name. */
export const LOOKS: readonly (readonly [string, BrowserContextOptions])[] = [
  ['desktop, light', { ...DESKTOP, colorScheme: 'light' }],
  ['desktop, dark', { ...DESKTOP, colorScheme: 'dark' }],
  ['phone, light', { ...PHONE, colorScheme: 'light' }],
  ['phone, dark', { ...PHONE, colorScheme: 'dark' }],
];

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

let script: string | undefined;

/** What axe finds, as `rule: element`. A page's own policy may let no script in: the debugger's is another way. */
export async function axe(page: Page): Promise<string[]> {
  script ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(`${script}; undefined`);
  return page.evaluate(async () => {
    const runner = (globalThis as unknown as { axe: { run: () => Promise<AxeResult> } }).axe;
    const { violations } = await runner.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}
