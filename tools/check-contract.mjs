/**
 * Why: comments and pages cite the contract by section and row, and a citation that leads nowhere is worse than none: its reader stops
 * asking. Every section and row that any file cites must stand in docs/internals/contract.md, whose numbered headings carry anchors
 * that do not change with their words, and no file may cite a paper that is not in the repository.
 *
 * Forms that are read, after the word "contract": `§4`, `§3.2`, `§3–4`, `§4, §6 and §8`, `§4, 7a`, `§4, row 13`, `§4, rows 1 and 2`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText, walkFiles } from './lib/files.mjs';
import { readMarkdown } from './lib/markdown.mjs';
import { lineOf } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {{ section: string, row: string | null, at: number }} Citation `at`: where in the text it begins */
/** @typedef {ReadonlyMap<string, ReadonlySet<string>>} Sections each with the rows of its own tables */

const PAGE = 'docs/internals/contract.md';
const CITING = /\.(?:ts|tsx|mjs|js|md|sql|yml|yaml|json|sh)$/;

const SECTION = String.raw`\d+(?:\.\d+)?`;
const FIRST = new RegExp(String.raw`\bcontract(?:['’]s)?[\s*/]+§(${SECTION})`, 'gi');
/** What may follow a section: the end of a range, more sections, rows. */
const RANGE = new RegExp(`^–§?(${SECTION})`);
const NEXT = new RegExp(String.raw`^(?:,| and|, and)[\s*/]+§(${SECTION})`);
const ROWS = /^,?[\s*/]+rows?\s+(\d+[a-z]?)/;
const BARE_ROW = /^, (\d+[a-z]?)\b(?![.\w])/;
/** Papers outside of the repository, in whose place the contract stands. */
const ELSEWHERE = /\b(semantics|architecture)[\s*/]+§/gi;
const MORE_ROWS = /^(?:,| and|–)\s*(\d+[a-z]?)\b(?!\.)/;

/**
 * What a text cites.
 * @param {string} text
 * @returns {Citation[]}
 */
export function citedSections(text) {
  /** @type {Citation[]} */
  const found = [];
  for (const match of text.matchAll(FIRST)) {
    const at = match.index;
    let [, section = ''] = match;
    let rest = text.slice(at + match[0].length, at + match[0].length + 200);
    found.push({ section, row: null, at });
    for (;;) {
      const range = RANGE.exec(rest);
      const next = range ?? NEXT.exec(rest);
      if (next !== null) {
        section = next[1] ?? '';
        found.push({ section, row: null, at });
        rest = rest.slice(next[0].length);
        continue;
      }
      const named = ROWS.exec(rest);
      let row = named ?? BARE_ROW.exec(rest);
      if (row === null) break;
      while (row !== null) {
        found.push({ section, row: row[1] ?? '', at });
        rest = rest.slice(row[0].length);
        row = named === null ? null : MORE_ROWS.exec(rest);
      }
    }
  }
  return found;
}

/**
 * The numbered sections of the page, each with the rows of its tables; and what is wrong with the page itself.
 * @param {string} page
 * @returns {{ sections: Sections, problems: Problem[] }}
 */
function sectionsOf(page) {
  /** @type {Map<string, Set<string>>} */
  const sections = new Map();
  /** @type {Problem[]} */
  const problems = [];
  const lines = page.split('\n');
  const numbered = readMarkdown(page).headings.flatMap(({ text, line }) => {
    const [, number] = new RegExp(String.raw`^(${SECTION})\. `).exec(text) ?? [];
    return number === undefined ? [] : [{ number, line }];
  });
  for (const [index, { number, line }] of numbered.entries()) {
    const where = { file: PAGE, line };
    if (sections.has(number)) problems.push({ ...where, message: `§${number} stands there twice` });
    const anchor = `<a id="s${number.replace('.', '-')}"></a>`;
    if (lines[line - 2] !== anchor)
      problems.push({ ...where, message: `the line before the heading of §${number} must be ${anchor}` });
    const [chapter = ''] = number.split('.');
    if (chapter !== number && !sections.has(chapter))
      problems.push({ ...where, message: `§${number} stands outside of §${chapter}` });
    /** @type {Set<string>} */
    const rows = new Set();
    for (const text of lines.slice(line, (numbered[index + 1]?.line ?? lines.length + 1) - 1)) {
      const [, row] = /^\| (\d+[a-z]?) \|/.exec(text) ?? [];
      if (row === undefined) continue;
      // A row may be cited by its chapter, so it has its number there alone.
      if (rows.has(row) || hasRow(sections, chapter, row))
        problems.push({ ...where, message: `§${chapter} has row ${row} twice` });
      rows.add(row);
    }
    sections.set(number, rows);
  }
  return { sections, problems };
}

/**
 * Whether a section or one of its own parts has the row.
 * @param {Sections} sections
 * @param {string} section
 * @param {string} row
 */
function hasRow(sections, section, row) {
  return [...sections].some(
    ([number, rows]) => (number === section || number.startsWith(`${section}.`)) && rows.has(row),
  );
}

/**
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkContract(root) {
  if (!existsSync(join(root, PAGE))) return [{ file: PAGE, message: 'does not exist' }];
  const { sections, problems } = sectionsOf(readText(root, PAGE));
  for (const file of walkFiles(root)) {
    if (!CITING.test(file) || file === 'package-lock.json') continue;
    const text = readText(root, file);
    for (const { 0: cited, index } of text.matchAll(ELSEWHERE)) {
      const message = `cites ${JSON.stringify(cited)}, which nothing in the repository numbers: cite ${PAGE}`;
      problems.push({ file, line: lineOf(text, index), message });
    }
    for (const { section, row, at } of citedSections(text)) {
      const what = row === null ? `§${section}` : `§${section}, row ${row}`;
      const isThere = sections.has(section) && (row === null || hasRow(sections, section, row));
      if (!isThere) problems.push({ file, line: lineOf(text, at), message: `${PAGE} has no ${what}` });
    }
  }
  return problems;
}

if (isMain(import.meta.url)) report('contract', checkContract(ROOT));
