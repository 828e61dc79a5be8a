import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Tests see the sources, so that one module instance serves relative and package imports alike.
  resolve: { conditions: ['@samekey/source'] },
  ssr: { resolve: { conditions: ['@samekey/source'] } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts', 'examples/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    globalSetup: ['packages/samekey/test/services/tell-lacking.ts'],
  },
});
