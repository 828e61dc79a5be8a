/**
 * Why: an entry is written down in four places (the export map, the peers, the documentation's index and the sources), and
 * users meet whichever of them was forgotten. The file entries.json of a package is the one list; the others are held equal to
 * it. `--write` makes the export maps and the peers from it.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { importedPackages, MOVED, PACKAGE, readEntries } from './lib/entries.mjs';
import { readJson, readText } from './lib/files.mjs';
import { readMarkdown } from './lib/markdown.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/entries.mjs').Entry} Entry */
/** @typedef {import('./lib/report.mjs').Problem} Problem */

/** @typedef {{ folder: string, entries: Entry[], manifest: any }} Listed a package with its list of entries */

/** Of this repository: they go with the same version, and are no peers of an entry. */
const SISTER = /^(?:@samekey\/|samekey$)/;
const INDEX = 'docs/reference/entries.md';

/**
 * @param {Entry} entry
 * @param {string} packageName
 */
function subpath(entry, packageName) {
  return entry.name === packageName ? '.' : `.${entry.name.slice(packageName.length)}`;
}

/**
 * The conditions of one entry, in the order in which a resolver must meet them.
 * @param {Entry} entry
 */
function conditions(entry) {
  return conditionsOf(entry.source);
}

/** @param {string} source */
function conditionsOf(source) {
  const built = source.replace(/^src\//, './dist/').replace(/\.ts$/, '');
  return { '@samekey/source': `./${source}`, types: `${built}.d.ts`, default: `${built}.js` };
}

/**
 * For the packages of this repository that go with the same version: contracts and command know more than users.
 * @type {Record<string, Record<string, string>>}
 */
const OF_SAMEKEY = {
  ...Object.fromEntries(MOVED.paths.map((path) => [path, conditionsOf(MOVED.source)])),
  './internals/*': {
    '@samekey/source': './src/*.ts',
    types: './dist/*.d.ts',
    default: './dist/*.js',
  },
};

/**
 * What the manifest must say of the entries.
 * @param {Entry[]} entries
 * @param {string} packageName
 */
export function manifestParts(entries, packageName) {
  const peers = Object.fromEntries(
    entries.flatMap((entry) => Object.entries(entry.peers)).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return {
    exports: {
      ...Object.fromEntries(entries.map((entry) => [subpath(entry, packageName), conditions(entry)])),
      ...(packageName === 'samekey' ? OF_SAMEKEY : {}),
    },
    peerDependencies: peers,
    peerDependenciesMeta: Object.fromEntries(Object.keys(peers).map((name) => [name, { optional: true }])),
  };
}

/**
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkEntries(root) {
  const packages = importedPackages(root).map((folder) => listed(root, folder));
  return [
    ...packages.flatMap((each) => [...checkList(root, each), ...checkManifest(each)]),
    ...checkIndex(root, packages),
  ];
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {Listed}
 */
function listed(root, folder) {
  return { folder, entries: readEntries(root, folder), manifest: readJson(root, `${folder}/package.json`) };
}

/**
 * @param {string} root
 * @param {Listed} listed
 * @returns {Problem[]}
 */
function checkList(root, { folder, entries, manifest }) {
  const packageName = manifest.name;
  const file = `${folder}/entries.json`;
  /** @type {Problem[]} */
  const problems = [];
  /** @type {Map<string, string>} */
  const ranges = new Map();
  for (const [at, entry] of entries.entries()) {
    if (entry.name !== packageName && !entry.name.startsWith(`${packageName}/`))
      problems.push({ file, message: `${entry.name} is not of the package ${packageName}` });
    if (entries.findIndex((other) => other.name === entry.name) !== at)
      problems.push({ file, message: `${entry.name} is listed twice` });
    if (!existsSync(join(root, folder, entry.source)))
      problems.push({ file, message: `${entry.name}: its source ${entry.source} does not exist` });
    for (const [peer, range] of Object.entries(entry.peers)) {
      if ((ranges.get(peer) ?? range) !== range)
        problems.push({ file, message: `${entry.name}: another entry has another range for ${peer}` });
      ranges.set(peer, range);
    }
  }
  return problems;
}

/**
 * @param {Listed} listed
 * @returns {Problem[]}
 */
function checkManifest({ folder, entries, manifest }) {
  const wanted = manifestParts(entries, manifest.name);
  /** @type {Problem[]} */
  const problems = [];
  // What is also run has peers of its commands, which are no entry's.
  const parts =
    manifest.bin === undefined ? ['exports', 'peerDependencies', 'peerDependenciesMeta'] : ['exports'];
  for (const part of /** @type {('exports' | 'peerDependencies' | 'peerDependenciesMeta')[]} */ (parts)) {
    // Text, not structure: the order of conditions decides what a resolver takes.
    const said = Object.entries(manifest[part] ?? {}).filter(([name]) => !SISTER.test(name));
    if (JSON.stringify(Object.fromEntries(said)) !== JSON.stringify(wanted[part]))
      problems.push({
        file: `${folder}/package.json`,
        message: `"${part}" differs from ${folder}/entries.json: run node tools/check-entries.mjs --write`,
      });
  }
  return problems;
}

/**
 * The documentation's index names every entry, in order, by a link whose text is the entry and whose target is its page.
 * @param {string} root
 * @param {Listed[]} packages
 * @returns {Problem[]}
 */
function checkIndex(root, packages) {
  const entries = packages.flatMap(({ folder, entries: own }) =>
    own.map((entry) => ({ ...entry, list: `${folder}/entries.json` })),
  );
  if (!existsSync(join(root, INDEX)))
    return [{ file: INDEX, message: 'does not exist: list every entry there, each as a link to its page' }];
  const links = readMarkdown(readText(root, INDEX)).links.filter((link) =>
    /^(?:samekey|@samekey\/\w+)(\/[\w/-]+)?$/.test(link.text),
  );
  /** @type {Problem[]} */
  const problems = [];
  for (const entry of entries) {
    const link = links.find(({ text }) => text === entry.name);
    if (link === undefined) {
      problems.push({ file: INDEX, message: `${entry.name} is missing: add [\`${entry.name}\`](…)` });
      continue;
    }
    const target = posix.join(posix.dirname(INDEX), link.url);
    if (target !== entry.docs)
      problems.push({
        file: INDEX,
        line: link.line,
        message: `${entry.name} leads to ${target}, but ${entry.list} says ${entry.docs}`,
      });
    if (!existsSync(join(root, entry.docs.replace(/#.*$/, ''))))
      problems.push({ file: entry.list, message: `${entry.name}: its page ${entry.docs} does not exist` });
  }
  const lists = packages.map(({ folder }) => `${folder}/entries.json`).join(', ');
  const named = links.map((link) => link.text);
  for (const link of links) {
    if (!entries.some((entry) => entry.name === link.text))
      problems.push({ file: INDEX, line: link.line, message: `${link.text} is not an entry of ${lists}` });
  }
  const order = entries.map((entry) => entry.name).filter((name) => named.includes(name));
  const shown = [...new Set(named)].filter((name) => order.includes(name));
  if (order.join() !== shown.join())
    problems.push({ file: INDEX, message: `the order differs from ${lists}: ${order.join(', ')}` });
  return problems;
}

/**
 * Makes the export maps and the peers from the lists. Everything else of the manifests stays as it is.
 * @param {string} root
 */
export function writeEntries(root) {
  for (const folder of importedPackages(root)) writeManifest(root, listed(root, folder));
}

/**
 * @param {string} root
 * @param {Listed} listed
 */
function writeManifest(root, { folder, entries, manifest }) {
  const parts = manifestParts(entries, manifest.name);
  /** @type {Record<string, unknown>} */
  const written = {};
  for (const [key, value] of Object.entries(manifest)) {
    const isOfEntries = folder === PACKAGE && /^peerDependencies(?:Meta)?$/.test(key);
    if (isOfEntries) continue;
    written[key] = key === 'exports' ? parts.exports : value;
    if (key === 'dependencies' && Object.keys(parts.peerDependencies).length > 0) {
      written['peerDependencies'] = parts.peerDependencies;
      written['peerDependenciesMeta'] = parts.peerDependenciesMeta;
    }
  }
  writeFileSync(join(root, folder, 'package.json'), `${JSON.stringify(written, null, 2)}\n`);
}

if (isMain(import.meta.url)) {
  if (process.argv.includes('--write')) writeEntries(ROOT);
  report('entries', checkEntries(ROOT));
}
