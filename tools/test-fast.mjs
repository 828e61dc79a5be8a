/**
 * Why: whoever changes a line wants an answer in a minute. Runs what needs no server: all that is pure, and the contracts on the memory
 * store and on SQLite. `npm test` stays everything.
 *
 *   npm run test:fast [-- names of files, options of vitest]
 *   npm test -- postgres        all files whose path has the word: one store, one adapter
 */
import { runStep } from './ci.mjs';
import { isMain } from './lib/report.mjs';
import { binOf } from './lib/run.mjs';

/** Folders and files without a server, by the beginning of their path below the tests. */
const PARTS = `
  core/ fingerprint/ store/ http/ http-node/ coverage/ openapi/ operator/
  metrics/ engine/memory engine/sqlite engine/unfit engine/batcher engine/dispatch outbox/memory
  stores/memory stores/sqlite outbox/sqlite tx/memory adapters/express5 adapters/node adapters/hono.test adapters/fetch.test adapters/fastify.test
  seal/sealed seal/envelope worker/worker ways/commit-once ways/steps ways/completer ways/facts
  ways/late-call ways/last-look ways/served-answers ways/values ways/two-doors ways/unprotected-fetch ways/validation
  ways/provider-notes
`;
export const FAST = PARTS.trim()
  .split(/\s+/)
  .map((part) => `packages/samekey/test/${part}`);

if (isMain(import.meta.url)) {
  // What is required is required of the run of everything: clients compiled for one Node do not load in another.
  delete process.env['SAMEKEY_TEST_REQUIRE'];
  const { ok } = await runStep({
    name: 'fast tests',
    command: [process.execPath, binOf('vitest'), 'run', ...FAST, ...process.argv.slice(2)],
    timeMaxMs: 15 * 60_000,
  });
  process.exitCode = ok ? 0 : 1;
}
