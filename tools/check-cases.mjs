/**
 * Why: a case from the field that one store is tested for and another is not comes back in the other one. docs/internals/cases.md
 * is a table of cases and stores, made from the sources: which suites cite a case beside a test, and which stores run them. This
 * script keeps the table true (`--write` makes it) and fails when a store lacks a case, a suite, or a place in the pages.
 *
 * The same page has a row for every case, which says what happened and what is right: a number that a file cites and that the page does not
 * explain fails as well.
 *
 * A new store is a new folder in `src/stores`: it has a column from then on, and no column may have a hole.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { CASES, REVIEWED } from './lib/cases.mjs';
import { citations, isContract } from './lib/citations.mjs';
import { readText, walkFiles } from './lib/files.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

const PAGE = 'docs/internals/cases.md';
const SOURCES = 'packages/samekey/src';
/** What several stores are written with: no store of its own. */
const SHARED = new Set(['sql', 'verbs']);
const TESTS = 'packages/samekey/test';
const BEGIN = '<!-- made by tools/check-cases.mjs --write -->';
const END = '<!-- end -->';
const ABSENT = 'not offered: refused at start';
const REVIEW_BEGIN = '<!-- review: made by tools/check-cases.mjs --write -->';

/** Cases that are about one store's own limit; the others have none. @type {Readonly<Record<string, string[]>>} */
const ONLY = { F49: ['memory'] };

/**
 * What stands in front of a store: a case that it has no test of its own for is that store's, to which it passes everything on. Its races
 * and kills are proofs (`tools/proofs`), and not among the tests.
 */
const FRONTS = ['tiered'];
const BEHIND = 'of the store behind';

/** Of what a store must run. */
const REQUIRED = ['contract', 'engine', 'simulator', 'processes'];

/**
 * The cases that comments beside tests cite. What a file's head says of itself counts for nothing.
 * @param {string} text
 * @returns {Set<string>}
 */
export function citedIn(text) {
  /** @type {Set<string>} */
  const cited = new Set();
  for (const [line] of text.matchAll(/^\s*\/\/.*\bF\d+\b.*$/gm))
    for (const [name] of line.matchAll(/\bF\d+\b/g)) cited.add(name);
  return cited;
}

/**
 * @param {string} root
 * @param {string} folder
 * @param {(path: string) => boolean} [fits]
 * @returns {Set<string>}
 */
function citedUnder(root, folder, fits = () => true) {
  const texts = walkFiles(root, folder).filter((path) => path.endsWith('.ts') && fits(path));
  return new Set(texts.flatMap((path) => [...citedIn(readText(root, path))]));
}

/**
 * The stores: folders of `src/stores`, but for what SQL stores share.
 * @param {string} root
 * @returns {string[]}
 */
