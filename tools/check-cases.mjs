/**
 * Why: a case from the field that one store is tested for and another is not comes back in the other one. docs/internals/cases.md
 * is a table of cases and stores, made from the sources: which suites cite a case beside a test, and which stores run them. This
 * script keeps the table true (`--write` makes it) and fails when a store lacks a case, a suite, or a place in the pages.
 *
 * A new store is a new folder in `src/stores`: it has a column from then on, and no column may have a hole.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { citations, isContract } from './lib/citations.mjs';
import { readText, walkFiles } from './lib/files.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

const PAGE = 'docs/internals/cases.md';
const SOURCES = 'packages/samekey/src';
const TESTS = 'packages/samekey/test';
const BEGIN = '<!-- made by tools/check-cases.mjs --write -->';
const END = '<!-- end -->';
const ABSENT = 'not offered: refused at start';
const REVIEW_BEGIN = '<!-- review: made by tools/check-cases.mjs --write -->';

/**
 * Found in Samekey itself: what happens, and in words why a case cannot occur at the doors (`doors`) or in the stores (`stores`) where no
 * test of theirs cites it. F83–F85 and F107 are the client's and come with its next version.
 * @type {Readonly<Record<string, { what: string, doors?: string, stores?: string }>>}
 */
export const REVIEWED = {
  F66: {
    what: 'the handler returns what JSON cannot hold',
    doors: 'a handler of a framework answers with bytes; what is served is a way',
  },
  F67: { what: 'somebody above the handler answers first', stores: 'stores see ends, not who gave them' },
  F68: {
    what: 'a time-out answers while the handler works',
    stores: 'the late end is a finish like any other (F6)',
  },
  F69: {
    what: 'the owner stands still between intent and call',
    doors: 'effects are called below the doors',
  },
  F70: { what: "an effect's result meets a short fault", doors: 'effects are called below the doors' },
  F71: { what: 'one process with a clock a day ahead', doors: 'no door reads a clock' },
  F72: { what: 'the profile changes', stores: 'a record is told by scope and key alone' },
  F73: {
    what: "a claim's reply is lost, then the process closes",
    doors: 'doors answer 503 and hold no claim',
  },
  F74: { what: 'spellings of one route', stores: 'a record is told by scope and key alone' },
  F75: { what: 'a publication for all tables', doors: 'the database alone' },
  F76: {
    what: 'refused connections until attempts are used up',
    doors: 'effects are called below the doors',
  },
  F77: { what: 'what is compared is no plain JSON', doors: 'what comes over HTTP is bytes' },
  F78: { what: 'a Map is returned', doors: 'what a framework sends is bytes' },
  F79: { what: 'header lines that are never stored', doors: 'the middleware passes the same gate (F40)' },
  F80: { what: 'field lines that a platform joined', stores: 'keys reach stores whole' },
  F81: { what: 'small streamed answers', stores: 'stores get whole answers' },
  F82: {
    what: 'a second copy of the package',
    doors: 'shown with copies of whole entries',
    stores: 'shown with copies of whole entries',
  },
  F86: {
    what: 'Retry-After of a running operation',
    doors: 'the outcome says it; every door prints it (F1)',
  },
  F87: { what: 'a misspelt option', doors: 'by the table of each', stores: 'by the table of each' },
  F88: { what: 'another header carries the key', stores: 'keys reach stores whole' },
  F89: {
    what: 'bad calls of run',
    doors: 'calls without HTTP; profiles are checked where routes are made',
    stores: 'refused before a store is asked',
  },
  F90: {
    what: 'JSON nested 5,000 deep',
    doors: 'served operations read it before the doors do',
    stores: 'refused before a store is asked',
  },
  F91: { what: 'many content codings', stores: 'refused before a store is asked' },
  F92: {
    what: 'verify acquits what it did not see',
    doors: 'verify asks from outside',
    stores: 'verify asks from outside',
  },
  F93: { what: 'an address with a fault in it', doors: 'the command alone', stores: 'the command alone' },
  F94: {
    what: 'pipes, ledgers, acceptances',
    doors: 'profiles and the flow decide it for every door',
    stores: 'hand-over is tested on each database (worker)',
  },
  F95: { what: 'bodies in files', doors: 'bodies are kept behind the store' },
  F96: { what: 'concrete paths in labels', stores: 'labels are made above the stores' },
  F97: { what: 'the text of a missing value as a scope', stores: 'refused before a store is asked' },
  F98: {
    what: 'a store that was never migrated, or is away',
    doors: 'told by the engine',
    stores: 'told by the engine, whatever the store',
  },
  F99: { what: 'PUT and DELETE on a route', stores: 'stores see no methods' },
  F100: { what: 'what works in a test only', doors: 'told by the instance', stores: 'told by the instance' },
  F101: { what: 'a whole body that is no JSON', stores: 'refused before a store is asked' },
  F102: { what: 'input refused before the claim', stores: 'a look-up, as any other' },
  F103: {
    what: 'clients that supply their ids',
    doors: 'verify asks from outside',
    stores: 'verify asks from outside',
  },
  F104: { what: 'a body that breaks off', stores: 'stores get whole answers or none' },
  F105: { what: 'what stripe-node is told', stores: 'profiles are above the stores' },
  F106: { what: 'form fields in another order', stores: 'stores see digests' },
  F108: {
    what: 'a machine with only Node',
    doors: 'tools/bare.mjs runs both commands of the README in CI',
    stores: 'the same',
  },
};

