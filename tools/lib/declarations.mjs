/** What built declarations (`.d.ts`) say: which names an entry gives out, where each is declared, what is said of it, and what it is made of. */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { walk } from 'oxc-walker';
import { PACKAGE } from './entries.mjs';
import { readText } from './files.mjs';
import { commentsOf, parse } from './parse.mjs';

/**
 * @typedef {object} Declaration
 * @property {string} file relative to the root
 * @property {string} name
 * @property {string} kind `function`, `const`, `class`, `interface`, `type`, `enum`
 * @property {string} doc the comment on it, as Markdown; empty without one
 * @property {string} code what is declared, comments of its members included
 * @property {string[]} uses names of types that stand in it
 *
 * @typedef {object} Module
 * @property {Map<string, Declaration>} declared by name; overloads are one
 * @property {Map<string, { file: string | null, name: string }>} imported by the name they have here; `*`: all of it
 * @property {Map<string, { file: string | null, name: string }>} given by the name that others know; the file is this one where it is declared here
 * @property {(string | null)[]} everything the files that are given on whole
 */

const KINDS = {
  TSDeclareFunction: 'function',
  FunctionDeclaration: 'function',
  ClassDeclaration: 'class',
  TSInterfaceDeclaration: 'interface',
  TSTypeAliasDeclaration: 'type',
  TSEnumDeclaration: 'enum',
  VariableDeclaration: 'const',
};

/** Reads modules of built packages, each once. @param {string} root */
export function declarations(root) {
  /** @type {Map<string, Module>} */
  const modules = new Map();

  /** @param {string} file @returns {Module} */
  const moduleOf = (file) => {
    let read = modules.get(file);
    if (read === undefined) {
      read = readModule(root, file);
      modules.set(file, read);
    }
    return read;
  };

  /**
   * Where a name of a module is declared; undefined for what comes from packages of others.
   * @param {string | null} file
   * @param {string} name
   * @param {boolean} [isOwn] seen from inside of the module, not by what it gives out
   * @returns {Declaration | undefined}
   */
  const find = (file, name, isOwn = false) => {
    if (file === null) return undefined;
    const { declared, imported, given, everything } = moduleOf(file);
    if (isOwn) {
      const from = imported.get(name);
      return declared.get(name) ?? (from === undefined ? undefined : find(from.file, from.name));
    }
    const from = given.get(name);
    if (from !== undefined)
      return from.file === file ? find(file, from.name, true) : find(from.file, from.name);
    for (const other of everything) {
      const found = find(other, name);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  /** The names that a module gives out. @param {string | null} file @returns {string[]} */
  const namesOf = (file) => {
    if (file === null) return [];
    const { given, everything } = moduleOf(file);
    return [...new Set([...given.keys(), ...everything.flatMap(namesOf)])];
  };

  return { find, namesOf };
}

/**
 * The file of a module of ours; null for those of others.
 * @param {string} root
 * @param {string} from
 * @param {string} specifier
 */
function fileOf(root, from, specifier) {
  const inner = specifier.replace(/^samekey\/internals\//, '');
  const path = specifier.startsWith('.')
    ? posix.join(posix.dirname(from), specifier)
    : inner === specifier
      ? null
      : `${PACKAGE}/dist/${inner}`;
  if (path === null) return null;
  const file = `${path.replace(/\.(?:d\.ts|js|ts)$/, '')}.d.ts`;
  return existsSync(join(root, file)) ? file : null;
}

/**
 * @param {string} root
 * @param {string} file
 * @returns {Module}
 */
function readModule(root, file) {
  const text = readText(root, file);
  const comments = commentsOf(file, text).filter(
    ({ type, value }) => type === 'Block' && value.startsWith('*'),
  );
  /** @type {Module} */
  const read = { declared: new Map(), imported: new Map(), given: new Map(), everything: [] };
  for (const statement of parse(file, text).body) {
    const isExport = statement.type === 'ExportNamedDeclaration';
    if (statement.type === 'ImportDeclaration') {
      const from = fileOf(root, file, statement.source.value);
      for (const one of statement.specifiers)
        if (one.type === 'ImportSpecifier')
          read.imported.set(one.local.name, { file: from, name: nameOf(one.imported) });
    } else if (statement.type === 'ExportAllDeclaration') {
      read.everything.push(fileOf(root, file, statement.source.value));
    } else if (isExport && statement.declaration === null) {
      const source = statement.source === null ? undefined : fileOf(root, file, statement.source.value);
      for (const { exported, local } of statement.specifiers)
        read.given.set(nameOf(exported), { file: source === undefined ? file : source, name: nameOf(local) });
    } else {
      const node = isExport ? statement.declaration : statement;
      const kind = node === null ? undefined : KINDS[/** @type {keyof typeof KINDS} */ (node.type)];
      if (node === null || kind === undefined) continue;
      const last = comments.findLast(({ end }) => end <= statement.start);
      const doc =
        last !== undefined && text.slice(last.end, statement.start).trim() === '' ? wordsOf(last.value) : '';
      const code = text.slice(node.start, node.end).replace(/^declare /, '');
      for (const name of declaredNames(node)) {
        const overload = read.declared.get(name);
        if (overload === undefined)
          read.declared.set(name, { file, name, kind, doc, code, uses: usesOf(node) });
        else {
          overload.code += `\n${code}`;
          overload.uses.push(...usesOf(node));
          if (overload.doc === '') overload.doc = doc;
        }
        if (isExport) read.given.set(name, { file, name });
      }
    }
  }
  return read;
}

/** @param {import('oxc-parser').ModuleExportName} node */
const nameOf = (node) => (node.type === 'Literal' ? node.value : node.name);

/** @param {import('oxc-parser').Node} node @returns {string[]} */
function declaredNames(node) {
  if (node.type === 'VariableDeclaration')
    return node.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  return 'id' in node && node.id !== null && node.id.type === 'Identifier' ? [node.id.name] : [];
}

/**
 * Types that are named, with those that are inherited from.
 * @param {import('oxc-parser').Node} root
 */
function usesOf(root) {
  /** @type {Set<string>} */
  const names = new Set();
  /** @param {import('oxc-parser').Node | null | undefined} node */
  const add = (node) => {
    if (node?.type === 'Identifier') names.add(node.name);
  };
  walk(root, {
    enter(node) {
      if (node.type === 'TSTypeReference') add(node.typeName);
      else if (node.type === 'TSTypeQuery') add(node.exprName);
      else if (node.type === 'TSInterfaceHeritage' || node.type === 'TSClassImplements') add(node.expression);
      else if (node.type === 'ClassDeclaration') add(node.superClass);
    },
  });
  return [...names];
}

/** The words of a comment, without its stars; what it links to is named. @param {string} value */
function wordsOf(value) {
  return value
    .replace(/^\*/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .replaceAll(/\{@link ([^}]+)\}/g, '`$1`')
    .trim();
}
