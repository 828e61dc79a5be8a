/**
 * The page as it is served: in a real browser, on a desktop and a phone, in light and dark, on SQLite and PostgreSQL.
 * With SAMEKEY_SHOTS set to a folder, a picture of each page is kept there to be looked at.
 */

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { SamekeyRecord, Store } from 'samekey';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildConsole } from '../../../tools/build-console.mjs';
import { kinds, type Opened, open, request } from '../../cli/test/operating.ts';
import { chromiumProgram } from '../../samekey/test/services/chromium.ts';
import { axe, DESKTOP, LOOKS } from '../../samekey/test/services/looks.ts';
import type { ConsoleRight } from '../src/index.ts';
import { called } from './called.ts';
import { deadLetters } from './dead-letters-of.ts';
import { ALL, SECRET, type Served, serveConsole } from './serving.ts';

const SHOTS = process.env['SAMEKEY_SHOTS'];

/** What a browser must show and never do. */
const HOSTILE =
  '<img src=x onerror="document.title=1">\u202Eesrever\u001b[31m<script>document.title=1</script>';

async function shot(page: Page, name: string): Promise<void> {
  if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true });
}

function addressOf({ scope, key }: SamekeyRecord): string {
  return `#/record?${new URLSearchParams({ scope, key }).toString()}`;
}

const program = chromiumProgram();

