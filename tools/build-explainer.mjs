/**
 * Why: the explainer is a page of static files that runs the engine itself. This makes them from the sources, in a second and without
 * network, in `packages/explainer/dist/page`. Where they cannot be made it says why and ends well, because
 * `npm start` has a payments API to run all the same.
 */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, ROOT } from './lib/report.mjs';

const SRC = join(ROOT, 'packages/explainer/src');
const PAGE = join(ROOT, 'packages/explainer/dist/page');
/** What is loaded by which page: the stories, and the buttons that the demo's API has beside them. */
const SCRIPTS = { 'explainer.js': 'view/index.ts', 'live.js': 'view/live-element.ts' };

/** @param {string} [folder] where the files go */
export async function buildExplainer(folder = PAGE) {
  const { rolldown } = await import('rolldown');
  // A page of yesterday is worse than none.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, entry] of Object.entries(SCRIPTS)) {
    const bundle = await rolldown({
      input: join(SRC, entry),
      platform: 'browser',
      logLevel: 'silent',
      resolve: { conditionNames: ['@samekey/source', 'import', 'default'] },
    });
    try {
      // What only some stories need is a file of its own, loaded with them.
      await bundle.write({
        dir: folder,
        entryFileNames: name,
        chunkFileNames: '[name]-[hash].js',
        format: 'esm',
        minify: true,
      });
    } finally {
      await bundle.close();
    }
  }
  for (const name of ['index.html', 'live.html']) copyFileSync(join(SRC, name), join(folder, name));
}

if (isMain(import.meta.url)) {
  try {
    await buildExplainer();
  } catch (error) {
    console.error(`The explainer's page could not be made: ${String(error)}`);
  }
}
