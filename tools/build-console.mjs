/**
 * Why: the console's page is one script that its server hands out. This bundles it from the sources, in a second and without network,
 * to `packages/console/dist/page/console.js`, which is published with the package.
 */
import { join } from 'node:path';
import { isMain, ROOT } from './lib/report.mjs';

const PAGE = join(ROOT, 'packages/console');

export async function buildConsole() {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: join(PAGE, 'src/page/console.ts'),
    platform: 'browser',
    logLevel: 'silent',
    resolve: { conditionNames: ['@samekey/source', 'import', 'default'] },
  });
  try {
    await bundle.write({ file: join(PAGE, 'dist/page/console.js'), format: 'esm', minify: true });
  } finally {
    await bundle.close();
  }
}

if (isMain(import.meta.url)) await buildConsole();
