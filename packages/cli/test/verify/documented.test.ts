/** The reference names every scenario with its level, title and source, and nothing else. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SCENARIOS } from '../../src/verify/scenarios/all.ts';

const page = readFileSync(new URL('../../../../docs/reference/verify.md', import.meta.url), 'utf8');

it('every scenario stands in the reference as it is in the code, in its order', () => {
  const rows = page
    .split('\n')
    .filter((line) => /^\| `[a-z-]+` \| (?:MUST|SHOULD|recommended) \|/.test(line));
  expect(rows).toEqual(
    SCENARIOS.map(({ name, level, title, source }) => `| \`${name}\` | ${level} | ${title} | ${source} |`),
  );
});

it('names of scenarios are distinct', () => {
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
});
