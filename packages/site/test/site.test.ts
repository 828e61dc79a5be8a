/** The site as it is served: built from docs/, in a real browser, on a desktop and a phone, in light and dark. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSite, urlOf } from '../../../tools/build-site.mjs';
import { checkPages, checkPrinted } from '../../../tools/check-site.mjs';
import { importedPackages, readEntries } from '../../../tools/lib/entries.mjs';
import { ROOT } from '../../../tools/lib/report.mjs';
import { readNavigation } from '../../../tools/site/nav.mjs';
import { OptionsError as ClientOptionsError } from '../../client/src/client-error.ts';
import { type ErrorCode, helpOf, SamekeyError } from '../../samekey/src/core/errors.ts';
import { PROBLEMS } from '../../samekey/src/http/problem.ts';
import { chromiumProgram } from '../../samekey/test/services/chromium.ts';
import { axe, DESKTOP, LOOKS, PHONE } from '../../samekey/test/services/looks.ts';
import { serveSite } from './served-site.ts';

/** One page of each kind. */
const KINDS = [
  '',
  'guides/express/',
  'errors/key-reused/',
  'api/',
  'api/samekey-express/',
  'source/examples/express-sqlite/',
  'code/',
  'see-it/',
  'sizing/',
  'checklist/',
  'runbooks/gone',
];
/** What the site is served below. */
const BASE = '/docs/0.1';
const HELP_URL = helpOf('').slice(0, -1);

/** Everything that Tab reaches, as the address it leads to or its words. What is folded is unfolded by Enter. */
async function tabbed(page: Page): Promise<readonly string[]> {
  const reached: string[] = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const { at, isFolded, isPast } = await page.evaluate(() => {
      const element = document.activeElement;
      const details = element?.tagName === 'SUMMARY' ? element.closest('details') : null;
      const isSeen = (globalThis as { seen?: Set<unknown> }).seen ?? new Set();
      (globalThis as { seen?: Set<unknown> }).seen = isSeen;
      const past = element === document.body || isSeen.has(element);
      isSeen.add(element);
      return {
        at: element instanceof HTMLAnchorElement ? element.href : (element?.textContent ?? ''),
        isFolded: details !== null && !details.open,
        isPast: past,
      };
    });
    if (isPast) return reached;
    reached.push(at);
    if (isFolded) await page.keyboard.press('Enter');
  }
}

const program = chromiumProgram();
const folder = mkdtempSync(join(tmpdir(), 'samekey-site-'));
beforeAll(async () => {
  await buildSite(folder, ROOT, `${BASE}/`);
}, 120_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

it('every link and anchor leads somewhere, nothing is asked of another host, and what is printed has a page', () => {
  expect(checkPages(folder, `${BASE}/`)).toEqual([]);
  expect(checkPrinted(folder)).toEqual([]);
});

it('nobody can buy the address that links are made with by default', () => {
  expect(new URL(HELP_URL).hostname.endsWith('.example')).toBe(true);
  expect(new ClientOptionsError('x').help.startsWith(`${HELP_URL}#`)).toBe(true);
});

it('every name that an entry gives out, values and types, is on its page', async () => {
  for (const entryPackage of importedPackages(ROOT)) {
    for (const { name: entry, source } of readEntries(ROOT, entryPackage)) {
      const built = `${entryPackage}/dist/${source.slice('src/'.length).replace(/\.ts$/, '')}`;
      const values = Object.keys((await import(join(ROOT, `${built}.js`))) as object);
      const types = [
        ...readFileSync(join(ROOT, `${built}.d.ts`), 'utf8').matchAll(/^export (?:type )?\{([^}]*)\}/gm),
      ].flatMap(([, names = '']) =>
        names.split(',').map(
          (name) =>
            name
              .trim()
              .split(/ as |^type /)
              .at(-1) ?? '',
        ),
      );
      const file = `api/${entry.replace('@', '').replaceAll('/', '-')}.md`;
      const page = readFileSync(join(folder, file), 'utf8');
      const told = (name: string): boolean =>
        page.includes(`\n## ${name}\n`) || new RegExp(`^Also exported: .*\\[\`${name}\`\\]`, 'm').test(page);
      const missing = [...values, ...types].filter((name) => name !== '' && !told(name));
      expect({ entry, missing }).toEqual({ entry, missing: [] });
    }
  }
});

