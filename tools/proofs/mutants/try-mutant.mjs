/** Runs the tests of a mutant, with its edit or without, and says what they found. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildFolder } from '../../lib/files.mjs';
import { ROOT } from '../../lib/report.mjs';
import { binOf } from '../../lib/run.mjs';
import { plant, sourceOf, testsOf } from './mutant.mjs';

/** @typedef {import('./mutant.mjs').Mutant} Mutant */
/** @typedef {{ passed: number, failed: string[], late: string[], broken: string[], loaded: boolean, over: boolean }} Found */

/** Longest time for the tests of one mutant. A test that hangs has not failed: nobody would know why. */
const TIME_MAX_MS = 180_000;

/** @param {string} file */
export const readFile = (file) => {
  const path = join(ROOT, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
};

/**
 * What became of a mutant: `killed` by a test that failed for it, or what is wrong.
 * @param {Mutant} mutant
 * @returns {Promise<{ killed: string } | { survived: string } | { fault: string }>}
 */
export async function tryMutant(mutant) {
  const planted = plant(mutant, readFile);
  if ('problem' in planted) return { fault: `does not fit: ${planted.problem}` };
  const clean = await unplanted(mutant);
  if (clean !== undefined) return { fault: clean };
  const found = await runTests(mutant, planted.text);
  if (found.failed.length > 0) return { killed: String(found.failed[0]) };
  if (found.broken.length > 0) return { fault: `its tests did not load: ${found.broken[0]}` };
  if (!found.loaded) return { fault: `no test of ${mutant.tests.join(', ')} loads ${mutant.file}` };
  if (found.late.length > 0 || found.over)
    return { fault: `its tests hung, and none failed: ${found.late[0] ?? 'the time of all was over'}` };
  return { survived: `${found.passed} tests of ${mutant.tests.join(', ')} passed` };
}

/** @type {Map<string, Promise<string | undefined>>} */
const seenClean = new Map();

/**
 * What is wrong with the tests where nothing is planted: one that fails anyway kills nothing. Seen once for each set of tests.
 * @param {Mutant} mutant
 */
function unplanted(mutant) {
  const text = JSON.stringify([mutant.tests, mutant.only]);
  const known = seenClean.get(text);
  if (known !== undefined) return known;
  const look = runTests(mutant, undefined).then(({ passed, failed, late, broken, over }) => {
    const wrong = [...failed, ...late, ...broken, ...(over ? ['the time of all was over'] : [])];
    if (wrong.length > 0) return `its tests fail without it: ${wrong[0]}`;
    return passed === 0 ? `no test is named ${mutant.only}, or all were skipped` : undefined;
  });
  seenClean.set(text, look);
  return look;
}

/**
 * @param {Mutant} mutant
 * @param {string | undefined} text the edited source
 * @returns {Promise<Found>}
 */
async function runTests(mutant, text) {
  const folder = mkdtempSync(join(buildFolder(ROOT, 'mutants'), 'try-'));
  const [json, loaded] = [join(folder, 'vitest.json'), join(folder, 'loaded')];
  const planted = text === undefined ? null : { file: join(ROOT, sourceOf(mutant)), text, loaded };
  const only = mutant.only === undefined ? [] : ['-t', mutant.only];
  const child = spawn(
    process.execPath,
    [
      binOf('vitest'),
      'run',
      '--config=tools/proofs/mutants/vitest.config.ts',
      '--root=.',
      '--reporter=json',
      `--outputFile=${json}`,
      '--bail=1',
      '--maxWorkers=1',
      ...testsOf(mutant),
      ...only,
    ],
    {
      cwd: ROOT,
      stdio: 'ignore',
      detached: true,
      // A variant's contract whole: the test that must see the edit may be in any part of it.
      env: { ...process.env, SAMEKEY_TEST_WHOLE: '1', SAMEKEY_MUTANT: JSON.stringify(planted) },
    },
  );
  let over = false;
  const timer = setTimeout(() => {
    over = true;
    try {
      process.kill(-Number(child.pid), 'SIGKILL');
    } catch {
      // Already gone.
    }
  }, TIME_MAX_MS);
  await new Promise((resolve) => void child.once('close', resolve));
  clearTimeout(timer);
  const report = existsSync(json) ? readFileSync(json, 'utf8') : undefined;
  const found = { ...judge(report), loaded: existsSync(loaded), over };
  rmSync(folder, { recursive: true, force: true });
  return found;
}

/**
 * Reads vitest's JSON report: what failed by an error or an assertion, what only because its time was over, and what did not load.
 * @param {string | undefined} text
 */
export function judge(text) {
  /** @type {{ passed: number, failed: string[], late: string[], broken: string[] }} */
  const found = { passed: 0, failed: [], late: [], broken: [] };
  if (text === undefined) return found;
  /** @type {{ testResults: { name: string, status: string, message?: string, assertionResults: { status: string, fullName: string, failureMessages?: string[] }[] }[] }} */
  const report = JSON.parse(text);
  for (const file of report.testResults) {
    let failed = 0;
    for (const { status, fullName, failureMessages = [] } of file.assertionResults) {
      if (status === 'passed') found.passed += 1;
      if (status !== 'failed') continue;
      failed += 1;
      const isLate = failureMessages.every((message) => /^Error: (Test|Hook) timed out/u.test(message));
      (isLate ? found.late : found.failed).push(fullName);
    }
    if (file.status === 'failed' && failed === 0) found.broken.push(`${file.name}: ${file.message ?? ''}`);
  }
  return found;
}
