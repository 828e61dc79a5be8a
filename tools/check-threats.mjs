/**
 * Why: a table of threats comforts people, so each of its rows must be shown by tests that exist. docs/concepts/threats.md names
 * them as links: the text is the test's title, the target its file. Every threat of the list below has a row, every row names a
 * test, and every title named is one that its file gives to a test. `…` in a title stands for what a template fills in.
 */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { walk } from 'oxc-walker';
import { readText } from './lib/files.mjs';
import { readMarkdown } from './lib/markdown.mjs';
import { lineOf, parse } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

const PAGE = 'docs/concepts/threats.md';

/** What the page must speak of, whatever else it does. */
export const THREATS = [
  'first-writer race',
  'cross-tenant collision',
  'parameter mismatch',
  'partial failure',
  'incomplete coverage',
  'fail-open',
  'worker replay',
  'key enumeration',
  'replay after expiry',
  'error caching',
  'TTL race',
  'key spraying',
  'stale answer',
  'log leakage',
  'header smuggling',
];

/** What gives a test its title; `test.each(…)('title', …)` and the like too. */
const TESTS = new Set(['it', 'test', 'describe']);

/**
 * @param {any} callee
 * @returns {boolean}
 */
function isTest(callee) {
  if (callee.type === 'Identifier') return TESTS.has(callee.name);
  if (callee.type === 'MemberExpression') return isTest(callee.object);
  return callee.type === 'CallExpression' && isTest(callee.callee);
}

/**
 * The titles of a file's tests.
 * @param {string} file
 * @param {string} text
 * @returns {Set<string>}
 */
function titlesOf(file, text) {
  /** @type {Set<string>} */
  const titles = new Set();
  walk(parse(file, text), {
    enter(/** @type {any} */ node) {
      if (node.type !== 'CallExpression' || !isTest(node.callee)) return;
      const [title] = node.arguments;
      if (title?.type === 'Literal' && typeof title.value === 'string') titles.add(title.value);
      if (title?.type === 'TemplateLiteral')
        titles.add(title.quasis.map((/** @type {any} */ part) => part.value.cooked).join('…'));
    },
  });
  return titles;
}

/**
 * @param {string} root
 * @param {readonly string[]} threats
 * @returns {Problem[]}
 */
export function checkThreats(root, threats = THREATS) {
  if (!existsSync(join(root, PAGE))) return [{ file: PAGE, message: 'does not exist' }];
  const page = readText(root, PAGE);
  /** @type {Problem[]} */
  const problems = [];
  const rows = page
    .split('\n')
    .map((text, at) => ({ line: at + 1, name: /^\| ([^|]+?) \|/.exec(text)?.[1] ?? '' }))
    .filter(({ name }) => name !== '' && name !== 'threat' && !name.startsWith('---'));
  for (const threat of threats) {
    const found = rows.filter(({ name }) => name === threat).length;
    if (found !== 1) problems.push({ file: PAGE, message: `${threat} has ${found} rows instead of one` });
  }
  const links = readMarkdown(page).links.filter(({ url }) => url.endsWith('.ts'));
  // The table is one paragraph to this reader of Markdown: a row's links are found by its own text.
  const lines = page.split('\n');
  for (const { name, line } of rows) {
    const text = lines[line - 1] ?? '';
    if (!links.some(({ url }) => text.includes(`](${url})`)))
      problems.push({ file: PAGE, line, message: `${name} is shown by no test` });
  }
  /** @type {Map<string, Set<string>>} */
  const known = new Map();
  for (const link of links) {
    const file = posix.join(posix.dirname(PAGE), link.url);
    const line = lineOf(page, Math.max(0, page.indexOf(`[${link.text}](${link.url})`)));
    if (!existsSync(join(root, file))) {
      problems.push({ file: PAGE, line, message: `${file} does not exist` });
      continue;
    }
    const titles = known.get(file) ?? titlesOf(file, readText(root, file));
    known.set(file, titles);
    if (!titles.has(link.text))
      problems.push({ file: PAGE, line, message: `${file} has no test "${link.text}"` });
  }
  return problems;
}

if (isMain(import.meta.url)) report('threats', checkThreats(ROOT));
