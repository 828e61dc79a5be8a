/**
 * Why: who reads a row of docs/internals/cases.md wants to see it. Runs the tests that cite a case, over every door and store that this
 * machine has.
 *
 *   node tools/case.mjs F81 [vitest's own options]
 */
import { spawnSync } from 'node:child_process';
import { citations, runnerOf } from './lib/citations.mjs';
import { isMain, ROOT } from './lib/report.mjs';
import { binOf } from './lib/run.mjs';

/**
 * The arguments for vitest; null when no test cites it.
 * @param {import('./lib/citations.mjs').Citation[]} all
 * @param {string} name
 * @returns {string[] | null}
 */
export function argumentsFor(all, name) {
  const cited = all.filter((one) => one.name === name);
  if (cited.length === 0) return null;
  const files = [...new Set(cited.map(({ file }) => runnerOf(file)))].toSorted();
  const titles = [...new Set(cited.map(({ title }) => title))];
  // A title that is all filled in cannot be looked for: then whole files run.
  const isWhole = titles.includes(null);
  const pattern = titles
    .map((title) => (title ?? '').replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('|');
  return ['run', ...(isWhole ? [] : [`--testNamePattern=${pattern}`]), ...files];
}

/** @param {string[]} args */
function main([name = '', ...rest]) {
  const found = argumentsFor(citations(ROOT), name);
  if (found === null) {
    console.error(
      `case: no test cites ${JSON.stringify(name)}: name a row of docs/internals/cases.md, such as F81.`,
    );
    return 2;
  }
  const { status } = spawnSync(process.execPath, [binOf('vitest'), ...found, ...rest], {
    cwd: ROOT,
    stdio: 'inherit',
    // Of every variant of a store, not a drawn part.
    env: { ...process.env, SAMEKEY_TEST_WHOLE: '1' },
  });
  return status ?? 1;
}

if (isMain(import.meta.url)) process.exitCode = main(process.argv.slice(2));