export function storesIn(root) {
  const names = readdirSync(join(root, SOURCES, 'stores')).filter((name) => !SHARED.has(name));
  const order = ['memory', 'sqlite', 'postgres', 'mysql', 'redis', 'dynamodb'];
  const place = (/** @type {string} */ name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names.toSorted((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

/**
 * The parts of the transaction contract, with the dialects they run on: `['owners', ['postgres', 'mysql'], ownerTests]`.
 * @param {string} root
 * @returns {{ file: string, on: string[] | null }[]}
 */
function transactionParts(root) {
  const path = 'packages/testing/src/tx-contract.ts';
  if (!existsSync(join(root, path))) return [];
  const text = readText(root, path);
  /** @type {Map<string, string>} */
  const files = new Map();
  for (const [, names = '', file = ''] of text.matchAll(/import \{ ([^}]+) \} from '\.\/tx\/([\w-]+)\.ts'/g))
    for (const name of names.split(',')) files.set(name.trim(), `packages/testing/src/tx/${file}.ts`);
  return [...text.matchAll(/\['[^']+', (null|\[[^\]]*\]), (\w+)\]/g)].map(([, on = '', name = '']) => ({
    file: files.get(name) ?? '',
    on: on === 'null' ? null : [...on.matchAll(/'(\w+)'/g)].map(([, dialect = '']) => dialect),
  }));
}

/**
 * Which suites run on a store, each with the cases it cites.
 * @param {string} root
 * @param {string} store
 * @returns {Map<string, Set<string>>}
 */
function suitesOf(root, store) {
  const testing = 'packages/testing/src';
  const isOwn = (/** @type {string} */ path) => new RegExp(`^${store}[.-]`).test(posix.basename(path));
  const has = (/** @type {string} */ folder, /** @type {string} */ word) =>
    walkFiles(root, `${TESTS}/${folder}`).some((path) => isOwn(path) && readText(root, path).includes(word));
  /** @type {Map<string, Set<string>>} */
  const suites = new Map();
  if (has('stores', 'storeContract('))
    suites.set(
      'contract',
      citedUnder(root, `${testing}/contract`, (path) => !path.endsWith('/offers.ts')),
    );
  if (has('engine', 'engineContract(')) suites.set('engine', citedUnder(root, `${testing}/engine`));
  if (has('outbox', 'outboxContract(')) suites.set('outbox', citedUnder(root, `${testing}/outbox`));
  const sources = walkFiles(root, `${TESTS}/tx`).some((path) =>
    readText(root, path).includes(`dialect: '${store}'`),
  );
  if (sources) {
    const parts = transactionParts(root).filter(({ on }) => on === null || on.includes(store));
    suites.set('transactions', new Set(parts.flatMap(({ file }) => [...citedIn(readText(root, file))])));
  }
  const lanes = `${TESTS}/services/simulator-lanes.ts`;
  const simulated = existsSync(join(root, lanes)) && readText(root, lanes).includes(`${store}Lane(`);
  if (simulated || store === 'memory') suites.set('simulator', new Set());
  if (existsSync(join(root, `${TESTS}/processes/backends/${store}.ts`))) {
    const isEach = (/** @type {string} */ path) => readText(root, path).includes('onEachStore(');
    if (!FRONTS.includes(store)) suites.set('processes', citedUnder(root, `${TESTS}/races`, isEach));
  }
  suites.set('own', citedUnder(root, `${TESTS}/stores`, isOwn));
  return suites;
}

/**
 * What a store says it offers.
 * @param {string} root
 * @param {string} store
 */
function offeredBy(root, store) {
  const files = walkFiles(root, `${SOURCES}/stores/${store}`);
  return {
    transactions: files.some((path) => /\btransactions: true\b/.test(readText(root, path))),
    messages: files.some((path) => path.endsWith('/messages.ts')),
  };
}

/** Of `offers.ts`: cases that cannot happen where something is not offered. */
const NEEDS = {
  transactions: ['F14', 'F16', 'F22', 'F60', 'F63', 'F64'],
  messages: ['F46', 'F51', 'F52', 'F53'],
};

/**
 * The cell of one case and store: the suites that show it, or why it cannot happen; empty for a hole.
 * @param {string} root
 * @param {string} store
 * @param {Map<string, Set<string>>} suites
 * @returns {(name: string) => string}
 */
function cellOf(root, store, suites) {
  const offered = offeredBy(root, store);
  const offers = 'packages/testing/src/contract/offers.ts';
  const refused = existsSync(join(root, offers)) ? citedIn(readText(root, offers)) : new Set();
  return (name) => {
    const shown = [...suites].filter(([, cases]) => cases.has(name)).map(([suite]) => suite);
    if (shown.length > 0) return shown.join(', ');
    if (FRONTS.includes(store)) return BEHIND;
    if (ONLY[name]?.includes(store) === false) return 'no such limit';
    const isAbsent =
      (NEEDS.transactions.includes(name) && !offered.transactions) ||
      (NEEDS.messages.includes(name) && !offered.messages);
    return isAbsent && refused.has(name) && suites.has('contract') ? ABSENT : '';
  };
}

/**
 * Whether a store goes without a suite: no two processes meet in one that is not shared, and those of a front are proofs.
 * @param {string} root
 * @param {string} store
 * @param {string} suite
 */
function isExempt(root, store, suite) {
  if (suite !== 'processes') return false;
  const files = walkFiles(root, `${SOURCES}/stores/${store}`);
  return FRONTS.includes(store) || files.some((path) => /\bshared: false\b/.test(readText(root, path)));
}

/**
 * @param {string} root
 * @returns {{ table: string, problems: Problem[] }}
 */
export function casesOf(root) {
  /** @type {Problem[]} */
  const problems = [];
  const columns = storesIn(root).map((store) => {
    const suites = suitesOf(root, store);
    for (const suite of REQUIRED)
      if (!suites.has(suite) && !isExempt(root, store, suite))
        problems.push({
          file: `${SOURCES}/stores/${store}`,
          message: `has no ${suite} tests: see docs/internals/adding-a-store.md`,
        });
    return { store, suites, cell: cellOf(root, store, suites) };
  });
  const rows = Object.entries(CASES).map(([name, what]) => {
    const cells = columns.map(({ store, cell }) => {
      const text = cell(name);
      if (text === '')
        problems.push({ file: `${SOURCES}/stores/${store}`, message: `has no test of ${name} (${what})` });
      return text;
    });
    return `| ${[name, what, ...cells].join(' | ')} |`;
  });
  const heads = ['case', 'what happens', ...columns.map(({ store }) => store)];
  const ran = columns.map(({ suites }) => [...suites.keys()].filter((suite) => suite !== 'own').join(', '));
  const lines = [
    `| ${heads.join(' | ')} |`,
    `| ${heads.map(() => '---').join(' | ')} |`,
    `|  | suites that run | ${ran.join(' | ')} |`,
    ...rows,
  ];
  return { table: `${BEGIN}\n\n${lines.join('\n')}\n\n${END}`, problems };
}

/**
 * The table of the reviews: each case with the contracts and files that cite it.
 * @param {string} root
 * @returns {{ table: string, problems: Problem[] }}
 */
function reviewOf(root) {
  /** @type {Problem[]} */
  const problems = [];
  const all = citations(root);
  const rows = Object.entries(REVIEWED).map(([name, { what, doors, stores }]) => {
    const files = [...new Set(all.filter((one) => one.name === name).map(({ file }) => file))].toSorted();
    const shown = {
      doors: files.filter((file) => /\/testing\/src\/adapter\/|\/test\/(adapters|http-node)\//.test(file)),
      stores: files.filter((file) =>
        /\/testing\/src\/(contract|engine|kth|tx|outbox)\/|\/test\/(stores|tx|outbox|seal)\//.test(file),
      ),
    };
    const elsewhere = files.filter((file) => !shown.doors.includes(file) && !shown.stores.includes(file));
    if (files.length === 0 && name !== 'F108')
      problems.push({ file: PAGE, message: `no test cites ${name} (${what})` });
    for (const [where, why] of Object.entries({ doors, stores })) {
      if (shown[/** @type {'doors' | 'stores'} */ (where)].length === 0 && why === undefined)
        problems.push({
          file: PAGE,
          message: `${name} (${what}) has no test of ${where}, and nothing says why`,
        });
    }
    const cells = [listed(shown.doors, doors), listed(shown.stores, stores), listed(elsewhere)];
    return `| ${[name, what, ...cells].join(' | ')} |`;
  });
  const heads = ['case', 'what happens', 'doors', 'stores', 'elsewhere'];
  const lines = [`| ${heads.join(' | ')} |`, `| ${heads.map(() => '---').join(' | ')} |`, ...rows];
  return { table: `${REVIEW_BEGIN}\n\n${lines.join('\n')}\n\n${END}`, problems };
}

/**
 * @param {string[]} files
 * @param {string} [why]
 */
function listed(files, why = '') {
  if (files.length === 0) return why;
  return files
    .map((file) =>
      isContract(file)
        ? `every one: ${posix.basename(file, '.ts')}`
        : posix.basename(file, '.ts').replace(/\.test$/, ''),
    )
    .join(', ');
}

/** A row that explains a case, with the anchor that links lead to. */
const EXPLAINED = /^\| <a id="(f\d+)"><\/a>(F\d+) \|([^|]*)\|([^|]*)\|$/;
/** Files that may cite a case. */
const CITING = /\.(?:ts|mjs|md|yml|yaml|json)$/;

/**
 * The page explains every case once, in order and without a gap, and every number that any file cites.
 * @param {string} root
 * @returns {Problem[]}
 */
function explainedOf(root) {
  /** @type {Problem[]} */
  const problems = [];
  let last = 0;
  for (const [at, text] of readText(root, PAGE).split('\n').entries()) {
    const [, anchor = '', name = '', what = '', right = ''] = EXPLAINED.exec(text) ?? [];
    if (name === '') continue;
    const where = { file: PAGE, line: at + 1 };
    if (name !== `F${last + 1}`)
      problems.push({ ...where, message: `${name} stands where F${last + 1} should` });
    if (anchor !== name.toLowerCase())
      problems.push({ ...where, message: `${name} has the anchor ${anchor}` });
    if (what.trim() === '' || right.trim() === '')
      problems.push({ ...where, message: `${name} is not explained` });
    last = Number(name.slice(1));
  }
  for (const file of walkFiles(root)) {
    if (file === PAGE || file === 'package-lock.json' || !CITING.test(file)) continue;
    const unknown = new Set(
      [...readText(root, file).matchAll(/\bF(\d+)\b/g)]
        .filter(([, number]) => Number(number) < 1 || Number(number) > last)
        .map(([name]) => name),
    );
    for (const name of unknown)
      problems.push({ file, message: `cites ${name}, which ${PAGE} does not explain: give it a row` });
  }
  return problems;
}

/**
 * Puts a table between its marks; null where the page has no place for it.
 * @param {string} page
 * @param {string} begin
 * @param {string} table
 */
function placed(page, begin, table) {
  const from = page.indexOf(begin);
  const to = from < 0 ? -1 : page.indexOf(END, from);
  return to < 0 ? null : page.slice(0, from) + table + page.slice(to + END.length);
}

/**
 * @param {string} root
 * @param {{ write?: boolean }} [options]
 * @returns {Problem[]}
 */
export function checkCases(root, { write = false } = {}) {
  const { table, problems: holes } = casesOf(root);
  const review = reviewOf(root);
  const problems = [...holes, ...review.problems];
  if (!existsSync(join(root, PAGE))) return [...problems, { file: PAGE, message: 'does not exist' }];
  problems.push(...explainedOf(root));
  const page = readText(root, PAGE);
  let made = page;
  for (const [begin, text] of [
    [BEGIN, table],
    [REVIEW_BEGIN, review.table],
  ]) {
    const next = placed(made, String(begin), String(text));
    if (next === null)
      return [...problems, { file: PAGE, message: `has no place for the table: ${begin} … ${END}` }];
    made = next;
  }
  if (write) writeFileSync(join(root, PAGE), made);
  else if (made !== page)
    problems.push({
      file: PAGE,
      message: 'does not say what the tests say: run node tools/check-cases.mjs --write',
    });
  return problems;
}

if (isMain(import.meta.url)) report('cases', checkCases(ROOT, { write: process.argv.includes('--write') }));
