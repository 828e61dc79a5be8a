/**
 * Why: one command is what CI runs and what anybody can run: `npm run ci`. Every step runs, whatever failed before it; each is
 * timed; what a child prints is printed; and the last line says how much held: the tests of vitest, and each other step as
 * one. `npm run check` is the same without the demo and the tests.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { buildFolder } from './lib/files.mjs';
import { isDeath, LOOSE_ERRORS } from './lib/loose-errors.mjs';
import { isMain, ROOT } from './lib/report.mjs';
import { binOf } from './lib/run.mjs';

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string[]} command
 * @property {number} timeMaxMs a child that hangs must not hang the run
 * @property {() => Counts} [count] reads the step's own counts; without it the step is one check
 * @property {(files: readonly string[]) => Step} [again] what runs those files of tests anew whose process died
 * @typedef {{ passed: number, failed: number, skipped: string[], failures: string[], slowest: string[], died: string[] }} Counts
 * @typedef {{ name: string, ok: boolean, seconds: number, counts: Counts }} Result
 */

const MINUTE_MS = 60_000;

/** Of each failure. */
const LINES_TOLD_MAX = 3;
const TOLD_MAX = 600;

/** Of a step that failed and names nothing itself: the end of what it printed. */
const TAIL_LINES_MAX = 12;
/** Before each of these lines, which are no failures of their own. */
const INDENT = '        ';

/** @type {Counts} */
const NOTHING = { passed: 0, failed: 0, skipped: [], failures: [], slowest: [], died: [] };

/** @param {string} script */
const tool = (script) => [process.execPath, join('tools', script)];

