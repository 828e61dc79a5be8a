/** The scripts of the pages, from packages/site and packages/explainer. */
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from '../lib/report.mjs';

export const ASSETS_SRC = 'packages/site/src';

/** @type {Readonly<Record<string, { entry: string, format: 'esm' | 'iife' }>>} */
const SCRIPTS = {
  // Runs before anything is drawn, so that a dark page does not flash light.
  'theme.js': { entry: `${ASSETS_SRC}/site-look.ts`, format: 'iife' },
  // The search is a file of its own, loaded when somebody searches.
  'chooser.js': { entry: `${ASSETS_SRC}/chooser.ts`, format: 'esm' },
  'calculator.js': { entry: `${ASSETS_SRC}/calculator.ts`, format: 'esm' },
  'explainer.js': { entry: 'packages/explainer/src/view/index.ts', format: 'esm' },
  'page.js': { entry: `${ASSETS_SRC}/site-page.ts`, format: 'esm' },
};

/** Elements that a page of Markdown may hold, and what defines them. Only a page that has one loads it. */
export const ELEMENTS = {
  'samekey-chooser': 'chooser.js',
  'samekey-explainer': 'explainer.js',
  'samekey-sizing': 'calculator.js',
};

/** @param {string} folder */
export async function bundleScripts(folder) {
  for (const [name, { entry, format }] of Object.entries(SCRIPTS)) {
    const bundle = await rolldown({
      input: join(ROOT, entry),
      platform: 'browser',
      logLevel: 'silent',
      resolve: { conditionNames: ['@samekey/source', 'import', 'default'] },
    });
    try {
      await bundle.write({
        dir: folder,
        entryFileNames: name,
        chunkFileNames: '[name].js',
        format,
        minify: true,
      });
    } finally {
      await bundle.close();
    }
  }
}
