import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countTests, runStep } from '../ci.mjs';
import { ROOT } from '../lib/report.mjs';

const MINUTE_MS = 60_000;

const step = (code: number) => ({
  name: 'x',
  command: [process.execPath, '-e', `process.exitCode = ${code}`],
  timeMaxMs: MINUTE_MS,
});

const file = (name: string) => join(ROOT, name);

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
    });
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
      count: () => ({ passed: 5, failed: 0, skipped: [], failures: [], slowest: [] }),
    };
    expect((await runStep(counted)).counts).toMatchObject({ passed: 5, failed: 1 });
  });

  it('a step that hangs is ended, with its children, and has failed', async () => {
    const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    expect((await runStep({ name: 'x', command, timeMaxMs: 300 })).ok).toBe(false);
  });

  it('a program that does not exist is a failed step', async () => {
    expect((await runStep({ name: 'x', command: ['no-such-program'], timeMaxMs: MINUTE_MS })).ok).toBe(false);
  });
});
