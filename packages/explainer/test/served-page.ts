/** The page as it is served: made from the sources, from a static folder, in a real browser that writes down what goes wrong. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { buildExplainer } from '../../../tools/build-explainer.mjs';
import { serveFolder } from '../../../tools/lib/serve.mjs';
import { DESKTOP } from '../../samekey/test/services/looks.ts';

/** A browser before which the page stands. */
export class ServedPage {
  /** What a page has complained of, and the hosts that it has asked. */
  readonly faults: string[] = [];
  readonly #folder: string;
  readonly #server: Awaited<ReturnType<typeof serveFolder>>;
  readonly #browser: Browser;

  private constructor(folder: string, server: Awaited<ReturnType<typeof serveFolder>>, browser: Browser) {
    this.#folder = folder;
    this.#server = server;
    this.#browser = browser;
  }

  static async start(program: string): Promise<ServedPage> {
    const folder = mkdtempSync(join(tmpdir(), 'samekey-explainer-'));
    await buildExplainer(folder);
    const server = await serveFolder(folder);
    const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
    return new ServedPage(folder, server, browser);
  }

  /** Opens the page at an address, in a context of its own; `before` runs in it before the page does. */
  async open(
    hash: string,
    look: BrowserContextOptions = DESKTOP,
    before: () => void = () => undefined,
  ): Promise<Page> {
    const context = await this.#browser.newContext({ reducedMotion: 'reduce', ...look });
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    await page.addInitScript(before);
    page.on('pageerror', (error) => void this.faults.push(String(error)));
    page.on('console', (said) => {
      if (said.type() === 'error') this.faults.push(said.text());
    });
    page.on('request', (request) => {
      // Pictures are made in the page.
      const asked = request.url().replace(/^blob:/, '');
      if (!asked.startsWith(this.#server.origin) && !asked.startsWith('data:')) this.faults.push(asked);
    });
    await page.goto(`${this.#server.origin}/${hash}`);
    await page.locator('samekey-stage svg').first().waitFor();
    return page;
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    this.#server.close();
    rmSync(this.#folder, { recursive: true });
  }
}
