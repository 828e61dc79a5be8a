/**
 * The explainer beside the payments API: its page at `/`, buttons for the API at `/live`, and what those show of the
 * demo's own store. Its files are made from the repository; where they are not, the demo runs without them.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import express, { type RequestHandler } from 'express';
import type { SamekeyRecord } from 'samekey';
import { sendJson } from './api-answers.ts';
import { type IntentCharges, ledgerOf } from './intents.ts';
import { DEMO_TENANT } from './tenant.ts';
import type { Try } from './tries.ts';

/** What the pages show. */
interface ExplainerOptions {
  readonly folder: string;
  readonly tries: () => readonly Try[];
  /** How often each intent was charged, of the tenant without a name. */
  readonly intents: () => Promise<readonly IntentCharges[]>;
  readonly records: (limit: number) => Promise<readonly SamekeyRecord[]>;
}

const RECORDS_MAX = 25;

/** Whether the explainer's files are in this folder. */
export function hasExplainer(folder: string): boolean {
  return existsSync(join(folder, 'index.html')) && existsSync(join(folder, 'live.html'));
}

/** Serves it. What it does not know it passes on. */
export function explainerPages({ folder, tries, intents, records }: ExplainerOptions): RequestHandler {
  const pages = express.Router();
  const index = readFileSync(join(folder, 'index.html'), 'utf8');
  // Only here there is an API that the page can lead to.
  const withLive = index.replace('<samekey-explainer>', '<samekey-explainer live="/live">');
  pages.get('/', (_req, res) => void res.type('html').send(withLive));
  pages.get('/live', (_req, res) => res.sendFile(resolve(folder, 'live.html')));
  pages.get('/demo/tries', (_req, res) => sendJson(res, 200, tries()));
  pages.get('/demo/state', async (_req, res) => {
    const [charges, kept] = await Promise.all([intents(), records(RECORDS_MAX)]);
    sendJson(res, 200, { ledger: ledgerOf(DEMO_TENANT, charges), records: kept.map(shown) });
  });
  pages.use(express.static(folder, { index: false }));
  return pages;
}

function shown(record: SamekeyRecord): Readonly<Record<string, unknown>> {
  const { key, operation, state, attempt, reason, recoveryPoint, response, createdAt } = record;
  return {
    key,
    operation,
    state,
    attempt,
    reason,
    recoveryPoint,
    status: response?.status ?? null,
    createdAt,
  };
}
