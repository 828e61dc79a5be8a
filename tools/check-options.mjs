/**
 * Why: an option that no page names is found by nobody, a page that names one which is gone sends people into an error at start, and a
 * default that a page or an editor tells wrongly is a limit that nobody has set. Each options object is one table of rows; what its
 * interface says of a member, and what the pages of the reference say, is held equal to the rows: names and defaults.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from './lib/files.mjs';
import { optionsByConstant, optionTables } from './lib/option-tables.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {import('./lib/option-tables.mjs').Option} Option */

const SOURCES = ['packages/samekey/src', 'packages/cli/src/verify', 'packages/console/src'];
/** The client has no room for tables in a browser's download: its defaults are one constant. */
const CLIENT = {
  file: 'packages/client/src/options.ts',
  constant: 'NUMBERS',
  names: ['ClientOptions', 'RetryOptions'],
};
const REFERENCE = 'docs/reference/options.md';
const STORES = 'docs/reference/stores.md';

/**
 * Which interfaces a page's table is about: the first one below the heading whose first column is named so.
 * @type {readonly { page: string, heading: string, column?: string, names: readonly string[] }[]}
 */
const PAGES = [
  { page: REFERENCE, heading: '## Of an operation', names: ['OperationOptions'] },
  { page: REFERENCE, heading: '## Of an instance', names: ['SamekeyOptions'] },
  { page: REFERENCE, heading: '## Of a protected route', names: ['RouteOptions'] },
  { page: REFERENCE, heading: '### key', names: ['KeyOptions'] },
  { page: REFERENCE, heading: '### fingerprint', names: ['FingerprintOptions'] },
  { page: STORES, heading: '## memoryStore(options)', names: ['MemoryStoreOptions'] },
  { page: STORES, heading: '## sqliteStore(options)', names: ['SqliteStoreOptions'] },
  { page: STORES, heading: '## postgresStore(options)', names: ['PostgresStoreOptions'] },
  {
    page: STORES,
    heading: '## distributedPostgresStore(options)',
    names: ['DistributedPostgresStoreOptions'],
  },
  { page: STORES, heading: '## mysqlStore(options)', names: ['MysqlStoreOptions'] },
  { page: STORES, heading: '## redisStore(options)', names: ['RedisStoreOptions'] },
  { page: STORES, heading: '## dynamodbStore(options)', names: ['DynamoDbStoreOptions'] },
  { page: STORES, heading: '## tieredStore(options)', names: ['TieredStoreOptions'] },
  { page: 'docs/reference/janitor.md', heading: '## createJanitor(options)', names: ['JanitorOptions'] },
  { page: 'docs/reference/worker.md', heading: '## createWorker(options)', names: ['WorkerOptions'] },
  { page: 'docs/reference/reconcile.md', heading: '## The reconciler', names: ['ReconcilerOptions'] },
  {
    page: 'docs/reference/reconcile.md',
    heading: '## The reconciler',
    column: 'of an operation',
    names: ['ReconcileOperation'],
  },
  {
    page: 'docs/reference/reconcile.md',
    heading: '## Comparing ledgers',
    names: ['CompareOptions', 'ReportOptions'],
  },
  { page: 'docs/reference/coverage.md', heading: '# samekey/coverage', names: ['CoverageOptions'] },
  { page: 'docs/guides/openapi.md', heading: '## The page', names: ['PageOptions'] },
  { page: 'docs/reference/operator.md', heading: '# Operator', names: ['OperatorOptions'] },
  { page: 'docs/guides/console.md', heading: '## In your application', names: ['ConsoleOptions'] },
  { page: 'docs/reference/seal.md', heading: '## sealed(store, ring, options)', names: ['SealedOptions'] },
  {
    page: 'docs/reference/metrics.md',
    heading: '# Metrics, traces and logs',
    column: 'option of metrics',
    names: ['LabelOptions'],
  },
  {
    page: 'docs/reference/metrics.md',
    heading: '## Log lines',
    column: 'option of logs',
    names: ['LogOptions'],
  },
  { page: 'docs/reference/client.md', heading: '## createClient', names: ['client'] },
  { page: 'docs/reference/verify.md', heading: '## Options', names: ['VerifyOptions'] },
  { page: 'docs/guides/freshness.md', heading: '## Signed times', names: ['FreshnessOptions'] },
  { page: 'docs/guides/freshness.md', heading: '## First sent', names: ['FirstSentOptions'] },
  { page: 'docs/guides/limits.md', heading: '# Limits', names: ['LimitsOptions'] },
  { page: 'docs/guides/limits.md', heading: '## Keys stored at once', names: ['ActiveKeysOptions'] },
  { page: 'docs/guides/store-health.md', heading: '# When the store is down', names: ['BreakerOptions'] },
];

