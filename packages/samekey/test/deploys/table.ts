/** The table of the deploy contract as the guide has it. */

import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { AS_EVER, DEPLOY_STATES, type DeployRow } from '../../../testing/src/deploys-contract.ts';

const GUIDE = new URL('../../../../docs/guides/deploys.md', import.meta.url);
const [BEGIN, END] = ['<!-- made by the deploy contract -->', '<!-- end -->'];

type Cells = NonNullable<DeployRow['cells']>;

function isAsEver(cells: Cells): boolean {
  return DEPLOY_STATES.every((state) =>
    cells[state].every((met) => met === null || met === AS_EVER[state] || met === '425 in-progress'),
  );
}

function cellText(cells: Cells, state: (typeof DEPLOY_STATES)[number]): string {
  const [atNew, atOld] = cells[state].map((met) => met ?? 'none made');
  return atNew === atOld ? String(atNew) : `${atNew}; ${atOld}`;
}

/** Markdown: what changes nothing, and the rest state by state. */
export function markdownOf(rows: readonly DeployRow[]): string {
  const same = rows.filter(({ cells }) => cells !== null && isAsEver(cells));
  const others = rows.filter(({ cells }) => cells !== null && !isAsEver(cells));
  const told = rows.filter(({ words }) => words !== null);
  return [
    `Retries go on as if nothing had changed (${DEPLOY_STATES.map((state) => `${state}: ${AS_EVER[state]}`).join(' · ')}), in both directions and after a rollback, when a deploy changes:`,
    '',
    ...same.map(({ what }) => `- ${what}`),
    '',
    'What is met otherwise, at new code that finds the record of old code; behind a semicolon at old code that finds one of new code:',
    '',
    `| what changes | ${DEPLOY_STATES.join(' | ')} |`,
    `| --- |${' --- |'.repeat(DEPLOY_STATES.length)}`,
    ...others.map(
      ({ what, cells }) =>
        `| ${what} | ${DEPLOY_STATES.map((state) => cellText(cells as Cells, state)).join(' | ')} |`,
    ),
    '',
    'And what no bridge helps:',
    '',
    ...told.map(({ what, words }) => `- ${what}: ${words}.`),
  ].join('\n');
}

/** Fails where the guide says something else; with SAMEKEY_WRITE=1 the guide is written instead. */
export function compareWithGuide(rows: readonly DeployRow[]): void {
  const page = readFileSync(GUIDE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  expect(from).toBeGreaterThan(BEGIN.length);
  const made = `\n\n${markdownOf(rows)}\n\n`;
  if (process.env['SAMEKEY_WRITE'] === '1')
    return writeFileSync(GUIDE, page.slice(0, from) + made + page.slice(to));
  expect(page.slice(from, to), 'SAMEKEY_WRITE=1 writes it').toBe(made);
}
