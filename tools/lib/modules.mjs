/**
 * The modules of a tree and what they have of each other: which names a file gives, which names each of its imports takes, and where
 * imports lead in a circle. Types are names like all others.
 */
import { posix } from 'node:path';
import { walk } from 'oxc-walker';
import { PACKAGE } from './entries.mjs';
import { readText } from './files.mjs';
import { lineOf, parse } from './parse.mjs';

/** All names of a module: a namespace, `export *`, or a dynamic import, whose use is not looked into. */
const ALL = '*';
/** How the packages of this repository name a module of the library. */
const INTERNALS = 'samekey/internals/';

/**
 * @typedef {object} Use
 * @property {string} target the file it leads to
 * @property {string} name what is taken from it; `*` is everything
 * @typedef {object} Module
 * @property {Map<string, number>} exports the names it gives, with their lines
 * @property {Use[]} uses
 */

/**
 * @param {string} root
 * @param {readonly string[]} files
 * @returns {Map<string, Module>}
 */
export function modulesOf(root, files) {
  return new Map(files.map((file) => [file, moduleOf(file, readText(root, file))]));
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {Module}
 */
export function moduleOf(file, text) {
  /** @type {Module} */
  const module = { exports: new Map(), uses: [] };
  /** @param {string} source @param {string} name */
  const use = (source, name) => {
    if (source.startsWith('.')) module.uses.push({ target: posix.join(posix.dirname(file), source), name });
    else if (source.startsWith(INTERNALS))
      module.uses.push({ target: `${PACKAGE}/src/${source.slice(INTERNALS.length)}.ts`, name });
  };
  walk(parse(file, text), {
    enter(node) {
      if (node.type === 'ImportDeclaration') takeImport(node, use);
      else if (node.type === 'ExportAllDeclaration') use(node.source.value, ALL);
      else if (node.type === 'ExportNamedDeclaration') {
        for (const { local, exported } of node.specifiers) {
          if (node.source !== null) use(node.source.value, wordOf(local));
          module.exports.set(wordOf(exported), lineOf(text, node.start));
        }
        for (const name of declaredBy(node.declaration)) module.exports.set(name, lineOf(text, node.start));
      } else if (node.type === 'ExportDefaultDeclaration') {
        module.exports.set('default', lineOf(text, node.start));
      } else if (node.type === 'ImportExpression' && node.source.type === 'Literal') {
        use(String(node.source.value), ALL);
      } else if (node.type === 'TSImportType') {
        use(node.source.value, node.qualifier === null ? ALL : firstWord(node.qualifier));
      }
    },
  });
  // Types in JavaScript are named in its comments.
  for (const [, source = '', name = ALL] of text.matchAll(/import\('(\.[^']+)'\)(?:\.(\w+))?/g))
    use(source, name);
  return module;
}

/**
 * @param {import('oxc-parser').ImportDeclaration} node
 * @param {(source: string, name: string) => void} use
 */
function takeImport(node, use) {
  const source = node.source.value;
  if (node.specifiers.length === 0) use(source, '');
  for (const specifier of node.specifiers) {
    if (specifier.type === 'ImportSpecifier') use(source, wordOf(specifier.imported));
    else use(source, specifier.type === 'ImportDefaultSpecifier' ? 'default' : ALL);
  }
}

/** @param {any} name an identifier, or a name in quotes */
function wordOf(name) {
  return String(name.name ?? name.value);
}

/**
 * The leftmost word of `A.B.C`.
 * @param {any} qualifier
 * @returns {string}
 */
function firstWord(qualifier) {
  return qualifier.type === 'TSQualifiedName' ? firstWord(qualifier.left) : String(qualifier.name);
}

/**
 * @param {any} declaration
 * @returns {string[]}
 */
function declaredBy(declaration) {
  if (declaration === null) return [];
  if (declaration.type !== 'VariableDeclaration') return [declaration.id.name];
  return declaration.declarations.flatMap((/** @type {any} */ one) => patternNames(one.id));
}

/**
 * @param {any} pattern
 * @returns {string[]}
 */
function patternNames(pattern) {
  if (pattern.type === 'Identifier') return [pattern.name];
  if (pattern.type === 'ObjectPattern')
    return pattern.properties.flatMap((/** @type {any} */ one) => patternNames(one.value ?? one.argument));
  return [];
}

/**
 * Which files form a circle of imports: each group holds the files that reach each other.
 * @param {Map<string, Module>} modules
 * @returns {string[][]}
 */
export function circlesOf(modules) {
  /** @type {Map<string, Set<string>>} */
  const reaches = new Map();
  const targetsOf = (/** @type {string} */ file) =>
    (modules.get(file)?.uses ?? []).map(({ target }) => target).filter((target) => modules.has(target));
  for (const file of modules.keys()) {
    const seen = new Set(targetsOf(file));
    for (const next of seen) for (const target of targetsOf(next)) seen.add(target);
    reaches.set(file, seen);
  }
  /** @type {string[][]} */
  const circles = [];
  const told = new Set();
  for (const [file, reached] of reaches) {
    if (told.has(file) || !reached.has(file)) continue;
    const circle = [file, ...[...reached].filter((other) => other !== file && reaches.get(other)?.has(file))];
    for (const one of circle) told.add(one);
    circles.push(circle);
  }
  return circles;
}