/**
 * Flags of the command that are an option of the library: what is told of their defaults, in the help and on the page, is the option's.
 * @type {readonly { command: string, options: string, flags: Readonly<Record<string, string>> }[]}
 */
const COMMANDS = [
  {
    command: 'janitor',
    options: 'JanitorOptions',
    flags: { 'sweep-every': 'sweepMs', 'reap-every': 'reapMs', 'unknown-max': 'unknownMaxMs' },
  },
  {
    command: 'verify',
    options: 'VerifyOptions',
    flags: {
      method: 'method',
      settle: 'settleMs',
      'key-header': 'keyHeader',
      profile: 'profile',
      rate: 'rateMax',
      race: 'raceSize',
      'time-max': 'timeMaxMs',
    },
  },
  { command: 'coverage', options: 'CoverageOptions', flags: { header: 'header' } },
];
const COMMANDS_PAGE = 'docs/reference/cli.md';

/** Defaults that are told otherwise than their rows have them, and why. @type {Readonly<Record<string, string>>} */
const REASONS = {
  'SamekeyOptions.writeVersion': 'pages call it the newest',
  'FetchOptions.endsWithAnswer': 'the runtime says it',
  'HonoOptions.endsWithAnswer': 'the runtime says it',
  'ReconcilerOptions.leaseMs': 'hangs on inquiryTimeMaxMs',
  'EffectOptions.callTimeMaxMs': 'hangs on claimTtlMs',
  'BackoffOptions.maxMs': 'hangs on minMs',
  'ListRequest.limit': 'of the stores: listLimit',
  'MessageListRequest.limit': 'of the stores: listLimit',
  'AuditRequest.limit': 'of the stores: auditLimit',
  'VerifyOptions.headers': 'headers of any name: the default is of one of them',
};

/** For tests: no page has to have a row for it. */
const UNLISTED = /^(?:Test-only|For tests)|\bfor tests\b/;
/** The same, and the client's nested object, whose members have rows. */
const UNLISTED_NAMES = new Set(['world', 'probe', 'retry']);

/**
 * @param {string} root
 * @param {typeof PAGES} [pages]
 * @param {typeof COMMANDS} [commands]
 * @returns {Problem[]}
 */
export function checkOptions(root, pages = PAGES, commands = COMMANDS) {
  const tables = optionTables(root, SOURCES);
  tables.set('client', optionsByConstant(root, CLIENT.file, CLIENT.constant, CLIENT.names));
  /** @type {Map<string, Problem>} */
  const problems = new Map();
  for (const [name, options] of tables) {
    for (const option of options) {
      const message = wrongWords(name, option);
      if (message !== null)
        problems.set(`${option.file}:${option.line}`, { file: option.file, line: option.line, message });
    }
  }
  return [
    ...problems.values(),
    ...pages.flatMap((page) => checkPage(root, page, tables)),
    ...commands.flatMap((command) => checkCommand(root, command, tables)),
  ];
}

/**
 * @param {string} root
 * @param {typeof COMMANDS[number]} command
 * @param {Map<string, Option[]>} tables
 * @returns {Problem[]}
 */
