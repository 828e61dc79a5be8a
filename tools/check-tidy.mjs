/**
 * Why: a house stays one in which a stranger finds his way only while nothing in it grows out of sight. Held here: how long functions and
 * files are and how wide comments, that what is exported is used, that imports lead in no circle, that each adapter, store and
 * transaction source can be imported by users, and that a file's name says one thing once. What cannot be brought under its
 * number yet stands in tidy-exceptions.json with a reason. That list only shrinks: an exception that is no longer needed fails too.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { walk } from 'oxc-walker';
import { importedPackages, MOVED, PACKAGE, readEntries } from './lib/entries.mjs';
import { projectFiles, readJson, readText } from './lib/files.mjs';
import { circlesOf, modulesOf } from './lib/modules.mjs';
import { commentsOf, lineOf, parse } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

/**
 * @typedef {object} Limits
 * @property {RegExp} at the files they are for; the first row that fits counts
 * @property {number} functionLinesMax
 * @property {number} factoryLinesMax a function with those that stand in it
 * @property {number} fileLinesMax
 * @property {number} commentColumnsMax
 * @property {true} [tables] what registers tests is a table of them, and as long as it is
 *
 * @typedef {object} Exception
 * @property {string} path
 * @property {'function' | 'factory' | 'file'} measure
 * @property {string} [name] of the function
 * @property {number} linesMax what it may have at most until it is mended
 * @property {string} reason
 *
 * @typedef {{ file: string, line: number, measure: 'function' | 'factory' | 'file', name?: string, lines: number, limit: number }} Excess
 */

const EXCEPTIONS = 'tools/tidy-exceptions.json';