/**
 * What a store has to do with; cases of headers, bodies and clients are tested where those are read.
 * @type {Readonly<Record<string, string>>}
 */
export const CASES = {
  F1: 'process killed after its claim',
  F3: 'save of the answer fails after the handler',
  F4: 'owner frozen beyond its claim',
  F5: 'one process holds an old and a new claim',
  F6: 'late write of an owner that lost its claim',
  F7: 'refused by a business rule, asked again',
  F8: 'a waiter gives up',
  F9: 'two workers begin at the same time',
  F10: 'one key for two operations',
  F11: 'many racers in several processes',
  F12: 'a racer with another body',
  F13: 'looked before the first finished, acts after',
  F14: "unique violation inside a caller's transaction",
  F15: 'reply to a claim lost',
  F16: 'unique violation of another column',
  F19: 'gateway time-out',
  F22: 'serialisation failure after a provider call',
  F25: 'two tenants, one key',
  F30: 'scope parts with separators',
  F35: '`A` and `a`',
  F38: 'empty and odd bodies',
  F39: 'bytes, compressed, large',
  F40: 'redirects and repeated headers',
  F44: 'store down, hanging, down at the end',
  F45: 'clocks hours off, time zones',
  F46: 'deadline set late in a long transaction',
  F47: 'reaper during traffic',
  F48: 'expired and not reaped',
  F49: 'store full',
  F50: 'item size limit',
  F51: 'messages committed out of order',
  F52: 'worker dies on one message',
  F53: 'relay crashes after the provider accepted',
  F54: 'busy against down',
  F55: 'retry after the retention',
  F58: 'settled after the retention',
  F60: 'long transaction at REPEATABLE READ',
  F61: 'owner wakes after a reconciler asked',
  F62: 'reopened while cached elsewhere',
  F63: 'handlers hold all connections',
  F64: "claim beside another's open transaction",
  F65: 'rolling restart',
};

/** Cases that are about one store's own limit; the others have none. @type {Readonly<Record<string, string[]>>} */
export const ONLY = { F49: ['memory'] };

/** What a store may go without, and why. @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
export const EXEMPT = { memory: { processes: 'no two processes share it' } };

/**
 * What stands in front of a store: a case that it has no test of its own for is that store's, to which it passes everything on. Its races
 * and kills are proofs (`tools/proofs`), and not among the tests.
 */
export const FRONTS = ['tiered'];
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
  const names = readdirSync(join(root, SOURCES, 'stores')).filter((name) => name !== 'sql');
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
  const path = `${SOURCES}/testing/tx-contract.ts`;
  if (!existsSync(join(root, path))) return [];
  const text = readText(root, path);
  /** @type {Map<string, string>} */
  const files = new Map();
  for (const [, names = '', file = ''] of text.matchAll(/import \{ ([^}]+) \} from '\.\/tx\/([\w-]+)\.ts'/g))
    for (const name of names.split(',')) files.set(name.trim(), `${SOURCES}/testing/tx/${file}.ts`);
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
export function suitesOf(root, store) {
  const testing = `${SOURCES}/testing`;
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
  const offers = `${SOURCES}/testing/contract/offers.ts`;
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
 * @param {string} store
 * @param {string} suite
 */
function isProof(store, suite) {
  return FRONTS.includes(store) && suite === 'processes';
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
      if (!suites.has(suite) && EXEMPT[store]?.[suite] === undefined && !isProof(store, suite))
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
export function reviewOf(root) {
  /** @type {Problem[]} */
  const problems = [];
  const all = citations(root);
  const rows = Object.entries(REVIEWED).map(([name, { what, doors, stores }]) => {
    const files = [...new Set(all.filter((one) => one.name === name).map(({ file }) => file))].toSorted();
    const shown = {
      doors: files.filter((file) => /\/testing\/adapter\/|\/test\/(adapters|http-node)\//.test(file)),
      stores: files.filter((file) =>
        /\/testing\/(contract|engine|kth|tx|outbox)\/|\/test\/(stores|tx|outbox)\//.test(file),
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