function checkCommand(root, { command, options, flags }, tables) {
  const source = `packages/cli/src/commands/${command}.ts`;
  const [help, page] = [readText(root, source), readText(root, COMMANDS_PAGE)];
  const rows = rowsUnder(page.split('\n'), `## samekey ${command}`, 'option');
  return Object.entries(flags).flatMap(([flag, name]) => {
    const absent = tables.get(options)?.find((option) => option.name === name)?.absent;
    const wanted = absent?.kind === 'value' ? absent.value : undefined;
    // One call of Commander's, and one row of the page.
    const [call = ''] = new RegExp(String.raw`'--${flag} [^]*?(?=\n    \.|;\n)`).exec(help) ?? [];
    const [, inHelp = ''] =
      /\(default: ([^)]+)\)|\.default\('([^']+)'\)|, '?([\w-]+)'?,?\s*\)$/.exec(call)?.filter(Boolean) ?? [];
    const told = { [source]: inHelp.replaceAll('_', ''), [COMMANDS_PAGE]: rows.get(flag)?.told ?? '' };
    return Object.entries(told).flatMap(([file, text]) => {
      const said = valueOf(text) ?? text;
      const message = `the default of --${flag} is told as "${text}", and ${name} of ${options} has ${shown(wanted)}`;
      return isEqual(said, wanted) ? [] : [{ file, message }];
    });
  });
}

/**
 * What is wrong with what an interface says of the default of its member; null for nothing.
 * @param {string} name
 * @param {Option} option
 */
function wrongWords(name, option) {
  const { words, absent } = option;
  if (words === null || REASONS[`${name}.${option.name}`] !== undefined) return null;
  const said = saidIn(words);
  if (absent.kind === 'value') {
    if (said !== undefined && !isEqual(said, absent.value))
      return `${option.name} says that its default is ${shown(said)}, and its row has ${shown(absent.value)}`;
    if (said === undefined && !/\bdefault\b/i.test(words) && !isEmpty(absent.value) && !UNLISTED.test(words))
      return `${option.name} does not say that its default is ${shown(absent.value)}`;
  } else if (absent.kind !== 'computed' && isOfTable(said)) {
    return `${option.name} says that its default is ${shown(said)}, and its row has none: give it to the row`;
  }
  return null;
}

/**
 * @param {string} root
 * @param {typeof PAGES[number]} place
 * @param {Map<string, Option[]>} tables
 * @returns {Problem[]}
 */
function checkPage(root, { page, heading, column = 'option', names }, tables) {
  if (!existsSync(join(root, page))) return [{ file: page, message: 'does not exist' }];
  /** @type {Map<string, Option>} */
  const options = new Map();
  for (const name of names) {
    const table = tables.get(name);
    if (table === undefined)
      return [{ file: 'tools/check-options.mjs', message: `there is no table of ${name}` }];
    for (const option of table) options.set(option.name, option);
  }
  const what = names.join(' and ');
  const rows = rowsUnder(readText(root, page).split('\n'), heading, column);
  /** @type {Problem[]} */
  const problems = [];
  for (const { name, words, isOwn } of options.values())
    if (isOwn && !rows.has(name) && !UNLISTED_NAMES.has(name) && !UNLISTED.test(words ?? ''))
      problems.push({ file: page, message: `${name} of ${what} has no row under "${heading}"` });
  for (const [name, { told, line }] of rows) {
    const option = options.get(name);
    const message = option === undefined ? `${what} has no ${name}` : wrongCell(what, option, told);
    if (message !== null) problems.push({ file: page, line, message });
  }
  return problems;
}

/**
 * @param {string} what
 * @param {Option} option
 * @param {string | null} told
 */
function wrongCell(what, { name, absent }, told) {
  if (told === null) return `the row of ${name} tells more or fewer defaults than it has options`;
  if (REASONS[`${what}.${name}`] !== undefined) return null;
  // Of a store that takes the options of another one.
  if (told === 'as above') return null;
  const said = valueOf(told);
  if (absent.kind === 'value' && isEmpty(absent.value) && said === undefined) return null;
  if (absent.kind === 'value' && !isEqual(said, absent.value))
    return `the default of ${name} is ${shown(absent.value)}, not ${told === '' ? 'nothing' : told}`;
  if ((absent.kind === 'none' || absent.kind === 'required') && isOfTable(said))
    return `the default of ${name} is told as ${told}, and its row has none: give it to the row`;
  return null;
}

