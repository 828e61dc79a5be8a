/** The scenarios as tests of the user's runner, one each. */

import { OptionsError } from 'samekey/internals/core/errors';
import type { VerifyOptions } from './options.ts';
import type { VerifyReport } from './findings.ts';
import { asked, verify } from './verify.ts';

/** What is used of a runner: Vitest, Jest, Mocha and node:test have it. */
export interface TestRunner {
  readonly describe: (title: string, body: () => void) => unknown;
  readonly it: (title: string, body: () => Promise<void>, timeMaxMs?: number) => unknown;
}

/** How long the first test may take: it asks all questions. */
const TIME_MAX_MS = 120_000;

/**
 * Adds a test for each scenario. A test fails on a fault, and also when its scenario cannot be judged: give what it
 * asks for, or name it in `skip`. The options may be a function, for servers that are started before the tests. Throws
 * `OptionsError`.
 */
export function verifyTests(
  { describe, it }: TestRunner,
  options: VerifyOptions | (() => VerifyOptions | Promise<VerifyOptions>),
  names: Pick<VerifyOptions, 'only' | 'skip'> = typeof options === 'function' ? {} : options,
): void {
  if (typeof describe !== 'function' || typeof it !== 'function')
    throw new OptionsError('verifyTests takes { describe, it } of a test runner.');
  let run: Promise<VerifyReport> | undefined;
  const report = async (): Promise<VerifyReport> =>
    verify({ ...(typeof options === 'function' ? await options() : options), ...names });
  describe('safe to retry', () => {
    for (const { name, title, source } of asked(names)) {
      it(
        `${name}: ${title}`,
        async () => {
          run ??= report();
          const finding = (await run).findings.find(({ scenario }) => scenario === name);
          if (finding?.verdict === 'held') return;
          throw new Error(
            finding?.verdict === 'fault'
              ? `${finding.found}. ${finding.means ?? ''} (${source})`
              : `${finding?.found ?? 'not asked'}; or leave it out with skip: ['${name}'].`,
          );
        },
        TIME_MAX_MS,
      );
    }
  });
}
