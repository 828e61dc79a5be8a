/**
 * Why: a code that a program or an operator meets must be explained, and a page must not explain what no longer exists. Held
 * equal: error codes and problem codes with docs/reference/errors.md, the kinds of outcome (in their order of precedence)
 * with docs/reference/outcomes.md, the events with docs/reference/events.md. What the sources do not have yet is not asked
 * of the documentation.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE } from './lib/entries.mjs';
import { readText } from './lib/files.mjs';
import { readMarkdown } from './lib/markdown.mjs';
import { parse } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {import('./lib/markdown.mjs').Heading} Heading */

const SRC = `${PACKAGE}/src`;
const ERRORS = { source: `${SRC}/core/errors.ts`, docs: 'docs/reference/errors.md' };
const PROBLEMS = `${PACKAGE}/src/http/problem.ts`;
const LISTS = [
  { source: `${SRC}/core/outcome.ts`, name: 'OUTCOME_KINDS', docs: 'docs/reference/outcomes.md' },
  { source: `${SRC}/engine/events.ts`, name: 'EVENT_TYPES', docs: 'docs/reference/events.md' },
];

/**
 * What is declared at the top level under this name: the type of an alias, or the value of a const.
 * @param {string} root
 * @param {string} file
 * @param {string} name
 * @returns {any}
 */
function declared(root, file, name) {
  for (const statement of parse(file, readText(root, file)).body) {
    if (statement.type !== 'ExportNamedDeclaration') continue;
    const { declaration } = statement;
    if (declaration?.type === 'TSTypeAliasDeclaration' && declaration.id.name === name)
      return declaration.typeAnnotation;
    if (declaration?.type === 'VariableDeclaration') {
      for (const { id, init } of declaration.declarations) {
        if (id.type === 'Identifier' && id.name === name) return bare(init);
      }
    }
  }
  return undefined;
}

/**
 * A value without `as const`, `satisfies T` and `Object.freeze()` around it.
 * @param {any} node
 * @returns {any}
 */
function bare(node) {
  if (node?.type === 'TSAsExpression' || node?.type === 'TSSatisfiesExpression') return bare(node.expression);
  if (node?.type === 'CallExpression') return bare(node.arguments[0]);
  return node;
}

/**
 * The words of a union of string literals, of an array of strings, or of an object's keys; undefined for anything else.
 * @param {any} node
 * @returns {string[] | undefined}
 */
function wordsOf(node) {
  if (node?.type === 'TSLiteralType') return [String(node.literal.value)];
  if (node?.type === 'TSUnionType')
    return node.types.map((/** @type {any} */ one) => String(one.literal?.value));
  if (node?.type === 'ArrayExpression')
    return node.elements.map((/** @type {any} */ one) => String(one?.value));
  if (node?.type === 'ObjectExpression')
    return node.properties.map((/** @type {any} */ one) => String(one.key?.name ?? one.key?.value));
  return undefined;
}

/**
 * @param {string} root
 * @param {string} file
 * @param {number} depth
 * @returns {Heading[]}
 */
function headingsOf(root, file, depth) {
  // A word in lower case, or a code: other headings are prose.
  return readMarkdown(readText(root, file)).headings.filter(
    (heading) => heading.depth === depth && /^(ERR_[A-Z_]+|[a-z][\w.:-]*)$/.test(heading.text),
  );
}

/**
 * @param {string} docs
 * @param {Heading[]} headings
 * @param {string[]} words
 * @param {string} source
 * @returns {Problem[]}
 */
function compare(docs, headings, words, source) {
  /** @type {Problem[]} */
  const problems = [];
  for (const word of words) {
    if (!headings.some(({ text }) => text === word))
      problems.push({ file: docs, message: `${word} of ${source} has no heading` });
  }
  for (const [at, { text, line }] of headings.entries()) {
    if (!words.includes(text)) problems.push({ file: docs, line, message: `${text} is not in ${source}` });
    if (headings.findIndex((other) => other.text === text) !== at)
      problems.push({ file: docs, line, message: `${text} has two headings` });
  }
  return problems;
}

/**
 * @param {string} docs
 * @param {Heading[]} headings
 * @param {string[]} order
 * @param {string} why
 * @returns {Problem[]}
 */
function compareOrder(docs, headings, order, why) {
  const shown = headings.filter(({ text }) => order.includes(text));
  const wanted = order.filter((word) => shown.some(({ text }) => text === word));
  const wrong = shown.find(({ text }, at) => text !== wanted[at]);
  if (wrong === undefined || shown.length !== wanted.length) return [];
  return [{ file: docs, line: wrong.line, message: `${wrong.text} is out of order: ${why}` }];
}

/**
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkErrors(root) {
  return [...checkCodes(root), ...LISTS.flatMap((list) => checkList(root, list))];
}

/**
 * @param {string} root
 * @returns {Problem[]}
 */
function checkCodes(root) {
  const { source, docs } = ERRORS;
  const codes = wordsOf(declared(root, source, 'ErrorCode'));
  if (codes === undefined) return [{ file: source, message: 'exports no type ErrorCode of string literals' }];
  if (!existsSync(join(root, docs)))
    return [{ file: docs, message: `does not exist: one ### heading for each code of ${source}` }];
  const headings = headingsOf(root, docs, 3);
  const ours = headings.filter(({ text }) => text.startsWith('ERR_'));
  /** @type {Problem[]} */
  const problems = [
    ...compare(docs, ours, codes, source),
    ...compareOrder(docs, ours, codes.toSorted(), 'error codes stand in alphabetical order'),
  ];
  if (existsSync(join(root, PROBLEMS))) {
    const words = wordsOf(declared(root, PROBLEMS, 'PROBLEMS'));
    if (words === undefined) problems.push({ file: PROBLEMS, message: 'exports no const object PROBLEMS' });
    else {
      const theirs = headings.filter(({ text }) => !text.startsWith('ERR_'));
      problems.push(...compare(docs, theirs, words, PROBLEMS));
    }
  }
  return problems;
}

/**
 * @param {string} root
 * @param {{ source: string, name: string, docs: string }} list
 * @returns {Problem[]}
 */
function checkList(root, { source, name, docs }) {
  if (!existsSync(join(root, source))) return [];
  const words = wordsOf(declared(root, source, name));
  if (words === undefined) return [{ file: source, message: `exports no const array ${name}` }];
  if (!existsSync(join(root, docs)))
    return [{ file: docs, message: `does not exist: one ## heading for each of ${name} in ${source}` }];
  const headings = headingsOf(root, docs, 2);
  return [
    ...compare(docs, headings, words, source),
    ...compareOrder(docs, headings, words, `the order is that of ${name} in ${source}`),
  ];
}

if (isMain(import.meta.url)) report('errors', checkErrors(ROOT));
