import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countTests, runStep } from '../ci.mjs';
import { LOOSE_ERRORS, lineOf } from '../lib/loose-errors.mjs';
import { binOf } from '../lib/run.mjs';
import { ROOT } from '../lib/report.mjs';

const MINUTE_MS = 60_000;

const step = (code: number) => ({
  name: 'x',
  command: [process.execPath, '-e', `process.exitCode = ${code}`],
  timeMaxMs: MINUTE_MS,
});

const file = (name: string) => join(ROOT, name);

function neverAgain(): never {
  expect.fail('it ran again');
}

describe('ci', () => {
  it('counts tests by their end, names what failed and where tests were skipped, and counts a file that did not load', () => {
    const report = {
      testResults: [
        {
          name: file('a.test.ts'),
          status: 'failed',
          startTime: 1_000,
          endTime: 3_000,
          assertionResults: [
            { status: 'passed', fullName: 'one' },
            { status: 'failed', fullName: 'two', failureMessages: ['expected 1 to be 2\n at x'] },
            { status: 'skipped', fullName: 'three' },
            { status: 'todo', fullName: 'four' },
          ],
        },
        {
          name: file('b.test.ts'),
          status: 'failed',
          message: 'no such module',
          startTime: 1_000,
          endTime: 8_000,
          assertionResults: [],
        },
      ],
    };
    expect(countTests(JSON.stringify(report))).toEqual({
      passed: 1,
      failed: 2,
      skipped: ['a.test.ts: 2 of 4'],
      failures: ['a.test.ts: two: expected 1 to be 2', 'b.test.ts: no such module'],
      slowest: ['7 s  b.test.ts', '2 s  a.test.ts'],
      died: [],
    });
  });

  it('an error that no test caught fails a run whose tests passed, and is told with where it was made (F108)', () => {
    const line = lineOf({
      type: 'Unhandled Rejection',
      name: 'TypeError',
      message: 'nobody listens\n  more',
      stack: `TypeError: nobody listens\n    at node:internal/x\n    at f (${file('packages/a.ts')}:1:2)`,
      VITEST_TEST_PATH: file('a.test.ts'),
      VITEST_TEST_NAME: 'one',
    });
    expect(line).toBe(
      'Unhandled Rejection: while a.test.ts > one ran: TypeError: nobody listens ·   more: at f (./packages/a.ts:1:2)',
    );
    expect(countTests(JSON.stringify({ testResults: [] }), JSON.stringify([line]))).toMatchObject({
      passed: 0,
      failed: 1,
      failures: [line],
    });
  });

  it('vitest calls the reporter of such errors', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'samekey-loose-'));
    try {
      writeFileSync(
        join(folder, 'a.test.ts'),
        `import { it } from ${JSON.stringify(import.meta.resolve('vitest'))};
         it('passes', () => { void Promise.reject(new Error('a planted loose error')); });`,
      );
      const out = join(folder, 'loose.json');
      const vitest = ['run', '--root', folder, `--reporter=${file('tools/lib/loose-errors.mjs')}`];
      const run = spawnSync(process.execPath, [binOf('vitest'), ...vitest], {
        env: { ...process.env, [LOOSE_ERRORS]: out },
        encoding: 'utf8',
      });
      expect(run.status, run.stderr).toBe(1);
      expect(JSON.parse(readFileSync(out, 'utf8'))).toEqual([
        expect.stringContaining('a planted loose error'),
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('a file whose process died has failed, whatever its other tests did, and is named once', () => {
    const died = {
      name: file('a.test.ts'),
      status: 'passed',
      startTime: 0,
      endTime: 0,
      assertionResults: [
        { status: 'passed', fullName: 'one' },
        { status: 'pending', fullName: 'two' },
      ],
    };
    const line = lineOf({
      type: 'Unhandled Error',
      message: '[vitest-pool]: Worker forks emitted error.',
      cause: { message: 'Worker exited unexpectedly' },
    });
    expect(line).toMatch(/Worker exited unexpectedly/);
    const report = JSON.stringify({ testResults: [died] });
    expect(countTests(report, JSON.stringify([line]))).toMatchObject({
      passed: 1,
      failed: 1,
      died: ['a.test.ts'],
      failures: ['a.test.ts: 1 of its tests never ended: its process died'],
    });
    expect(countTests(report, JSON.stringify([line, 'Unhandled Rejection: x']))).toMatchObject({ failed: 2 });
  });

  it.each([
    ['passes the second time', 1, 0, { passed: 5, failed: 0, died: ['a.test.ts'] }],
    ['dies again', 0, 1, { passed: 4, failed: 1, died: ['a.test.ts'] }],
  ])('where only a process died its file runs again, once: %s', async (_, passed, failed, expected) => {
    const ran: string[] = [];
    const counts = { passed: 4, failed: 1, skipped: [], failures: ['x'], slowest: [], died: ['a.test.ts'] };
    const again = (files: readonly string[]) => {
      ran.push(...files);
      return { ...step(failed), count: () => ({ ...counts, passed, failed, died: [] }) };
    };
    const result = await runStep({ ...step(1), count: () => counts, again });
    expect(result).toMatchObject({ ok: failed === 0, counts: expected });
    expect(ran).toEqual(['a.test.ts']);
  });

  it('a test that failed beside a process that died is not run again', async () => {
    const counts = { passed: 4, failed: 2, skipped: [], failures: ['x'], slowest: [], died: ['a.test.ts'] };
    expect((await runStep({ ...step(1), count: () => counts, again: neverAgain })).ok).toBe(false);
  });

  it('a run that left no report has failed', () => {
    expect(countTests(undefined)).toMatchObject({
      passed: 0,
      failed: 1,
      failures: ['the run left no report'],
    });
  });

  it('a step passes by its exit code, and an exit code that no counted test explains is a failure', async () => {
    expect((await runStep(step(0))).counts).toMatchObject({ passed: 1, failed: 0 });
    expect((await runStep(step(3))).counts).toMatchObject({ passed: 0, failed: 1 });
    const counted = {
      ...step(1),
      count: () => ({ passed: 5, failed: 0, skipped: [], failures: [], slowest: [], died: [] }),
    };
    expect((await runStep(counted)).counts).toMatchObject({ passed: 5, failed: 1 });
    const talks = [
      process.execPath,
      '-e',
      'console.log("one"); console.error("the cause"); process.exitCode = 2',
    ];
    const { failures } = (await runStep({ name: 'x', command: talks, timeMaxMs: MINUTE_MS })).counts;
    expect(failures).toEqual(expect.arrayContaining(['x ended with 2, and said last:', '        the cause']));
  });

  it('a step that hangs is ended, with its children, and has failed', async () => {
    const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    expect((await runStep({ name: 'x', command, timeMaxMs: 300 })).ok).toBe(false);
  });

  it('a program that does not exist is a failed step', async () => {
    expect((await runStep({ name: 'x', command: ['no-such-program'], timeMaxMs: MINUTE_MS })).ok).toBe(false);
  });
});