/** @type {Step[]} */
const CHECKS = [
  // First: the package check looks at what was built.
  {
    name: 'types',
    command: [process.execPath, binOf('typescript', 'tsc'), '-b', 'tsconfig.all.json'],
    timeMaxMs: 5 * MINUTE_MS,
  },
  // The package is published with it.
  { name: 'console page', command: tool('build-console.mjs'), timeMaxMs: MINUTE_MS },
  {
    name: 'format',
    command: [process.execPath, binOf('@biomejs/biome', 'biome'), 'format', '.'],
    timeMaxMs: 2 * MINUTE_MS,
  },
  {
    name: 'lint',
    command: [process.execPath, binOf('oxlint'), '--type-aware', '--deny-warnings'],
    timeMaxMs: 5 * MINUTE_MS,
  },
  { name: 'imports', command: tool('check-imports.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'tidy', command: tool('check-tidy.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'entries', command: tool('check-entries.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'errors', command: tool('check-errors.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'options', command: tool('check-options.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'threats', command: tool('check-threats.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'cases', command: tool('check-cases.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'contract', command: tool('check-contract.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'mutants fit', command: tool('check-mutants.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'ops', command: tool('check-ops.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'docs', command: tool('check-docs.mjs'), timeMaxMs: 5 * MINUTE_MS },
  { name: 'site', command: tool('check-site.mjs'), timeMaxMs: 3 * MINUTE_MS },
  { name: 'package', command: tool('check-types.mjs'), timeMaxMs: 5 * MINUTE_MS },
  { name: 'size', command: tool('check-size.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'lock', command: tool('check-lock.mjs'), timeMaxMs: 2 * MINUTE_MS },
  { name: 'path', command: [process.execPath, 'bench/path.mjs', '--check'], timeMaxMs: 2 * MINUTE_MS },
];

/** Another Node, from npm. */
const NODE_24 = ['npx', '--yes', '--package', 'node@24', '--', 'node'];

/** @returns {Step[]} */
function waysIn() {
  return [
    { name: 'demo', command: tool('smoke-demo.mjs'), timeMaxMs: 6 * MINUTE_MS },
    { name: 'verify', command: tool('verify-demo.mjs'), timeMaxMs: 3 * MINUTE_MS },
    // The oldest Node that is supported runs everything; the one that newcomers have runs what needs no server, `node:sqlite` among it.
    { name: 'demo on Node 24', command: [...NODE_24, 'tools/smoke-demo.mjs'], timeMaxMs: 6 * MINUTE_MS },
    {
      name: 'fast tests on Node 24',
      command: [...NODE_24, 'tools/test-fast.mjs'],
      timeMaxMs: 15 * MINUTE_MS,
    },
    // A few of the mutation run; all of it is `npm run prove -- --only mutants`.
    {
      name: 'mutants',
      command: [...tool('proofs/mutants.mjs'), '--draw', '6'],
      timeMaxMs: 10 * MINUTE_MS,
    },
    tests([]),
  ];
}

/**
 * The tests, all or those of the files.
 * @param {readonly string[]} files
 * @returns {Step}
 */
function tests(files) {
  const json = join(buildFolder(ROOT, 'ci'), 'vitest.json');
  const loose = join(buildFolder(ROOT, 'ci'), 'loose-errors.json');
  for (const file of [json, loose]) rmSync(file, { force: true });
  process.env[LOOSE_ERRORS] = loose;
  const reporters = ['default', 'json', './tools/lib/loose-errors.mjs'].map((name) => `--reporter=${name}`);
  // Most tests wait for a database or a claim: two at once take half the time on two cores.
  const options = ['--maxWorkers=2', ...reporters, `--outputFile.json=${json}`];
  return {
    name: 'tests',
    command: ['npm', 'test', '--', ...options, ...files],
    timeMaxMs: 70 * MINUTE_MS,
    count: () => countTests(textOf(json), textOf(loose)),
    ...(files.length === 0 && { again: tests }),
  };
}

/** @param {string} file */
const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

/** How many of the slowest test files the summary names: a suite grows slow file by file, and nobody sees it otherwise. */
const SLOWEST_NAMED_MAX = 12;

/**
 * The counts of vitest's JSON report. A file that failed before its first test counts as one failed. What was skipped is
 * counted per file: a service that is lacking skips hundreds of tests, whose names would hide the few that failed.
 * An error that no test caught counts as one failed.
 * @param {string | undefined} text
 * @param {string} [looseText] lines of errors outside of tests, as JSON
 * @returns {Counts}
 */
export function countTests(text, looseText) {
  if (text === undefined) return { ...NOTHING, failed: 1, failures: ['the run left no report'] };
  /** @type {{ testResults: { name: string, status: string, message?: string, startTime?: number, endTime?: number, assertionResults: { status: string, fullName: string, failureMessages?: string[] }[] }[] }} */
  const report = JSON.parse(text);
  /** @type {Counts} */
  const counts = { ...NOTHING, skipped: [], failures: [], died: [] };
  /** @type {{ name: string, seconds: number }[]} */
  const files = [];
  for (const file of report.testResults) {
    const name = relative(ROOT, file.name);
    const failedBefore = counts.failed;
    let skipped = 0;
    let open = 0;
    for (const { status, fullName, failureMessages } of file.assertionResults) {
      if (status === 'passed') counts.passed++;
      else if (status === 'failed') {
        counts.failed++;
        counts.failures.push(`${name}: ${fullName}: ${firstLines(failureMessages?.[0])}`);
      } else if (status === 'pending') open++;
      else skipped++;
    }
    if (open > 0) {
      counts.failed++;
      counts.died.push(name);
      counts.failures.push(`${name}: ${open} of its tests never ended: its process died`);
    }
    if (skipped > 0) counts.skipped.push(`${name}: ${skipped} of ${file.assertionResults.length}`);
    if (file.status === 'failed' && counts.failed === failedBefore) {
      counts.failed++;
      counts.failures.push(`${name}: ${firstLines(file.message)}`);
    }
    files.push({ name, seconds: ((file.endTime ?? 0) - (file.startTime ?? 0)) / 1000 });
  }
  /** @type {string[]} */
  const all = JSON.parse(looseText ?? '[]');
  const loose = all.filter((line) => counts.died.length === 0 || !isDeath(line));
  counts.failed += loose.length;
  counts.failures.push(...loose.map((line) => line.slice(0, TOLD_MAX)));
  files.sort((one, other) => other.seconds - one.seconds);
  counts.slowest = files
    .slice(0, SLOWEST_NAMED_MAX)
    .map(({ name, seconds }) => `${seconds.toFixed(0)} s  ${name}`);
  return counts;
}

/** @param {string | undefined} text */
function firstLines(text) {
  const lines = text?.split('\n').filter((line) => !/^\s+at /.test(line)) ?? [];
  return lines.slice(0, LINES_TOLD_MAX).join(' · ').slice(0, TOLD_MAX);
}

/** The last lines that a step printed, without their colours: of a run elsewhere nothing but the end of the output may be seen. */
class Tail {
  #text = '';

  /** @param {Buffer} bytes */
  seen(bytes) {
    this.#text = (this.#text + bytes.toString()).slice(-TAIL_LINES_MAX * TOLD_MAX);
    return bytes;
  }

  lines() {
    const lines = stripVTControlCharacters(this.#text)
      .split('\n')
      .filter((line) => line.trim() !== '');
    return lines.slice(-TAIL_LINES_MAX).map((line) => INDENT + line.slice(0, TOLD_MAX));
  }
}

/**
 * @param {Step} step
 * @returns {Promise<Result>}
 */
export async function runStep(step) {
  console.log(`\n=== ${step.name}`);
  const startedAt = performance.now();
  const tail = new Tail();
  const [program = '', ...args] = step.command;
  const code = await new Promise((resolve) => {
    // A group of its own: when time is up, the children of the child end with it.
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    child.stdout.on('data', (bytes) => process.stdout.write(tail.seen(bytes)));
    child.stderr.on('data', (bytes) => process.stderr.write(tail.seen(bytes)));
    const end = () => {
      try {
        process.kill(-Number(child.pid), 'SIGKILL');
      } catch {
        // Already gone.
      }
    };
    const timer = setTimeout(() => {
      console.log(`${step.name}: not over after ${step.timeMaxMs / 1000} s: ended`);
      end();
    }, step.timeMaxMs);
    process.once('SIGINT', end);
    process.once('SIGTERM', end);
    /** @param {number} result */
    const finish = (result) => {
      clearTimeout(timer);
      process.off('SIGINT', end);
      process.off('SIGTERM', end);
      resolve(result);
    };
    child.once('error', (error) => {
      console.log(`${step.name}: ${error.message}`);
      finish(1);
    });
    child.once('close', (status) => finish(status ?? 1));
  });
  const first = step.count?.() ?? { ...NOTHING, passed: code === 0 ? 1 : 0 };
  // A run that failed without a failed test (an unhandled rejection, a crash) has failed all the same.
  if (code !== 0 && first.failed === 0) {
    first.failed = 1;
    first.failures = [...first.failures, `${step.name} ended with ${code}, and said last:`, ...tail.lines()];
  }
  const counts = await withSecondRun(step, first);
  const seconds = (performance.now() - startedAt) / 1000;
  return { name: step.name, ok: counts.failed === 0, seconds, counts };
}

/**
 * Where nothing failed but that processes of tests died, which may be the machine's doing, their files run a second time, and the summary
 * says so. A file whose process dies twice has failed.
 * @param {Step} step
 * @param {Counts} counts
 * @returns {Promise<Counts>}
 */
async function withSecondRun({ again }, counts) {
  const { died, failed } = counts;
  if (again === undefined || died.length === 0 || failed > died.length) return counts;
  const { counts: second } = await runStep(again(died));
  return {
    ...counts,
    passed: counts.passed + second.passed,
    failed: second.failed,
    failures: second.failures,
    died,
  };
}

/** @param {string[]} args */
async function main(args) {
  const steps = args.includes('check') ? CHECKS : [...CHECKS, ...waysIn()];
  /** @type {Result[]} */
  const results = [];
  for (const step of steps) results.push(await runStep(step));

  const skipped = results.flatMap((result) => result.counts.skipped);
  if (skipped.length > 0) console.log('\n=== SKIPPED, and so not proven by this run (tests of a file)');
  for (const name of skipped) console.log(`SKIPPED  ${name}`);
  const died = results.flatMap((result) => result.counts.died);
  if (died.length > 0) console.log('\n=== RAN TWICE: the process of these tests died the first time');
  for (const name of died) console.log(`RAN TWICE  ${name}`);
  const slowest = results.flatMap((result) => result.counts.slowest);
  if (slowest.length > 0) console.log('\n=== the slowest files of tests');
  for (const name of slowest) console.log(name);
  console.log('\n=== summary');
  for (const { name, ok, seconds, counts } of results) {
    const detail =
      counts.passed + counts.failed > 1 ? ` (${counts.passed} passed, ${counts.failed} failed)` : '';
    console.log(`${ok ? 'passed' : 'FAILED'}  ${name}  ${seconds.toFixed(1)} s${detail}`);
  }
  // Last, so that whoever sees only the end of the output sees what failed.
  for (const name of results.flatMap((result) => result.counts.failures))
    console.log(name.startsWith(INDENT) ? name : `FAILED  ${name}`);
  const passed = results.reduce((sum, { counts }) => sum + counts.passed, 0);
  const failed = results.reduce((sum, { counts }) => sum + counts.failed, 0);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

if (isMain(import.meta.url)) await main(process.argv.slice(2));