/** The contracts of `testing` are tables of tests: what registers them is as long as its table. */
const TESTING = /^packages\/(samekey\/src\/testing|testing\/src)\//;
const SRC = /^packages\/[^/]+\/src\//;
const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;
/** What speaks to a tool, and a type in a comment of JavaScript, stands on one line. */
const DIRECTIVE = /^((oxlint|biome|@ts)-|@(type|property) \{)/;
const MODULE = /\.(ts|mjs)$/;

/** Modules that are loaded by a name which is made up: what they give, no import names. */
const LOADED_BY_NAME = /^tools\/(?:proofs\/|lib\/loose-errors\.mjs)|\.config\.ts$/;

/** @type {Limits[]} */
const LIMITS = [
  {
    at: TESTING,
    functionLinesMax: 120,
    factoryLinesMax: 300,
    fileLinesMax: 450,
    commentColumnsMax: 240,
    tables: true,
  },
  { at: SRC, functionLinesMax: 70, factoryLinesMax: 150, fileLinesMax: 400, commentColumnsMax: 120 },
  {
    at: /^tools\//,
    functionLinesMax: 100,
    factoryLinesMax: 150,
    fileLinesMax: 500,
    commentColumnsMax: 160,
    tables: true,
  },
];

/** Folders of parts: each folder in them is one that users import. */
const PARTS = ['adapters', 'stores', 'tx'];
/** What several stores are written with. */
const SHARED = ['stores/sql', 'stores/verbs'];

/**
 * Which names may stand in several folders, and why: there they are the same role, so that who knows one store knows all.
 * @type {{ at: RegExp, names: readonly string[] | 'any', why: string }[]}
 */
const ROLES = [
  {
    at: /\/src\/stores\//,
    names: [
      'audit.ts',
      'client.ts',
      'clock.ts',
      'counters.ts',
      'erase.ts',
      'errors.ts',
      'hot-path.ts',
      'identity.ts',
      'link.ts',
      'message-rows.ts',
      'messages.ts',
      'migration.ts',
      'operator.ts',
      'records.ts',
      'references.ts',
      'schema.ts',
      'shape.ts',
      'statements.ts',
      'tables.ts',
      'transitions.ts',
      'upkeep.ts',
      'within.ts',
    ],
    why: 'A store is read as the next one: what a file of this name does here, it does there.',
  },
  {
    at: /\/src\/stores\/[^/]+\/migrations\//,
    names: 'any',
    why: 'Migrations have the same numbers everywhere.',
  },
  { at: /\/src\/adapters\//, names: ['serve.ts'], why: 'The same door of each framework.' },
  { at: /\/cli\/src\/commands\//, names: 'any', why: 'A command is called as what it calls.' },
  { at: /\/src\//, names: ['index.ts', 'options.ts'], why: 'Each part has its entry and its options.' },
];

/**
 * @param {string} root
 * @param {readonly string[]} files
 * @param {Limits[]} [limits]
 * @param {Exception[]} [exceptions]
 * @returns {Problem[]}
 */
export function checkTidy(root, files, limits = LIMITS, exceptions = readJson(root, EXCEPTIONS)) {
  const limitsOf = (/** @type {string} */ file) => limits.find(({ at }) => at.test(file));
  const measured = files.filter((file) => MODULE.test(file) && limitsOf(file) !== undefined);
  /** @type {Excess[]} */
  const excesses = [];
  /** @type {Problem[]} */
  const wide = [];
  for (const file of measured) {
    const rule = limitsOf(file);
    if (rule === undefined) continue;
    const text = readText(root, file);
    excesses.push(...excessesOf(file, text, rule));
    wide.push(...wideComments(file, text, rule.commentColumnsMax));
  }
  return [
    ...judgeExcesses(excesses, exceptions),
    ...wide,
    // What a contract gives is for stores and adapters of others.
    ...checkModules(
      root,
      files,
      measured.filter((file) => !TESTING.test(file)),
    ),
    ...checkParts(root),
    ...checkNames(measured),
  ];
}

/**
 * @param {string} file
 * @param {string} text
 * @param {Limits} rule
 * @returns {Excess[]}
 */
function excessesOf(file, text, rule) {
  /** @type {Excess[]} */
  const excesses = [];
  const lines = text.trimEnd().split('\n').length;
  if (lines > rule.fileLinesMax)
    excesses.push({ file, line: 1, measure: 'file', lines, limit: rule.fileLinesMax });
  for (const { name, line, length, own, node } of functionsOf(file, text)) {
    if (rule.tables === true && registersTests(node)) continue;
    if (own > rule.functionLinesMax)
      excesses.push({ file, line, measure: 'function', name, lines: own, limit: rule.functionLinesMax });
    if (length > rule.factoryLinesMax)
      excesses.push({ file, line, measure: 'factory', name, lines: length, limit: rule.factoryLinesMax });
  }
  return excesses;
}

/**
 * The functions of a file, each with its lines, and with those that are its own: a function in it that has a name is one for itself.
 * @param {string} file
 * @param {string} text
 */
function functionsOf(file, text) {
  /** @type {{ name: string, line: number, length: number, own: number, node: import('oxc-parser').Node }[]} */
  const found = [];
  /** @type {typeof found} */
  const around = [];
  walk(parse(file, text), {
    enter(node, parent) {
      if (!FUNCTION.test(node.type)) return;
      const line = lineOf(text, node.start);
      const length = lineOf(text, node.end) - line + 1;
      around.push({ name: nameOf(node, parent), line, length, own: length, node });
    },
    leave(node, parent) {
      const one = around.at(-1);
      if (one?.node !== node) return;
      around.pop();
      found.push(one);
      const outer = around.at(-1);
      if (outer === undefined) return;
      // What an inner function without a name has, its outer one says: a callback is a part of the sentence around it.
      const inner = isNamed(node, parent) ? one.length : one.length - one.own;
      // The first and the last line stand in both.
      if (inner > 2) outer.own -= inner - (isNamed(node, parent) ? 1 : 0);
    },
  });
  return found.toSorted((one, other) => one.line - other.line);
}

/**
 * Whether a function has a name of its own: declared, kept under one, or a method.
 * @param {import('oxc-parser').Node} node
 * @param {import('oxc-parser').Node | null} parent
 */
function isNamed(node, parent) {
  if (node.type === 'FunctionDeclaration') return true;
  return /^(VariableDeclarator|Property|MethodDefinition|PropertyDefinition)$/.test(parent?.type ?? '');
}

/**
 * Whether a function says which tests there are: somewhere in it something is called that registers one.
 * @param {import('oxc-parser').Node} node
 */
function registersTests(node) {
  let found = false;
  walk(node, {
    enter(inner) {
      if (inner.type === 'CallExpression' && /^(test|it|describe)$/.test(nameIn(inner.callee))) found = true;
    },
  });
  return found;
}

/**
 * The word by which a callee or a key is known, or none.
 * @param {any} node
 * @returns {string}
 */
function nameIn(node) {
  if (node?.type === 'MemberExpression') return nameIn(node.object);
  return String(node?.name ?? node?.value ?? '');
}

/**
 * The name of a function: its own, or that of what it is given to.
 * @param {any} node
 * @param {any} parent
 */
function nameOf(node, parent) {
  return nameIn(node.id ?? parent?.id ?? parent?.key ?? parent?.callee) || 'a function';
}

/**
 * @param {Exception} exception
 * @param {Excess} excess
 */
function isFor({ path, measure, name }, excess) {
  return path === excess.file && measure === excess.measure && name === excess.name;
}

/**
 * @param {Excess[]} excesses
 * @param {Exception[]} exceptions
 * @returns {Problem[]}
 */
function judgeExcesses(excesses, exceptions) {
  /** @type {Problem[]} */
  const problems = [];
  for (const excess of excesses) {
    const { file, line, lines, limit, name = 'the file' } = excess;
    const exception = exceptions.find((one) => isFor(one, excess));
    const most = exception?.linesMax ?? limit;
    if (lines > most)
      problems.push({
        file,
        line,
        message: `${name} has ${lines} lines, at most ${most} are wanted: split it along its subjects`,
      });
  }
  for (const exception of exceptions) {
    const { path, measure, name } = exception;
    if (!excesses.some((excess) => isFor(exception, excess)))
      problems.push({
        file: EXCEPTIONS,
        message: `${path}: the ${measure}${name === undefined ? '' : ` ${name}`} needs no exception any more: take it out`,
      });
    if (exception.reason.trim() === '')
      problems.push({ file: EXCEPTIONS, message: `${path}: an exception needs a reason` });
  }
  return problems;
}

/**
 * @param {string} file
 * @param {string} text
 * @param {number} columnsMax
 * @returns {Problem[]}
 */
function wideComments(file, text, columnsMax) {
  const lines = text.split('\n');
  const wide = new Set();
  for (const { start, end } of commentsOf(file, text)) {
    const last = lineOf(text, end);
    for (let line = lineOf(text, start); line <= last; line++) {
      // What cannot be broken, such as an address, may be as long as it is.
      const words = (lines[line - 1] ?? '').trim().replace(/^(\/\*\*?|\*|\/\/)\s*/, '');
      if (
        Array.from(lines[line - 1] ?? '').length > columnsMax &&
        words.includes(' ') &&
        !DIRECTIVE.test(words)
      )
        wide.add(line);
    }
  }
  return [...wide].map((line) => ({
    file,
    line,
    message: `a comment is wider than ${columnsMax} columns: wrap it`,
  }));
}

/**
 * Dead exports, and circles.
 * @param {string} root
 * @param {readonly string[]} files
 * @param {readonly string[]} measured
 * @returns {Problem[]}
 */
function checkModules(root, files, measured) {
  const modules = modulesOf(
    root,
    files.filter((file) => /\.(ts|tsx|mts|mjs|js)$/.test(file) && !file.endsWith('.d.ts')),
  );
  /** @type {Map<string, Set<string>>} */
  const used = new Map();
  for (const { uses } of modules.values()) {
    for (const { target, name } of uses) used.set(target, (used.get(target) ?? new Set()).add(name));
  }
  const entries = new Set([
    posix.join(PACKAGE, MOVED.source),
    ...importedPackages(root).flatMap((folder) =>
      readEntries(root, folder).map(({ source }) => posix.join(folder, source)),
    ),
  ]);
  /** @type {Problem[]} */
  const problems = [];
  for (const file of measured) {
    const names = used.get(file) ?? new Set();
    if (entries.has(file) || names.has('*') || LOADED_BY_NAME.test(file)) continue;
    for (const [name, line] of modules.get(file)?.exports ?? []) {
      if (!names.has(name))
        problems.push({
          file,
          line,
          message: `${name} is used by no other file: do not export it, or delete it`,
        });
    }
  }
  const inside = new Map([...modules].filter(([file]) => measured.includes(file)));
  for (const circle of circlesOf(inside))
    problems.push({ file: String(circle[0]), message: `imports lead in a circle: ${circle.join(', ')}` });
  return problems;
}

/**
 * @param {string} root
 * @returns {Problem[]}
 */
function checkParts(root) {
  const sources = readEntries(root).map(({ source }) => source);
  const src = join(root, PACKAGE, 'src');
  return PARTS.filter((part) => existsSync(join(src, part)))
    .flatMap((part) =>
      readdirSync(join(src, part), { withFileTypes: true })
        .filter((item) => item.isDirectory())
        .map(({ name }) => `${part}/${name}`),
    )
    .filter(
      (folder) => !SHARED.includes(folder) && !sources.some((source) => source.startsWith(`src/${folder}/`)),
    )
    .map((folder) => ({
      file: `${PACKAGE}/src/${folder}`,
      message: 'has no entry: give it one in entries.json, or move it to where it is used',
    }));
}

/**
 * @param {readonly string[]} measured
 * @returns {Problem[]}
 */
function checkNames(measured) {
  /** @type {Map<string, string[]>} */
  const places = new Map();
  for (const file of measured) {
    const name = posix.basename(file);
    if (!SRC.test(file) || TESTING.test(file) || hasRole(file, name)) continue;
    places.set(name, [...(places.get(name) ?? []), file]);
  }
  return [...places]
    .filter(([, files]) => files.length > 1)
    .map(([, files]) => ({
      file: String(files[0]),
      message: `has the name of ${files.slice(1).join(', ')}: say of each what it is`,
    }));
}

/**
 * @param {string} file
 * @param {string} name
 */
function hasRole(file, name) {
  return ROLES.some(({ at, names }) => at.test(file) && (names === 'any' || names.includes(name)));
}

if (isMain(import.meta.url)) report('tidy', checkTidy(ROOT, projectFiles(ROOT)));
