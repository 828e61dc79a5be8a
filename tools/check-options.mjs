/**
 * Why: an option that no page names is found by nobody, and a page that names one which is gone sends people into an error at start.
 * The tables of docs/reference/options.md are held equal to the interfaces that `createSamekey`, operations and routes take: each member
 * has a row under the heading of its interface, and each row a member. An interface is found by its name, wherever it stands.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE } from './lib/entries.mjs';
import { readText, walkFiles } from './lib/files.mjs';
import { parse } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

const PAGE = 'docs/reference/options.md';

/** Which interface a heading's table is about. */
const TABLES = [
  { heading: '## Of an operation', name: 'OperationOptions' },
  { heading: '## Of an instance', name: 'SamekeyOptions' },
  { heading: '## Of a protected route', name: 'RouteOptions' },
  { heading: '### key', name: 'KeyOptions' },
  { heading: '### fingerprint', name: 'FingerprintOptions' },
];

/**
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkOptions(root) {
  if (!existsSync(join(root, PAGE))) return [{ file: PAGE, message: 'does not exist' }];
  const declared = membersOf(root);
  const lines = readText(root, PAGE).split('\n');
  /** @type {Problem[]} */
  const problems = [];
  for (const { heading, name } of TABLES) {
    const members = declared.get(name);
    if (members === undefined) {
      problems.push({ file: 'tools/check-options.mjs', message: `there is no exported interface ${name}` });
      continue;
    }
    const rows = rowsUnder(lines, heading);
    for (const member of members)
      if (!rows.has(member))
        problems.push({ file: PAGE, message: `${member} of ${name} has no row under "${heading}"` });
    for (const [row, line] of rows)
      if (!members.includes(row)) problems.push({ file: PAGE, line, message: `${name} has no ${row}` });
  }
  return problems;
}

/**
 * The own members of the interfaces, by name.
 * @param {string} root
 */
function membersOf(root) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  const names = TABLES.map(({ name }) => name);
  for (const file of walkFiles(root, `${PACKAGE}/src`).filter((path) => path.endsWith('.ts'))) {
    const text = readText(root, file);
    if (!names.some((name) => text.includes(`interface ${name}`))) continue;
    for (const statement of parse(file, text).body) {
      if (statement.type !== 'ExportNamedDeclaration') continue;
      const { declaration } = statement;
      if (declaration?.type !== 'TSInterfaceDeclaration' || !names.includes(declaration.id.name)) continue;
      found.set(
        declaration.id.name,
        declaration.body.body.flatMap((member) =>
          member.type === 'TSPropertySignature' && member.key.type === 'Identifier' ? [member.key.name] : [],
        ),
      );
    }
  }
  return found;
}

/**
 * The options of the first cells between a heading and the next one, with their lines. A cell may name several.
 * @param {string[]} lines
 * @param {string} heading
 */
function rowsUnder(lines, heading) {
  /** @type {Map<string, number>} */
  const rows = new Map();
  const start = lines.indexOf(heading);
  if (start === -1) return rows;
  let isOptions = false;
  for (let at = start + 1; at < lines.length && !lines[at]?.startsWith('#'); at++) {
    const cell = (lines[at] ?? '').split('|')[1] ?? '';
    if (cell.trim() === 'option') isOptions = true;
    else if (cell === '') isOptions = false;
    else if (isOptions) for (const [, name] of cell.matchAll(/`(\w+)`/g)) rows.set(String(name), at + 1);
  }
  return rows;
}

if (isMain(import.meta.url)) report('options', checkOptions(ROOT));