/**
 * The options of a page's table, each with the cell of its default; null where a row of several does not tell one for each.
 * @param {string[]} lines
 * @param {string} heading
 * @param {string} column
 */
function rowsUnder(lines, heading, column) {
  /** @type {Map<string, { told: string | null, line: number }>} */
  const rows = new Map();
  let at = lines.indexOf(heading) + 1;
  if (at === 0) return rows;
  while (at < lines.length && !lines[at]?.startsWith('#') && cellsOf(lines[at])[0] !== column) at++;
  const second = Math.max(1, cellsOf(lines[at]).indexOf('default'));
  for (at += 2; lines[at]?.startsWith('|'); at++) {
    const { 0: first = '', [second]: told = '' } = cellsOf(lines[at]);
    const names = [...first.matchAll(/`(?:--|\w+\.)*([\w-]+)[(` ]/g)].map(([, name]) => String(name));
    const each = told.includes('; ') ? told.split('; ') : told.split(', ');
    for (const [i, name] of names.entries()) {
      const one = names.length === 1 || each.length === 1 ? told : (each[i] ?? '');
      rows.set(name, {
        told: names.length > 1 && ![1, names.length].includes(each.length) ? null : one,
        line: at + 1,
      });
    }
  }
  return rows;
}

/** @param {string | undefined} line */
function cellsOf(line = '') {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

const NUMBER = String.raw`\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?`;
/** @type {Readonly<Record<string, number>>} */
const UNITS = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  m: 60_000,
  h: 3_600_000,
  days: 86_400_000,
  d: 86_400_000,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
};
const VALUE = String.raw`\`[^\`]*\`|(?:${NUMBER})(?: ?(?:${Object.keys(UNITS).join('|')})\b)?|true\b|false\b|null\b`;
const SAID = new RegExp(String.raw`\bdefault(?: is| and most|:)? (${VALUE})`, 'i');
const SAID_BEFORE = new RegExp(String.raw`(${VALUE}) \(default`);

/**
 * The default that a sentence states; undefined if it states none, or one in words.
 * @param {string} words
 */
function saidIn(words) {
  const said = SAID.exec(words)?.[1] ?? SAID_BEFORE.exec(words)?.[1];
  return said === undefined ? undefined : valueOf(said);
}

/**
 * The value that a text begins with; undefined for words.
 * @param {string} text
 * @returns {unknown}
 */
function valueOf(text) {
  const [said] = new RegExp(`^(?:${VALUE})`).exec(text) ?? [];
  if (said === undefined) return undefined;
  const inner = said.replaceAll('`', '');
  if (inner === 'true' || inner === 'false') return inner === 'true';
  if (inner === 'null') return null;
  if (inner === '[]') return [];
  const [, number, unit] = new RegExp(String.raw`^(${NUMBER})(?: ?(\w+))?$`).exec(inner) ?? [];
  if (number !== undefined) return Number(number.replaceAll(',', '')) * (UNITS[unit ?? ''] ?? 1);
  return inner.replaceAll("'", '');
}

/**
 * Whether a row could have it: not nothing, and neither another option, nor what a function of that name gives.
 * @param {unknown} said
 */
function isOfTable(said) {
  if (typeof said === 'string')
    return /^[a-z]+$/.test(said) && !['concurrency', 'url', 'statfs'].includes(said);
  return typeof said === 'number' || typeof said === 'boolean';
}

/** @param {unknown} value */
function isEmpty(value) {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

/**
 * @param {unknown} a
 * @param {unknown} b
 */
function isEqual(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** @param {unknown} value */
function shown(value) {
  return JSON.stringify(value);
}

if (isMain(import.meta.url)) report('options', checkOptions(ROOT));
