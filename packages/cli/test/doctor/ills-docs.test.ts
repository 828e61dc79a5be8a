/** docs/reference/doctor-ills.md is the list of planted ills. Written anew by `SAMEKEY_WRITE_DOCS=1 npx vitest run ills-docs`. */

import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ILLS, type Kind } from './ills.ts';

const PAGE = new URL('../../../../docs/reference/doctor-ills.md', import.meta.url);
const NAMES: Readonly<Record<Kind, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL', mysql: 'MySQL' };

const INTRODUCTION = `# What the doctor finds

Each line is planted by a test in a real database, on each kind that is named, and must be found by [\`samekey doctor\`](cli.md#samekey-doctor)
with what mends it; and on a healthy database under load nothing may be found. This page is made of those tests
(\`packages/cli/test/doctor/ills.ts\`).

| check | ill | tried on |
| --- | --- | --- |
`;

it('the page lists every ill that is planted, and nothing else', () => {
  const rows = ILLS.map(({ check, ill, plant }) => {
    const kinds = (Object.keys(NAMES) as Kind[]).filter((kind) => plant[kind] !== undefined);
    return `| \`${check === '' ? 'schema' : check}\` | ${ill} | ${kinds.map((kind) => NAMES[kind]).join(', ')} |\n`;
  });
  const page = `${INTRODUCTION}${rows.join('')}\n${ILLS.length} ills.\n`;
  if (process.env['SAMEKEY_WRITE_DOCS'] === '1') writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
  expect(ILLS.length).toBeGreaterThanOrEqual(40);
  expect(new Set(ILLS.map(({ ill }) => ill)).size).toBe(ILLS.length);
});
