import { defineConfig } from 'vitest/config';
import { bundlePrograms } from './tools/lib/programs.mjs';

// From what `npm test` has just built.
await bundlePrograms();

export default defineConfig({
  // Tests see the sources, so that one module instance serves relative and package imports alike.
  resolve: { conditions: ['@samekey/source'] },
  ssr: { resolve: { conditions: ['@samekey/source'] } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts', 'examples/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // What was found instead is the message: of a run elsewhere nothing else is seen.
    chaiConfig: { truncateThreshold: 1_000 },
    // A file whose every test needs a server describes none where the server is lacking, which the end of the run names (F108). Where
    // everything is required a file without a test is a fault.
    passWithNoTests: process.env['SAMEKEY_TEST_REQUIRE'] !== 'all',
    globalSetup: ['packages/samekey/test/services/tell-lacking.ts'],
  },
});
