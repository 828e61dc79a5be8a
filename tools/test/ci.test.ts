import { describe, expect, it } from 'vitest';
import { countTests, runStep } from '../ci.mjs';

const MINUTE_MS = 60_000;

const step = (code: number) => ({
  name: 'x',
  command: [process.execPath, '-e', `process.exitCode = ${code}`],
  timeMaxMs: MINUTE_MS,
});

describe('ci', () => {
  it('counts tests by their end, names what was skipped, and counts a file that did not load as a failure', () => {
    const report = {
      testResults: [
        {
          name: 'a.test.ts',
          status: 'failed',
          assertionResults: [
            { status: 'passed', fullName: 'one' },
            { status: 'failed', fullName: 'two' },
            { status: 'skipped', fullName: 'three' },
            { status: 'todo', fullName: 'four' },
          ],
        },
        { name: 'b.test.ts', status: 'failed', assertionResults: [] },
      ],
    };
    expect(countTests(JSON.stringify(report))).toEqual({
      passed: 1,
      failed: 2,
      skipped: ['three (skipped)', 'four (todo)'],
    });
  });

  it('a run that left no report has failed', () => {
    expect(countTests(undefined)).toEqual({ passed: 0, failed: 1, skipped: [] });
  });

  it('a step passes by its exit code, and an exit code that no counted test explains is a failure', async () => {
    expect((await runStep(step(0))).counts).toMatchObject({ passed: 1, failed: 0 });
    expect((await runStep(step(3))).counts).toMatchObject({ passed: 0, failed: 1 });
    const counted = { ...step(1), count: () => ({ passed: 5, failed: 0, skipped: [] }) };
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
