/**
 * Why: weight is paid by everybody and grows by imports that look harmless. Bundles the entries that browsers load, minified and
 * compressed as a server would send them; weighs each package as it is published; counts what an entry loads when it is imported, and
 * what a process that imports it holds in memory. Fails above the budget, which is written here. Times are told and never judged.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { importedPackages, readEntries } from './lib/entries.mjs';
import { buildFolder, readText, walkFiles } from './lib/files.mjs';
import { specifiersOf } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';
import { packFolder } from './pack.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

/** @type {readonly { file: string, maxBytes: number }[]} */
export const LIMITS = [
  { file: 'packages/client/src/index.ts', maxBytes: 8544 },
  { file: 'packages/client/src/browser/index.ts', maxBytes: 2752 },
  { file: 'packages/client/src/kept-secrets.ts', maxBytes: 1536 },
  { file: 'packages/client/src/stripe-profile.ts', maxBytes: 1536 },
  // What both draw from: one state for each name, told to the other tabs.
  { file: 'packages/client/src/intent.ts', maxBytes: 1536 },
  { file: 'packages/client/src/wrap/react.ts', maxBytes: 1600 },
  // With the engine, which runs in the page, and with whatever the heaviest story loads.
  { file: 'packages/explainer/src/view/index.ts', maxBytes: 120 * 1024 },
  { file: 'packages/console/src/page/console.ts', maxBytes: 150 * 1024 },
];

/**
 * The size of an entry with all it reaches, in bytes; with whichever of its lazy imports weighs most, since one is paid for by whoever
 * comes to it.
 * @param {string} path
 * @returns {Promise<number>}
 */
