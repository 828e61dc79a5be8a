/**
 * Why: whether words overlap, are cut off or too pale is seen by looking. This takes a picture of each key frame of each story and version,
 * on a desktop and a phone, in light and dark, and lays them beside each other in `.build/explainer-frames/index.html`.
 *
 *   npm run explainer:frames                     all of them
 *   npm run explainer:frames -- unknown crash    some stories
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import { play, SCENARIOS } from '../packages/explainer/dist/model/index.js';
import { buildExplainer } from './build-explainer.mjs';
import { buildFolder } from './lib/files.mjs';
import { isMain, ROOT } from './lib/report.mjs';
import { serveFolder } from './lib/serve.mjs';

/** @typedef {import('../packages/explainer/dist/model/index.js').Trace} Trace */
/** @typedef {import('../packages/explainer/dist/model/index.js').Scenario} Scenario */

/** @type {Readonly<Record<string, import('playwright-core').BrowserContextOptions>>} */
const LOOKS = {
  'desktop-light': { viewport: { width: 1440, height: 1000 }, colorScheme: 'light' },
  'desktop-dark': { viewport: { width: 1440, height: 1000 }, colorScheme: 'dark' },
  'phone-light': {
    viewport: { width: 360, height: 780 },
    isMobile: true,
    hasTouch: true,
    colorScheme: 'light',
  },
  'phone-dark': {
    viewport: { width: 360, height: 780 },
    isMobile: true,
    hasTouch: true,
    colorScheme: 'dark',
  },
};

/**
 * The steps of a run in which something happens that did not happen before, and the last one.
 * @param {Trace} trace
 * @returns {readonly number[]}
 */
function keyFrames({ steps }) {
  const seen = new Set();
  return steps
    .filter(({ n, marks }) => {
      const isNew = marks.some((mark) => !seen.has(mark));
      for (const mark of marks) seen.add(mark);
      return isNew || n === steps.length - 1;
    })
    .map(({ n }) => n);
}

/**
 * Every key frame: what its picture is called, and the address that leads to it.
 * @param {readonly Scenario[]} scenarios
 * @returns {Promise<{ name: string, hash: string, caption: string }[]>}
 */
async function framesOf(scenarios) {
  const frames = [];
  for (const scenario of scenarios) {
    for (const { id: variant, breaks } of scenario.variants) {
      const faults = breaks?.faults ?? [];
      const trace = await play({ scenario, variant, seed: 1, faults });
      const query = faults.map(({ kind, from, to, nth }) => [kind, from, to, nth].join('.')).join('_');
      for (const step of keyFrames(trace))
        frames.push({
          name: `${scenario.id}-${variant}-${String(step).padStart(2, '0')}`,
          hash: `#${scenario.id}/${variant}/1/${step}${query === '' ? '' : `?faults=${query}`}`,
          caption: trace.steps[step]?.caption ?? '',
        });
    }
  }
  return frames;
}

/**
 * @param {readonly Scenario[]} scenarios
 * @param {string} folder
 * @param {string} program
 */
async function take(scenarios, folder, program) {
  const page = join(folder, 'page');
  await buildExplainer(page);
  const { origin, close } = await serveFolder(page);
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
  const frames = await framesOf(scenarios);
  try {
    for (const [look, options] of Object.entries(LOOKS)) {
      mkdirSync(join(folder, look), { recursive: true });
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      const tab = await context.newPage();
      const from = performance.now();
      await tab.goto(origin);
      await tab.locator('samekey-stage svg').first().waitFor();
      // Told and never judged, as all times are.
      console.log(`${look}: the stage stands after ${Math.round(performance.now() - from)} ms`);
      for (const { name, hash, caption } of frames) {
        await tab.evaluate((to) => {
          location.hash = to;
        }, hash);
        await tab.locator('.stages .caption', { hasText: caption }).first().waitFor();
        await tab.evaluate(() => {
          // On a phone the stage stands below the story: what is looked at there is the stage.
          const shown = document.querySelector('samekey-explainer')?.shadowRoot;
          if (innerWidth < 1_024) shown?.querySelector('.stages')?.scrollIntoView();
        });
        await tab.screenshot({ path: join(folder, look, `${name}.png`) });
      }
      console.log(`${look}: ${frames.length} frames`);
      await context.close();
    }
  } finally {
    await browser.close();
    close();
  }
  const rows = frames.map(
    ({ name, hash }) =>
      `<h2>${name}</h2><p>${hash}</p>${Object.keys(LOOKS)
        .map((look) => `<img loading="lazy" height="700" alt="${look}" src="${look}/${name}.png">`)
        .join(' ')}`,
  );
  writeFileSync(join(folder, 'index.html'), `<!doctype html><title>Key frames</title>${rows.join('\n')}`);
}

if (isMain(import.meta.url)) {
  const wanted = process.argv.slice(2);
  const program = (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((at) => [join(at, 'chromium'), join(at, 'google-chrome')])
    .find((file) => existsSync(file));
  if (program === undefined) throw new Error('There is no chromium on PATH. Run: apt-get install chromium');
  const folder = buildFolder(ROOT, 'explainer-frames');
  rmSync(folder, { recursive: true });
  await take(
    SCENARIOS.filter(({ id }) => wanted.length === 0 || wanted.includes(id)),
    folder,
    program,
  );
  console.log(`Look at them: ${join(folder, 'index.html')}`);
}
