/** A row of the cases page is run by the tests that cite it. */

import { describe, expect, it } from 'vitest';
import { argumentsFor } from '../case.mjs';
import { REVIEWED } from '../lib/cases.mjs';
import { citations, citationsIn } from '../lib/citations.mjs';
import { ROOT } from '../lib/report.mjs';

const CONTRACT = 'packages/testing/src/adapter/streams.ts';

describe('case', () => {
  it('finds the title of the test that follows a citation, as far as it is literal', () => {
    const text = `
      // F1, F2: why
      test('a first thing', () => {});
      // F3
      it.each([[1, '// no']])('says "%s" of one (more)', () => {});
      // F4
      test(\`a \${what} that is kept\`, () => {});`;
    expect(citationsIn('a.test.ts', text)).toEqual([
      { name: 'F1', file: 'a.test.ts', title: 'a first thing' },
      { name: 'F2', file: 'a.test.ts', title: 'a first thing' },
      { name: 'F3', file: 'a.test.ts', title: '" of one (more)' },
      { name: 'F4', file: 'a.test.ts', title: 'that is kept' },
    ]);
  });

  it('runs a contract over every door, and a file by itself', () => {
    const all = [
      { name: 'F1', file: CONTRACT, title: 'a stream (small)' },
      { name: 'F1', file: 'packages/samekey/test/core/x.test.ts', title: 'another' },
      { name: 'F2', file: CONTRACT, title: null },
    ];
    expect(argumentsFor(all, 'F1')).toEqual([
      'run',
      String.raw`--testNamePattern=a stream \(small\)|another`,
      'packages/samekey/test/adapters/',
      'packages/samekey/test/core/x.test.ts',
    ]);
    expect(argumentsFor(all, 'F2')).toEqual(['run', 'packages/samekey/test/adapters/']);
    expect(argumentsFor(all, 'F3')).toBeNull();
  });

  it('can run each case of the reviews', () => {
    const all = citations(ROOT);
    for (const name of Object.keys(REVIEWED)) expect(argumentsFor(all, name), name).not.toBeNull();
  });
});