export async function sizeOf(path) {
  const bundle = await rolldown({
    input: path,
    platform: 'browser',
    logLevel: 'silent',
    external: [/^node:/],
    resolve: { conditionNames: ['@samekey/source', 'import', 'default'] },
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', minify: true });
    const chunks = new Map(output.flatMap((one) => (one.type === 'chunk' ? [[one.fileName, one]] : [])));
    /** @param {string[]} files */
    const weigh = (...files) => {
      const loaded = new Set(files);
      for (const file of loaded) for (const name of chunks.get(file)?.imports ?? []) loaded.add(name);
      return [...loaded].reduce(
        (sum, file) => sum + gzipSync(chunks.get(file)?.code ?? '', { level: 9 }).length,
        0,
      );
    };
    const all = [...chunks.values()];
    const entry = all.find(({ isEntry }) => isEntry)?.fileName ?? '';
    const lazy = all.filter(({ isDynamicEntry }) => isDynamicEntry).map(({ fileName }) => fileName);
    return Math.max(weigh(entry), ...lazy.map((file) => weigh(entry, file)));
  } finally {
    await bundle.close();
  }
}

/**
 * @param {string} root
 * @param {readonly { file: string, maxBytes: number }[]} limits
 * @returns {Promise<Problem[]>}
 */
export async function checkSize(root, limits = LIMITS) {
  /** @type {Problem[]} */
  const problems = [];
  for (const { file, maxBytes } of limits) {
    const bytes = await sizeOf(join(root, file));
    if (bytes > maxBytes)
      problems.push({ file, message: `has ${bytes} bytes compressed, at most ${maxBytes}: import less` });
  }
  return problems;
}

/** What a package may weigh as it is published, unpacked. @type {Readonly<Record<string, { files: number, kilobytes: number }>>} */
const WEIGHTS = {
  'packages/samekey': { files: 1_100, kilobytes: 2_000 },
  // With an entry of its own for what is rare, so that the core need not hold it.
  'packages/client': { files: 80, kilobytes: 110 },
  'packages/testing': { files: 250, kilobytes: 900 },
  // With its page, which is one script.
  'packages/console': { files: 60, kilobytes: 200 },
  'packages/cli': { files: 200, kilobytes: 420 },
};

/**
 * What an import of an entry may load of ours, in modules and kilobytes of JavaScript as published. The others are held by the weight of
 * the package. @type {Readonly<Record<string, { files: number, kilobytes: number }>>}
 */
const CLOSURES = {
  samekey: { files: 112, kilobytes: 320 },
  'samekey/express': { files: 160, kilobytes: 440 },
  'samekey/fastify': { files: 160, kilobytes: 440 },
  'samekey/nestjs': { files: 162, kilobytes: 450 },
  'samekey/koa': { files: 162, kilobytes: 445 },
  // With calls without statuses, which its server actions are.
  'samekey/next': { files: 146, kilobytes: 410 },
  'samekey/trpc': { files: 141, kilobytes: 405 },
  'samekey/graphql': { files: 141, kilobytes: 405 },
  'samekey/rows': { files: 138, kilobytes: 395 },
  'samekey/lambda': { files: 141, kilobytes: 405 },
  'samekey/node': { files: 158, kilobytes: 440 },
  'samekey/hono': { files: 143, kilobytes: 410 },
  'samekey/fetch': { files: 140, kilobytes: 400 },
  'samekey/dialects': { files: 30, kilobytes: 70 },
  'samekey/openapi': { files: 50, kilobytes: 130 },
  'samekey/stores/memory': { files: 30, kilobytes: 95 },
  'samekey/stores/sqlite': { files: 62, kilobytes: 180 },
  'samekey/stores/postgres': { files: 82, kilobytes: 265 },
  'samekey/stores/mysql': { files: 65, kilobytes: 205 },
  'samekey/stores/redis': { files: 55, kilobytes: 165 },
  'samekey/stores/dynamodb': { files: 55, kilobytes: 155 },
  '@samekey/client': { files: 22, kilobytes: 50 },
  // With jobs that say what they do, to whom, and why one has ended; of records, and of all dead letters. What a browser loads is held above.
  '@samekey/console': { files: 30, kilobytes: 88 },
  '@samekey/console/words': { files: 1, kilobytes: 10 },
  '@samekey/cli/verify': { files: 40, kilobytes: 100 },
};

/**
 * Modules and kilobytes that stand behind an entry in a packed package, lazy ones not counted.
 * @param {string} packed
 * @param {string} start
 */
export function closureWeight(packed, start) {
  const seen = new Set([start]);
  let bytes = 0;
  for (const file of seen) {
    const text = readText(packed, file);
    bytes += Buffer.byteLength(text);
    for (const { name, lazy } of specifiersOf(file, text))
      if (!lazy && name?.startsWith('.') === true) seen.add(posix.join(posix.dirname(file), name));
  }
  return { files: seen.size, kilobytes: Math.ceil(bytes / 1_000) };
}

/**
 * @param {string} what
 * @param {{ files: number, kilobytes: number }} found
 * @param {{ files: number, kilobytes: number } | undefined} budget
 * @returns {Problem[]}
 */
function over(what, found, budget) {
  if (budget === undefined || (found.files <= budget.files && found.kilobytes <= budget.kilobytes)) return [];
  const asked = `${budget.files} files and ${budget.kilobytes} kB`;
  return [
    {
      file: 'tools/check-size.mjs',
      message: `${what} is ${found.files} files and ${found.kilobytes} kB, its budget ${asked}: import less, or say there why it needs more`,
    },
  ];
}

/**
 * What a process gets by a cold import: modules of every package, and megabytes of heap that stay. Half as much again as was measured, since
 * engines differ. @type {Readonly<Record<string, { modules: number, heapMb: number }>>}
 */
const COLD = { 'samekey/express': { modules: 230, heapMb: 4.5 } };

/** Tells the address of each module that the process loads; older versions of Node ask hooks in a thread of their own. */
const TELL_MODULES = `
  import { writeSync } from 'node:fs';
  import * as loader from 'node:module';
  const hook = "import { writeSync } from 'node:fs'; export const load = (url, context, next) => { writeSync(2, url + ' '); return next(url, context); };";
  if (loader.registerHooks) loader.registerHooks({ load: (url, context, next) => { writeSync(2, url + ' '); return next(url, context); } });
  else loader.register('data:text/javascript,' + encodeURIComponent(hook));
`;

/**
 * @param {string} program
 * @param {string[]} flags
 */
function evaluated(program, flags) {
  const args = ['--input-type=module', ...flags, '--eval', program];
  return spawnSync(process.execPath, args, { encoding: 'utf8' });
}

/**
 * One import in a process of its own.
 * @param {string} file the module of an entry
 */
function coldImport(file) {
  const url = JSON.stringify(pathToFileURL(file).href);
  const measure = `
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    const from = performance.now();
    await import(${url});
    const ms = performance.now() - from;
    globalThis.gc();
    console.log(JSON.stringify({ ms: Math.round(ms), heapMb: (process.memoryUsage().heapUsed - before) / 2 ** 20 }));
  `;
  const { ms, heapMb } = JSON.parse(evaluated(measure, ['--expose-gc']).stdout);
  const hooks = `data:text/javascript,${encodeURIComponent(TELL_MODULES)}`;
  const told = evaluated(`await import(${url});`, ['--import', hooks]);
  const modules = told.stderr.split(/\s+/).filter((line) => line.startsWith('file:')).length;
  return { modules, heapMb: Math.round(heapMb * 10) / 10, ms };
}

/**
 * @param {string} entry
 * @param {string} file
 * @param {{ modules: number, heapMb: number }} budget
 * @param {(line: string) => void} tell
 * @returns {Problem[]}
 */
function checkCold(entry, file, budget, tell) {
  const { modules, heapMb, ms } = coldImport(file);
  const asked = `${budget.modules} modules and ${budget.heapMb} MB`;
  tell(
    `${entry}, cold: ${modules} of ${budget.modules} modules, ${heapMb} of ${budget.heapMb} MB, ${ms} ms here`,
  );
  if (modules > 0 && modules <= budget.modules && heapMb <= budget.heapMb) return [];
  const message = `a cold import of ${entry} is ${modules} modules and ${heapMb} MB, its budget ${asked}: import less`;
  return [{ file: 'tools/check-size.mjs', message }];
}

/**
 * The packages as they are published, and what their entries load.
 * @param {string} root
 * @param {(line: string) => void} tell
 * @returns {Problem[]}
 */
export function checkWeight(root, tell) {
  // Inside the repository: what an entry depends on resolves.
  const folder = mkdtempSync(join(buildFolder(root, 'weight'), 'packed-'));
  try {
    /** @type {Problem[]} */
    const problems = [];
    for (const [name, budget] of Object.entries(WEIGHTS)) {
      const packed = packFolder(root, name, folder);
      const files = walkFiles(packed).concat(walkFiles(packed, 'dist'));
      const bytes = files.reduce((sum, file) => sum + statSync(join(packed, file)).size, 0);
      const found = { files: files.length, kilobytes: Math.ceil(bytes / 1_000) };
      tell(`${name}: ${found.files} of ${budget.files} files, ${found.kilobytes} of ${budget.kilobytes} kB`);
      problems.push(...over(name, found, budget));
      if (!importedPackages(root).includes(name)) continue;
      for (const { name: entry, source } of readEntries(root, name)) {
        const start = source.replace(/^src/, 'dist').replace(/\.ts$/, '.js');
        const weight = closureWeight(packed, start);
        const allowed = CLOSURES[entry];
        if (allowed !== undefined)
          tell(
            `${entry}: ${weight.files} of ${allowed.files} files, ${weight.kilobytes} of ${allowed.kilobytes} kB`,
          );
        problems.push(...over(entry, weight, allowed));
        const cold = COLD[entry];
        if (cold !== undefined) problems.push(...checkCold(entry, join(packed, start), cold, tell));
      }
    }
    return problems;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) {
  for (const { file, maxBytes } of LIMITS)
    console.log(`${file}: ${await sizeOf(join(ROOT, file))} of ${maxBytes} bytes`);
  const weight = checkWeight(ROOT, (line) => console.log(line));
  report('size', [...(await checkSize(ROOT)), ...weight]);
}