it('tells programs what there is: every page in llms.txt, each as Markdown', () => {
  const text = readFileSync(join(folder, 'llms.txt'), 'utf8');
  const twins = [...text.matchAll(/\]\(([^)]+\.md)\)/g)].map(([, path]) => String(path));
  expect(twins).toContain('guides/express.md');
  expect(twins).toContain('errors/key-reused.md');
  expect(twins).toContain('api/samekey-express.md');
  for (const path of twins) expect(readFileSync(join(folder, path), 'utf8')).toMatch(/^# /m);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'packages/samekey/package.json'), 'utf8')) as {
    version: string;
  };
  expect(text).toContain(`Version ${version}`);
});

describe.runIf(program !== undefined)('in a browser', () => {
  let server: Server;
  let browser: Browser;
  let origin = '';
  /** What a page has complained of, and the hosts that it has asked. */
  const faults: string[] = [];

  beforeAll(async () => {
    ({ server, origin } = await serveSite(folder, BASE));
    browser = await chromium.launch({ executablePath: program ?? '', args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  async function open(path: string, look: BrowserContextOptions = DESKTOP): Promise<Page> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...look });
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    page.on('pageerror', (error) => void faults.push(String(error)));
    page.on('console', (said) => {
      // Of an address that is gone, the browser says itself that it answered 404.
      if (said.type() === 'error' && !said.location().url.endsWith('/gone')) faults.push(said.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) faults.push(request.url());
    });
    await page.goto(`${origin}/${path}`);
    return page;
  }

  it('every link that an error or a problem document prints leads to its code', async () => {
    const codes = readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8').matchAll(/^### (ERR_\w+)$/gm);
    const printed = [
      ...Object.keys(PROBLEMS).map(helpOf),
      ...[...codes].map(([, code]) => new SamekeyError(code as ErrorCode, 'x').help),
      new ClientOptionsError('x').help,
    ];
    expect(printed.length).toBeGreaterThan(50);
    const page = await open('errors');
    for (const url of printed) {
      expect(url.startsWith(`${HELP_URL}#`)).toBe(true);
      const target = await page.evaluate(async (hash) => {
        location.hash = hash;
        await new Promise((resolve) => void requestAnimationFrame(resolve));
        const at = document.querySelector(':target');
        return (at?.textContent || at?.closest('p')?.nextElementSibling?.textContent) ?? '';
      }, new URL(url).hash);
      const code = target.replace(/#$/, '').toLowerCase().replaceAll('_', '-');
      expect(`#${code}`).toBe(new URL(url).hash);
    }
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('whoever comes to an address that is gone is led on, however deep it lay', async () => {
    const page = await open('errors/one/that/is/gone');
    expect(await page.locator('h1').innerText()).toContain('There is no such page');
    // Its sheet and its scripts have come: the menu's button is shown by them.
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search these pages' }).fill('key-reused');
    await expect.poll(() => page.locator('dialog a').first().getAttribute('href')).toMatch(/key-reused/);
    // Once for the field, once for the box.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByRole('main').getByRole('link', { name: 'every code' }).click();
    await page.waitForURL(/\/errors\/$/);
    expect(await page.locator('h1').innerText()).toContain('Every code');
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('every page is reached by keyboard from the first one', async () => {
    const page = await open('');
    const reached = new Set(await tabbed(page));
    const pages = readNavigation(ROOT).flatMap(({ parts }) => parts.flatMap(({ entries }) => entries));
    expect(pages.length).toBeGreaterThan(80);
    expect(pages.filter(({ file }) => !reached.has(`${origin}/${urlOf(file)}`))).toEqual([]);
    expect(reached.has(`${origin}/errors/`)).toBe(true);
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it.each(LOOKS)(
    '%s: axe finds nothing on any kind of page, and none is wider than the screen',
    async (_name, look) => {
      // Axe itself is a script that the policy of the pages refuses.
      const page = await open('', { ...look, bypassCSP: true });
      for (const kind of KINDS) {
        await page.goto(`${origin}/${kind}`);
        expect(await axe(page), kind).toEqual([]);
        const overflows = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect(overflows, kind).toBeLessThanOrEqual(0);
      }
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    },
  );

  it('finds a code, an option and a symptom without another host, by keyboard', async () => {
    const page = await open('guides/express/', { ...DESKTOP, bypassCSP: true });
    await page.keyboard.press('/');
    const field = page.getByRole('searchbox', { name: 'Search these pages' });
    await field.waitFor();
    for (const [words, expected] of [
      [
        'ERR_SAMEKEY_FENCE_LOST',
        /errors\/err-samekey-fence-lost\/|errors\/#err-samekey|errors\/#err_samekey/,
      ],
      ['waitMaxMs', /reference\/options\/(#\S*)?$/m],
      ['RouteOptions', /^\S*api\/samekey-express\/#routeoptions$/m],
      ['dead letters', /runbooks\/dead-letters\//],
    ] as const) {
      await field.fill(words);
      const found = page.locator('dialog a');
      const addresses = (): Promise<string> =>
        found.evaluateAll((links) => links.map((link) => link.getAttribute('href')).join('\n'));
      await expect.poll(addresses).toMatch(expected);
    }
    expect(await axe(page)).toEqual([]);
    // The best of them is the runbook.
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/runbooks\/dead-letters/);
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('shows the program that was asked for, by keyboard, and only that', async () => {
    const page = await open('code/');
    const shown = page.locator('samekey-chooser pre');
    await expect.poll(() => shown.innerText()).toContain('postgresStore({');
    const framework = page.getByLabel('Framework');
    await framework.focus();
    // Two below Express.
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => shown.innerText()).toContain('NestFactory.create');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => shown.innerText()).toContain('mysqlStore({');
    await page.getByLabel('Way').selectOption('Phased');
    await expect.poll(() => shown.first().innerText()).toContain('samekey.phased');
    expect(await page.getByLabel('Store').isDisabled()).toBe(true);
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('counts what a service needs, as it is typed', async () => {
    const page = await open('sizing/');
    await page.getByLabel('Keys a day').fill('864000');
    await page.getByLabel('Retention, days').fill('2');
    await expect.poll(() => page.locator('samekey-sizing tr').nth(1).innerText()).toContain('1,728,000');
    expect(await page.locator('samekey-sizing tr').nth(2).innerText()).toContain('1.8 GB');
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('plays the explainer within a page, in the look that the page has', async () => {
    const page = await open('see-it/', { ...DESKTOP, colorScheme: 'light' });
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.locator('samekey-stage svg').first().waitFor();
    const before = await page.locator('.stages .caption').first().innerText();
    await page.locator('h1').first().click();
    await page.keyboard.press('End');
    await expect.poll(() => page.locator('.stages .caption').first().innerText()).not.toBe(before);
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('the menu of a phone opens and closes by keyboard; the chosen look stays on the next page', async () => {
    const page = await open('guides/express/', { ...PHONE, colorScheme: 'light' });
    const pages = page.getByRole('navigation', { name: 'Pages' });
    expect(await pages.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).press('Enter');
    expect(await pages.isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await pages.isVisible()).toBe(false);
    const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.getByRole('button', { name: 'Dark' }).press('Enter');
    const dark = await paper();
    expect(dark).not.toBe(light);
    await page.goto(`${origin}/start/`);
    expect(await paper()).toBe(dark);
    expect(faults.splice(0)).toEqual([]);
    await page.context().close();
  });

  it('is read without scripts: all pages in the navigation, no button that does nothing', async () => {
    const page = await open('guides/express/', { ...DESKTOP, javaScriptEnabled: false });
    expect(await page.getByRole('navigation', { name: 'Pages' }).isVisible()).toBe(true);
    expect(await page.locator('.top button:visible').count()).toBe(0);
    await page.context().close();
  });
});
