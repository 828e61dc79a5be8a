/**
 * Why: the explainer is a page of static files that runs the engine itself. This makes them from the sources, in a second and without
 * network: `packages/explainer/dist/page/index.html` and `explainer.js`. Where they cannot be made it says why and ends well, because
 * `npm start` has a payments API to run all the same.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, ROOT } from './lib/report.mjs';

const PAGE = join(ROOT, 'packages/explainer/dist/page');

/** @param {string} [folder] where the files go */
export async function buildExplainer(folder = PAGE) {
  const { rolldown } = await import('rolldown');
  mkdirSync(folder, { recursive: true });
  const bundle = await rolldown({
    input: join(ROOT, 'packages/explainer/src/view/index.ts'),
    platform: 'browser',
    logLevel: 'silent',
    resolve: { conditionNames: ['@samekey/source', 'import', 'default'] },
  });
  try {
    await bundle.write({ file: join(folder, 'explainer.js'), format: 'esm', minify: true });
  } finally {
    await bundle.close();
  }
  copyFileSync(join(ROOT, 'packages/explainer/src/page.html'), join(folder, 'index.html'));
}

if (isMain(import.meta.url)) {
  try {
    await buildExplainer();
  } catch (error) {
    console.error(`The explainer's page could not be made: ${String(error)}`);
  }
}
