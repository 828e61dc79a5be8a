/**
 * Why: the first page promises that `npm ci && npm start` and `npm ci && npm test` work with Node and nothing else. A machine that
 * has every service cannot show that: what is missing elsewhere is there. So both commands run here with a PATH on which no service
 * of the tests is found, before anything optional is installed: the demo as a newcomer walks it, the collection of every test file (a
 * file that describes no test, or cannot be imported without a service, fails here), and the tests that need no server.
 *
 *   npm ci && node tools/bare.mjs
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { runStep } from './ci.mjs';
import { isMain, ROOT } from './lib/report.mjs';
import { FAST } from './test-fast.mjs';

/** Programs that tests find on PATH and a newcomer does not have: services, and what compiles clients. */
const HIDDEN =
  /^(mariadb|mysql|redis-|valkey-|chromium|google-chrome|pgbouncer|promtool|prometheus|postgres|psql|pg_|initdb|dynoxide|strace|make|g\+\+|gcc|cc|c\+\+|python)/;

const MINUTE_MS = 60_000;

/**
 * A folder that has all of PATH but what is hidden.
 * @param {string} path
 * @param {RegExp} hidden
 */
function pathWithout(path, hidden = HIDDEN) {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-bare-'));
  for (const from of path.split(delimiter)) {
    if (from === '' || !existsSync(from)) continue;
    for (const name of readdirSync(from)) {
      const link = join(folder, name);
      if (!hidden.test(name) && !existsSync(link)) {
        try {
          symlinkSync(resolve(from, name), link);
        } catch {
          // A link that leads nowhere stands there already: an earlier folder of PATH had it too.
        }
      }
    }
  }
  return folder;
}

async function main() {
  if (existsSync(join(ROOT, 'tools/optional/node_modules'))) {
    console.log('tools/optional is installed here: the bare state is that of a fresh clone after npm ci.');
    return 1;
  }
  const folder = pathWithout(process.env['PATH'] ?? '');
  process.env['PATH'] = folder;
  for (const name of Object.keys(process.env)) if (name.startsWith('SAMEKEY_TEST_')) delete process.env[name];
  // An example whose client is not installed once ran all the same.
  const tests = [...FAST, 'packages/samekey/test/ways/', 'examples/'];
  const steps = [
    { name: 'npm start', command: [process.execPath, 'tools/smoke-demo.mjs'], timeMaxMs: 6 * MINUTE_MS },
    {
      // No test has this name: every file is collected and none of its tests runs.
      name: 'npm test, every file collected',
      command: ['npm', 'test', '--', '--no-isolate', '--testNamePattern=^no test has this name$'],
      timeMaxMs: 5 * MINUTE_MS,
    },
    {
      name: 'npm test, what needs no server',
      command: ['npm', 'test', '--', '--maxWorkers=2', ...tests],
      timeMaxMs: 10 * MINUTE_MS,
    },
  ];
  try {
    for (const step of steps) if (!(await runStep(step)).ok) return 1;
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) process.exitCode = await main();