for (const kind of program === undefined ? [] : kinds()) {
  describe(`the page: ${kind.name}`, () => {
    let app: Opened;
    let store: Store;
    let browser: Browser;
    let all: Served;
    let looker: Served;
    /** What a page has complained of, and the hosts that it has asked. */
    const faults: string[] = [];

    beforeAll(async () => {
      await buildConsole();
      await kind.start();
      app = await open(await kind.fresh());
      store = app.samekey.store;
      for (let i = 0; i < 30; i += 1) await request(app, `pay-${1000 + i}`, i % 6 === 0 ? 409 : 201);
      for (const key of ['8e03978e-40d5-43dd-bc93-6894a57f9324', 'order-7', 'order-8', 'order-9'])
        await request(app, key, 500, {
          operation: key.startsWith('order') ? 'POST /orders' : 'POST /payments',
        });
      await request(app, '<img src=x onerror="document.title=1">', 500, {
        operation: `POST ${HOSTILE}`,
        scope: [HOSTILE],
      });
      await deadLetters(store, 3);
      browser = await chromium.launch({ executablePath: program ?? '', args: ['--no-sandbox'] });
      const serve = (rights: readonly ConsoleRight[]) =>
        serveConsole({ store, path: '/ops', token: { secret: SECRET, actor: 'alice@example.com', rights } });
      all = await serve(ALL);
      looker = await serve([]);
    });
    afterAll(async () => {
      await browser?.close();
      await all?.close();
      await looker?.close();
      await app.close();
      await kind.stop();
    });

    async function start(at: Served, hash: string, look: BrowserContextOptions = DESKTOP): Promise<Page> {
      const context = await browser.newContext({ reducedMotion: 'reduce', ...look });
      context.setDefaultTimeout(15_000);
      const page = await context.newPage();
      page.on('pageerror', (error) => void faults.push(String(error)));
      page.on('console', (said) => {
        if (said.type() === 'error') faults.push(said.text());
      });
      page.on('request', (sent) => {
        if (!sent.url().startsWith(at.origin)) faults.push(sent.url());
      });
      await page.goto(`${at.origin}/ops/#token=${SECRET}`);
      await page.getByRole('heading', { name: 'What needs somebody' }).waitFor();
      if (hash !== '') await page.goto(`${at.origin}/ops/${hash}`);
      return page;
    }
    async function recordOf(key: string): Promise<SamekeyRecord> {
      const [record] = await store.list({ key });
      if (record === undefined) throw new Error(`no record ${key}`);
      return record;
    }
    it('settles an unknown payment in four clicks, and the client’s retry has its answer', async () => {
      const page = await start(all, '');
      const key = '8e03978e-40d5-43dd-bc93-6894a57f9324';
      await page.getByRole('link', { name: key }).click();
      await page.getByRole('button', { name: /^It happened/ }).click();
      await page.getByLabel('Body').fill('{"id":"pay_1"}');
      await page.getByLabel('Reason').fill('ticket 4711: the provider shows pay_1');
      await page.getByRole('button', { name: 'See what will happen' }).click();
      await page.getByText('Retries get status 201 with this body of 14 bytes').waitFor();
      expect((await recordOf(key)).state).toBe('unknown');
      await shot(page, `${kind.name} preview-desktop-light`);
      await page.getByRole('button', { name: 'Settle as completed' }).click();
      await page.getByText('Done.').waitFor();
      await page.getByText('settle unknown → completed by alice@example.com').waitFor();
      expect(await request(app, key, 500)).toMatchObject({ kind: 'replay', value: { id: 'pay_1' } });
      await shot(page, `${kind.name} done-desktop-light`);
      expect(await axe(page)).toEqual([]);
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    });

    it('a preview goes when what was typed changes: nothing is done that was not shown', async () => {
      const page = await start(all, addressOf(await recordOf('order-7')));
      await page.getByRole('button', { name: /^It was refused for good/ }).click();
      await page.getByLabel('Reason').fill('declined there');
      await page.getByRole('button', { name: 'See what will happen' }).click();
      await page.getByRole('button', { name: 'Settle as failed' }).waitFor();
      await page.getByLabel('Status').fill('409');
      expect(await page.getByRole('button', { name: 'Settle as failed' }).count()).toBe(0);
      await page.getByRole('button', { name: 'See what will happen' }).waitFor();
      expect((await recordOf('order-7')).state).toBe('unknown');
      await page.context().close();
    });

    it('says why an act is refused, and lets nobody do it', async () => {
      const page = await start(all, addressOf(await recordOf('order-7')));
      await page.getByRole('button', { name: /^Nothing happened/ }).click();
      await page.getByLabel('Reason').fill('the provider knows of none');
      await page.getByRole('button', { name: 'See what will happen' }).click();
      await page.getByText('A call to a provider may still be under way').waitFor();
      expect(await page.getByRole('button', { name: 'Let it run again' }).isDisabled()).toBe(true);
      await page.context().close();
    });

    it('is worked by keyboard alone, from the overview to the end', async () => {
      const page = await start(all, '');
      await page.getByRole('link', { name: 'order-8' }).waitFor();
      const focus = (): Promise<string> =>
        page.evaluate(() => {
          let element = document.activeElement;
          for (let next = element; next !== null; next = next.shadowRoot?.activeElement ?? null)
            element = next;
          return `${element?.textContent?.trim() ?? ''}${element?.getAttribute('name') ?? ''}`;
        });
      const tabTo = async (text: string): Promise<void> => {
        for (let i = 0; i < 60 && !(await focus()).includes(text); i += 1) await page.keyboard.press('Tab');
        expect(await focus()).toContain(text);
      };
      await tabTo('order-8');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'order-8' }).waitFor();
      await tabTo('It happened');
      await page.keyboard.press('Enter');
      await tabTo('body');
      await page.keyboard.type('done');
      await tabTo('reason');
      await page.keyboard.type('seen in the bank’s log');
      await page.keyboard.press('Enter');
      await page.getByText('This will happen:').waitFor();
      await tabTo('Settle as completed');
      await page.keyboard.press('Enter');
      await page.getByText('Done.').waitFor();
      expect((await recordOf('order-8')).state).toBe('completed');
      await page.context().close();
    });

    it('shows a stranger’s key as text: no markup, nothing turned, no code', async () => {
      const page = await start(all, '');
      const link = page.getByRole('link', { name: /esrever/ });
      expect(await link.innerText()).toContain('\\u202eesrever\\u001b[31m<script>');
      await link.click();
      await page.getByRole('heading', { name: '<img src=x onerror' }).waitFor();
      expect(await page.title()).toBe('Samekey console');
      expect(await page.locator('img, script:not([src])').count()).toBe(0);
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    });

    it('delivers dead letters again, some at once and all as a job: a dry run first, then a result for each', async () => {
      const page = await start(all, '#/letters');
      await page
        .getByRole('checkbox', { name: /^Choose / })
        .first()
        .check();
      await page.getByRole('button', { name: 'Deliver 1 again' }).click();
      await page.getByText('1 would be done.').waitFor();
      await shot(page, `${kind.name} letters-dry-desktop-light`);
      await page.getByLabel('Reason, for the audit').fill('the mail server is back');
      await page.getByRole('button', { name: 'Deliver them again' }).click();
      await page.getByText('1 done.').waitFor();
      await page.getByLabel('All, also those not shown').check();
      await page.getByRole('button', { name: 'Deliver all again' }).click();
      await page.getByText('2 would be done.').waitFor();
      expect(await axe(page)).toEqual([]);
      await shot(page, `${kind.name} letters-job-desktop-light`);
      await page.getByLabel('Reason, for the audit').fill('the mail server is back');
      await page.getByRole('button', { name: 'Do it to 2' }).click();
      await page.getByText('2 done.').waitFor();
      await page.goto(page.url().replace(/#.*$/, '#/letters'));
      await page.getByText('None. No message was given up.').waitFor();
      const rows = await store.audit({ acts: ['requeue'] });
      expect(rows.map(({ actor, reason }) => [actor, reason])).toEqual(
        Array.from({ length: 3 }, () => ['alice@example.com', 'the mail server is back']),
      );
      await deadLetters(store, 3);
      await page.context().close();
    });

    it('shows values by right and reason, and offers none of it to whoever may only look', async () => {
      const done = addressOf(await recordOf('pay-1001'));
      const page = await start(all, done);
      await page.getByText('Show the values').click();
      expect(await page.getByText('answer-of-pay-1001').count()).toBe(0);
      await page.getByLabel('Why do you need to see them?').fill('ticket 12');
      await page.getByRole('button', { name: 'Show them' }).click();
      await page.getByText('answer-of-pay-1001').waitFor();
      await page.getByText('reveal by alice@example.com').waitFor();
      await page.context().close();
      const other = await start(looker, addressOf(await recordOf('order-9')));
      await other.getByText('without the right settle').waitFor();
      expect(await other.locator('main').getByRole('button').count()).toBe(0);
      await shot(other, `${kind.name} looker-desktop-light`);
      await other.context().close();
    });

    it('hears of a new unknown outcome without being asked', async () => {
      const page = await start(all, '');
      await page.getByText('live', { exact: true }).waitFor();
      await request(app, 'live-1', 500);
      await page.getByRole('link', { name: 'live-1' }).waitFor();
      await page.context().close();
    });

    it('does one thing to all that match: a dry run with reasons, a job that is left and found again', async () => {
      const own = { scope: ['acme', 'bulk'] };
      for (const key of ['bulk-1', 'bulk-2', 'bulk-3']) await request(app, key, 409, own);
      await request(app, 'bulk-4', 201, own);
      const page = await start(all, '#/records?caller=acme/bulk');
      await page.getByText('Do one thing to all that match').click();
      await page.getByLabel('What').selectOption({ label: 'Reopen it' });
      await page.getByRole('button', { name: 'Dry run: change nothing' }).click();
      await page.getByText('3 would be done, 1 refused.').waitFor();
      await page.getByText('1 refused: It is completed').waitFor();
      expect((await recordOf('bulk-1')).state).toBe('failed');
      await shot(page, `${kind.name} job-tried-desktop-light`);
      expect(await axe(page)).toEqual([]);
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('heading', { name: 'What needs somebody' }).waitFor();
      await page.getByRole('link', { name: 'Jobs' }).click();
      await page.getByRole('link', { name: 'reopen · caller: acme/bulk' }).click();
      await page.getByLabel('Reason, for the audit').fill('the gateway is mended');
      await page.getByRole('button', { name: 'Do it to 3' }).click();
      await page.getByText('3 done, 1 refused.').waitFor();
      await page.getByLabel('Show').selectOption({ label: 'refused' });
      await page.getByRole('link', { name: 'bulk-1' }).waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'bulk-4' }).waitFor();
      for (const key of ['bulk-1', 'bulk-2', 'bulk-3']) expect((await recordOf(key)).state).toBe('retryable');
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    });

    it('finds a client that makes a key for each try', async () => {
      for (const key of ['minted-1', 'minted-2']) await request(app, key, 201, { scope: ['acme', 'minter'] });
      const page = await start(all, '#/records?caller=acme/minter');
      await page.getByRole('link', { name: 'Same content under new keys' }).click();
      await page.getByText('2 keys for one content').waitFor();
      await page.getByRole('link', { name: 'minted-1' }).waitFor();
      await shot(page, `${kind.name} minted-desktop-light`);
      expect(await axe(page)).toEqual([]);
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    });

    it('finds lines of what happened, and says why there are none', async () => {
      await request(app, 'line-1', 500);
      const { scope, claimId, attempt } = await recordOf('line-1');
      const fenced = { scope, key: 'line-1', claimId, attempt, actor: 'bob', reason: 'seen in the log' };
      const response = { status: 402, headers: [], body: null };
      await store.settle([{ ...fenced, to: 'failed', response }]);
      await store.note(
        Array.from({ length: 3 }, () => ({
          scope,
          key: 'line-1',
          operation: null,
          attempt,
          act: 'reveal' as const,
          from: null,
          to: null,
          reason: 'ticket 9',
          actor: 'eve',
        })),
      );
      const page = await start(all, addressOf(await recordOf('line-1')));
      await page.getByText('reveal by eve × 3').waitFor();
      const field = page.getByLabel('Find in what happened');
      await field.fill('SEEN IN');
      await page.getByText('reveal by eve').waitFor({ state: 'detached' });
      await page.getByText('settle unknown → failed by bob').waitFor();
      await page.getByLabel('only failures').check();
      await field.fill('ticket');
      await page.getByText('is a failure with “ticket” in it').waitFor();
      await shot(page, `${kind.name} timeline-desktop-light`);
      expect(await axe(page)).toEqual([]);
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    });

    it('finds a record by what the provider calls it, and says why nothing is found', async () => {
      await called(store, { scope: 'acme/alice|order', key: 'pi-of-records' }, 'provider-id', 'pi_3Nk');
      const page = await start(all, '#/records');
      const field = page.getByLabel('Downstream key, or the provider’s id');
      await field.fill('pi_3Nk');
      await field.press('Enter');
      await page.getByRole('link', { name: 'pi-of-records' }).waitFor();
      await page.getByText('1 shown').waitFor();
      await shot(page, `${kind.name} reference-desktop-light`);
      await field.fill('pi_of_nobody');
      await field.press('Enter');
      await page.getByText('Nothing leads from it to a record').waitFor();
      expect(faults.splice(0)).toEqual([]);
      await page.context().close();
    });

    it.each(LOOKS)(
      '%s: axe finds nothing on any page, and nothing is wider than the screen',
      async (name, look) => {
        const page = await start(all, '', look);
        const pages: readonly (readonly [string, string, string])[] = [
          ['overview', '#/', 'Nobody knows how these ended'],
          ['records', '#/records?states=failed', 'shown'],
          ['unknown', addressOf(await recordOf('order-9')), 'How did it end?'],
          ['completed', addressOf(await recordOf('pay-1001')), 'What it holds'],
          ['letters', '#/letters', 'deliveries'],
          ['jobs', '#/bulk', 'reopen · caller'],
          ['audit', '#/audit', 'settle'],
        ];
        for (const [view, hash, text] of pages) {
          await page.goto(`${all.origin}/ops/${hash}`);
          await page.getByText(text).first().waitFor({ state: 'attached' });
          if (view === 'unknown') await page.getByRole('button', { name: /^It happened/ }).click();
          await page.waitForLoadState('load');
          expect([view, await axe(page)]).toEqual([view, []]);
          const overflow = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          expect([view, overflow]).toEqual([view, 0]);
          await shot(page, `${kind.name} ${view}, ${name}`);
        }
        expect(faults.splice(0)).toEqual([]);
        await page.context().close();
      },
    );
  });
}
