/**
 * TypeScript as a tree. The compiler in use has a command line only, so the trees come from oxc-parser; one place, so that
 * another parser would be one change.
 */
import { parseSync } from 'oxc-parser';
import { walk } from 'oxc-walker';

/** @typedef {import('oxc-parser').Program} Program */
/** @typedef {import('oxc-parser').Node} Node */

/**
 * @param {string} file
 * @param {string} text
 * @returns {Program}
 */
export function parse(file, text) {
  const { program, errors } = parseSync(file, text, { sourceType: 'module' });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file}: ${error.message}`);
  return program;
}

/**
 * The comments of a file, in their order; `value` is without the marks.
 * @param {string} file
 * @param {string} text
 */
export function commentsOf(file, text) {
  return parseSync(file, text, { sourceType: 'module' }).comments;
}

/**
 * The line, from 1, of an offset.
 * @param {string} text
 * @param {number} offset
 */
export function lineOf(text, offset) {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/**
 * @typedef {object} Specifier
 * @property {string | null} name null when it is not a literal
 * @property {boolean} typeOnly nothing is left of it at run time
 * @property {boolean} lazy loaded when called, not when the module is
 * @property {number} line
 */

/**
 * Every module a file names: imports, re-exports, dynamic imports, `import('x').T` types, `import x = require('x')`,
 * `require('x')`, and `/// <reference types="x" />`.
 * @param {string} file
 * @param {string} text
 * @returns {Specifier[]}
 */
export function specifiersOf(file, text) {
  /** @type {Specifier[]} */
  const found = [];
  const program = parse(file, text);
  /**
   * @param {{ start: number }} node
   * @param {{ type: string, value?: unknown }} source
   * @param {{ typeOnly?: boolean, lazy?: boolean }} how
   */
  const add = (node, source, how = {}) => {
    const literal = source.type === 'Literal' && typeof source.value === 'string';
    found.push({
      name: literal ? String(source.value) : null,
      typeOnly: how.typeOnly ?? false,
      lazy: how.lazy ?? false,
      line: lineOf(text, node.start),
    });
  };
  walk(program, {
    enter(node) {
      if (node.type === 'ImportDeclaration') {
        const named = node.specifiers.length > 0;
        const typeOnly =
          node.importKind === 'type' ||
          (named && node.specifiers.every((s) => s.type === 'ImportSpecifier' && s.importKind === 'type'));
        add(node, node.source, { typeOnly });
      } else if (node.type === 'ExportAllDeclaration') {
        add(node, node.source, { typeOnly: node.exportKind === 'type' });
      } else if (node.type === 'ExportNamedDeclaration' && node.source !== null) {
        const named = node.specifiers.length > 0;
        const typeOnly =
          node.exportKind === 'type' || (named && node.specifiers.every((s) => s.exportKind === 'type'));
        add(node, node.source, { typeOnly });
      } else if (node.type === 'ImportExpression') {
        add(node, node.source, { lazy: true });
      } else if (node.type === 'TSImportType') {
        add(node, node.source, { typeOnly: true });
      } else if (node.type === 'TSExternalModuleReference') {
        add(node, node.expression);
      } else if (
        node.type === 'CallExpression' &&
        node.callee.type === 'Identifier' &&
        node.callee.name === 'require' &&
        node.arguments[0] !== undefined
      ) {
        add(node, node.arguments[0]);
      }
    },
  });
  for (const match of text.matchAll(/^\/\/\/\s*<reference\s+(types|path)="([^"]+)"/gm)) {
    const name = match[1] === 'path' ? `./${match[2]}` : String(match[2]);
    found.push({ name, typeOnly: true, lazy: false, line: lineOf(text, match.index) });
  }
  return found;
}

/**
 * The name of the npm package a specifier reaches, or undefined for a relative path and for `node:`.
 * @param {string} specifier
 */
export function packageOf(specifier) {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
