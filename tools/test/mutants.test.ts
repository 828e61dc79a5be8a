import { describe, expect, it } from 'vitest';
import { checkMutants } from '../check-mutants.mjs';
import { draw } from '../proofs/mutants.mjs';
import { AREAS, MUTANTS } from '../proofs/mutants/index.mjs';
import type { Mutant } from '../proofs/mutants/mutant.mjs';
import { judge } from '../proofs/mutants/try-mutant.mjs';
import { lines, tree } from './fixture.ts';

const SOURCE = 'export function isOver(at: number, now: number): boolean {\n  return at <= now;\n}\n';

const MUTANT: Mutant = {
  name: 'over-too-late',
  file: 'core/over.ts',
  find: 'at <= now',
  put: 'at < now',
  tests: ['core/over.test.ts'],
  breaks: 'What ends now is not over.',
};

/** The problems of a list of edits in a small tree. */
function problemsOf(...mutants: Partial<Mutant>[]): string[] {
  const root = tree({
    'packages/samekey/src/core/over.ts': SOURCE,
    'packages/samekey/test/core/over.test.ts': '',
  });
  const others = Array.from({ length: 4 }, (_, i) => ({ ...MUTANT, name: `other-${i}` }));
  const all = [...mutants.map((own) => ({ ...MUTANT, ...own })), ...others];
  return lines(checkMutants(root, [{ name: 'core', mutants: all }]));
}

describe('check-mutants', () => {
  it('holds for edits that fit', () => {
    expect(problemsOf({})).toEqual([]);
  });

  it('an edit whose text is gone, or stands there twice, is named with its file and what was looked for', () => {
    expect(problemsOf({ find: 'at === now' })).toEqual([
      expect.stringMatching(
        /^packages\/samekey\/src\/core\/over\.ts {2}the mutant "over-too-late" does not fit: its text stands there 0 times\. It looks in .*over\.ts for: "at === now"$/,
      ),
    ]);
    expect(problemsOf({ find: 'now' })).toEqual([expect.stringContaining('stands there 2 times')]);
  });

  it('an edit that makes no module is refused: whatever imports it would fail', () => {
    expect(problemsOf({ put: 'at <' })).toEqual([expect.stringContaining('is no module')]);
  });

  it('an edit that changes nothing, and one whose file or test is gone, are refused', () => {
    expect(problemsOf({ put: MUTANT.find })).toEqual([expect.stringContaining('changes nothing')]);
    expect(problemsOf({ file: 'core/gone.ts' })).toEqual([expect.stringContaining('the file is gone')]);
    expect(problemsOf({ tests: ['core/gone.test.ts'] })).toEqual([
      expect.stringContaining('gone.test.ts is gone'),
    ]);
    expect(problemsOf({ tests: [] })).toEqual([expect.stringContaining('names no test')]);
  });

  it('two of one name, and an area with too few, are refused', () => {
    expect(problemsOf({}, {})).toEqual([expect.stringContaining('another one has its name')]);
    expect(lines(checkMutants('.', [{ name: 'core', mutants: [] }]))).toEqual([
      expect.stringContaining('has 0 mutants, at least 5 are wanted'),
    ]);
  });
});

/** A report of vitest's about one test. */
const reportOf = (status: string, failureMessages: string[] = []): string =>
  JSON.stringify({
    testResults: [
      {
        name: 'over.test.ts',
        status,
        message: status === 'failed' ? 'cannot load' : '',
        assertionResults:
          status === 'failed' && failureMessages.length === 0
            ? []
            : [{ status, fullName: 'what ends now is over', failureMessages }],
      },
    ],
  });

describe('a mutant', () => {
  it('is killed by a test that failed, not by one that timed out or did not load', () => {
    expect(judge(reportOf('failed', ['AssertionError: expected false to be true']))).toMatchObject({
      failed: ['what ends now is over'],
      late: [],
    });
    expect(judge(reportOf('failed', ['Error: Test timed out in 60000ms.']))).toMatchObject({
      failed: [],
      late: ['what ends now is over'],
    });
    expect(judge(reportOf('failed'))).toMatchObject({ failed: [], broken: ['over.test.ts: cannot load'] });
    expect(judge(reportOf('passed'))).toMatchObject({ passed: 1, failed: [], late: [], broken: [] });
    expect(judge(undefined)).toMatchObject({ passed: 0, failed: [] });
  });
});

describe('the list', () => {
  it('has at least 60 edits, and five in each area', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(60);
    for (const { mutants } of AREAS) expect(mutants.length).toBeGreaterThanOrEqual(5);
  });

  it('is drawn from by a seed: the same seed gives the same few, of the quick ones, none twice', () => {
    const drawn = draw(6, 7);
    expect(draw(6, 7)).toEqual(drawn);
    expect(new Set(drawn.map(({ name }) => name)).size).toBe(6);
    expect(draw(6, 8)).not.toEqual(drawn);
    for (const { tests } of drawn) expect(tests.join()).not.toMatch(/postgres|mysql|redis|dynamodb|tx\//);
  });
});
