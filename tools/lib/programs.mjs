/**
 * Why: the tests and proofs on real processes start thousands of them, and what a start costs is the loading of some two hundred
 * modules: more than twice what the process does afterwards. So each program is bundled once it is built, and started as one.
 *
 * A file is written only if it is another, and whole: several runs may be at work on one tree.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './report.mjs';

const BUILT = join(ROOT, 'packages/samekey/test/processes/.out/processes');
const BUNDLED = join(ROOT, 'packages/samekey/test/processes/.out/programs');

const PROGRAMS = [
  'api-server',
  'background-process',
  'deploy-process',
  'golden-server',
  'outbox-worker',
  'payment-provider',
  'postgres-worker',
  'reconcile-process',
  'sqlite-worker',
];

/** Clients with a part in machine code, which finds its place by itself. */
const EXTERNAL = [/^better-sqlite3$/, /^libsql$/, /^@libsql\//, /^pg-native$/];

/** Bundles what was built; nothing where nothing was, which the test that needs it tells. */
export async function bundlePrograms() {
  if (!PROGRAMS.every((name) => existsSync(join(BUILT, `${name}.js`)))) return;
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: PROGRAMS.map((name) => join(BUILT, `${name}.js`)),
    platform: 'node',
    logLevel: 'silent',
    external: EXTERNAL,
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', minify: false });
    mkdirSync(BUNDLED, { recursive: true });
    for (const file of output) {
      const path = join(BUNDLED, file.fileName);
      const text = file.type === 'chunk' ? file.code : file.source;
      if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
      writeFileSync(`${path}.${process.pid}`, text);
      renameSync(`${path}.${process.pid}`, path);
    }
  } finally {
    await bundle.close();
  }
}
