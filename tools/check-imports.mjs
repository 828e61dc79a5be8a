/**
 * Why: who may import whom is what keeps the parts exchangeable: a store that knows an adapter, or a core that knows Node,
 * cannot be moved any more, and nobody sees it happen in a review. The table below is the rule of
 * docs/internals/ARCHITECTURE.md; this script holds the sources to it, and works out for each entry which npm packages a
 * user who imports it would need: only its declared peers and the package's dependencies.
 */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ScopeTracker, walk } from 'oxc-walker';
import { importedPackages, MOVED, PACKAGE, readEntries } from './lib/entries.mjs';
import { readJson, readText, walkFiles } from './lib/files.mjs';
import { pageRules } from './lib/page-rules.mjs';
import { lineOf, packageOf, parse, specifiersOf } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {import('./lib/parse.mjs').Specifier} Specifier */

/**
 * @typedef {object} Rule
 * @property {string} at the file (`system.ts`) or folder it is about, below src; `*` is any one name, and each is a part of its own; `.` is all that has no row of its own
 * @property {string[]} may files or folders below src it may import; `type:` in front: types only
 * @property {boolean} [apart] files of the folder may not import each other, except that `index.ts` gathers them
 * @property {'any' | string[]} [node] the `node:` modules it may import
 * @property {string[]} [lazyNode] the `node:` modules it may import by a dynamic import, on the way that needs them
 * @property {string[]} [packages] npm packages, or entries of them, that it may import
 * @property {boolean} [peerTypes] it may import types of the peers declared for the entry that stands in it
 * @property {string[]} [globals] names of globals that must not occur; `a.b` is a member, `new Date` is it without arguments
 */

const NODE_ONLY = [
  'process',
  'Buffer',
  'console',
  'global',
  'require',
  'setImmediate',
  '__dirname',
  '__filename',
];

/** Clocks, timers and randomness: the world passes them in, so that tests can pass virtual ones. */
const MACHINE = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'performance',
  'crypto',
  'Date.now',
  'new Date',
  'Math.random',
];

/** What a part must not name that has no machine under it. */
const PURE = [...NODE_ONLY, ...MACHINE];

/** Adapters convert, and decide nothing. */
const OF_ADAPTERS = [
  'core',
  'engine/attempt',
  'http',
  'http-node',
  'http-fetch',
  'http-call',
  'samekey',
  'type:engine',
  'type:ways',
];

/**
 * The first row that fits counts.
 * @type {Rule[]}
 */
const TABLE = [
  // The rooms of the engine, from the ground up: none knows those above it.
  { at: 'core', may: [], globals: PURE },
  { at: 'fingerprint', may: ['core'], globals: PURE },
  { at: 'store', may: ['core', 'fingerprint'], globals: PURE },
  { at: 'engine', may: ['core', 'fingerprint', 'store'], globals: PURE },
  { at: 'system.ts', may: ['core'] },
  // Whether a `fetch` comes from a handler only the async context and the diagnostics of the runtime can tell. They are fetched
  // from `globalThis.process`, where there is one: an import, even a lazy one, would put a Node module into entries for the web.
  {
    at: 'ways/unprotected-fetch.ts',
    may: ['type:engine'],
    globals: PURE.filter((name) => name !== 'process'),
  },
  { at: 'ways', may: ['core', 'fingerprint', 'store', 'engine', 'ways/unprotected-fetch'], globals: PURE },
  { at: 'samekey.ts', may: ['core', 'fingerprint', 'store', 'engine', 'system', 'ways'] },
  {
    at: 'index.ts',
    may: ['core', 'store', 'system', 'samekey', 'ways', 'type:fingerprint', 'type:engine', 'type:http'],
  },

  { at: 'http/profiles', may: ['core', 'http'], apart: true, globals: NODE_ONLY },
  // A route names its profile by a word: 'ietf', 'stripe'.
  {
    at: 'http',
    may: ['core', 'fingerprint', 'engine', 'http/profiles', 'ways'],
    packages: ['structured-headers'],
    globals: NODE_ONLY,
  },
  { at: 'http-node', may: ['core', 'engine/attempt', 'http', 'type:engine'], node: 'any' },
  { at: 'http-fetch', may: ['core', 'http', 'type:engine'], globals: NODE_ONLY },
  // What protocols without HTTP statuses have in common, around the flow of HTTP.
  { at: 'http-call', may: ['core', 'fingerprint', 'engine', 'http', 'samekey', 'ways'], globals: NODE_ONLY },
  { at: 'adapters/node', may: OF_ADAPTERS, node: ['node:http'] },
  { at: 'adapters/*', may: OF_ADAPTERS, peerTypes: true },

  { at: 'stores/sql', may: ['core', 'type:store'] },
  { at: 'stores/verbs', may: ['core', 'store'], globals: NODE_ONLY },
  {
    at: 'stores/sqlite',
    may: ['core', 'store', 'stores/sql', 'stores/verbs'],
    // Network file systems are refused, and only a database that is a file can lie on one; and only the async context can
    // tell that a claim is awaited inside a transaction on the same file.
    lazyNode: ['node:fs', 'node:fs/promises', 'node:async_hooks'],
  },
  // Ids of records and scripts are digests.
  {
    at: 'stores/redis',
    may: ['core', 'store', 'stores/sql', 'stores/verbs'],
    node: ['node:crypto', 'node:buffer'],
  },
  // Stores in front of a store, passed in; entries are signed, and there is one way to talk to clients of Redis.
  {
    at: 'stores/tiered',
    may: ['core', 'store', 'engine/replay-cache', 'system', 'stores/redis/client'],
    node: ['node:crypto'],
  },
  // Bodies in files are for whoever chooses them.
  {
    at: 'stores/dynamodb',
    may: ['core', 'fingerprint/sha256', 'store', 'stores/sql', 'stores/verbs'],
    lazyNode: ['node:fs/promises'],
  },
  { at: 'stores/*', may: ['core', 'store', 'stores/sql', 'stores/verbs'] },
  // What stores are written with, for those outside of this repository.
  { at: 'store-kit', may: ['core', 'store', 'stores/verbs'] },
  { at: 'tx/begin.ts', may: ['core'] },
  // Structural types only: neither a library nor a store.
  { at: 'tx/tx-handle.ts', may: ['core', 'type:store'] },
  { at: 'tx/pool.ts', may: [] },
  { at: 'tx/mysql-run.ts', may: ['core', 'type:store', 'tx/begin', 'tx/tx-handle'] },
  { at: 'tx/mysql-ask.ts', may: ['type:store', 'tx/tx-handle'] },
  {
    at: 'tx/*',
    may: ['core', 'type:store', 'tx/begin', 'tx/tx-handle', 'tx/mysql-ask', 'tx/mysql-run', 'tx/pool'],
  },

  // Frameworks are passed in and looked at as they are; how stacks of Express are read is known where Express is.
  { at: 'coverage', may: ['core', 'http/marker', 'adapters/express/layers'], globals: NODE_ONLY },
  { at: 'openapi', may: ['core', 'coverage', 'http/marker', 'http/problem', 'type:http'], globals: PURE },
  // Seals with the platform's cipher, around any store.
  { at: 'seal', may: ['core', 'store'], node: ['node:crypto'] },
  { at: 'dialects', may: ['type:http/dialect', 'http/profiles'], globals: PURE },
  { at: 'guard', may: ['core', 'type:store', 'system'], globals: PURE },
  // It listens to the services, and needs nothing of them but what their events look like.
  {
    at: 'metrics',
    may: ['core', 'store', 'system', 'type:engine', 'type:worker', 'type:janitor', 'type:reconcile'],
  },
  { at: 'lifecycle', may: ['core'] },
  { at: 'outbox', may: ['core', 'store', 'system', 'ways/enrolled'] },
  // What a worker pushes on are the operations of an instance.
  {
    at: 'worker',
    may: ['core', 'store', 'engine', 'janitor', 'lifecycle', 'outbox', 'samekey', 'system', 'ways'],
  },
  { at: 'janitor', may: ['core', 'store', 'lifecycle', 'samekey', 'system'] },
  { at: 'reconcile', may: ['core', 'store', 'engine', 'outbox', 'samekey', 'system', 'ways'] },
  { at: 'operator', may: ['core', 'fingerprint', 'store', 'engine', 'ways/steps'] },
  { at: MOVED.source.replace(/^src\//, ''), may: ['core/errors'] },
];

/**
 * The client: a browser must not download a server, and it depends on no package.
 * @type {Rule[]}
 */
const OF_CLIENT = [
  // Operations in files, for programs that are no browser.
  { at: 'node', may: ['type:pending'], node: ['node:crypto', 'node:fs/promises', 'node:path'] },
  { at: 'got', may: ['wrap', 'type:.'], node: ['node:stream'] },
  // Thin wrappers: libraries are passed in and typed structurally.
  { at: 'wrap', may: ['.'], globals: NODE_ONLY },
  { at: 'browser', may: ['.'], globals: NODE_ONLY },
  { at: '.', may: [], globals: NODE_ONLY.filter((name) => name !== 'console') }, // it warns by the console
];

/**
 * What of the command can be imported. Files that no row is about are the composition root: they may import what they need.
 * @type {Rule[]}
 */
const OF_CLI = [
  {
    at: 'verify/command',
    may: ['cli-error', 'operate/print', 'verify'],
    node: 'any',
    packages: ['xmlbuilder'],
  },
  // A black box for services in any language: it speaks HTTP, and knows nothing of engine or stores.
  {
    at: 'verify',
    may: [],
    node: ['node:http', 'node:https', 'node:crypto'],
    packages: ['samekey/internals/core/errors', 'samekey/internals/core/options'],
  },
];

/**
 * The row for a file below src, and the part it belongs to.
 * @param {string} path
 * @param {Rule[]} table
 * @returns {{ rule: Rule, part: string } | undefined}
 */
export function partOf(path, table = TABLE) {
  const names = path.split('/');
  for (const rule of table) {
    if (rule.at === '.') return { rule, part: '.' };
    const wanted = rule.at.split('/');
    if (wanted.length > names.length || !wanted.every((name, at) => name === '*' || name === names[at]))
      continue;
    // A folder of parts (`adapters/*`) holds folders: a file beside them belongs to none.
    if (wanted.at(-1) === '*' && names.length === wanted.length) continue;
    return { rule, part: rule.apart === true ? path : names.slice(0, wanted.length).join('/') };
  }
  return undefined;
}

/**
 * @param {string} target a path below src
 * @param {string} allowed a row's file or folder
 */
function isWithin(target, allowed) {
  return allowed === '.' || target === `${allowed}.ts` || target.startsWith(`${allowed}/`);
}

/**
 * Where a relative specifier leads: a path below src, or what is wrong with it.
 * @param {string} src
 * @param {string} file
 * @param {string} specifier
 * @returns {{ target: string } | { wrong: string }}
 */
function resolveRelative(src, file, specifier) {
  const target = posix.join(posix.dirname(file), specifier);
  if (target.startsWith('..')) return { wrong: `${specifier} leads out of src` };
  if (!target.endsWith('.ts')) return { wrong: `${specifier} must name the file with its ending .ts` };
  if (!existsSync(join(src, target))) return { wrong: `${specifier} does not exist` };
  return { target };
}

/**
 * What the table says against one specifier, or undefined.
 * @param {{ src: string, self: string, file: string, rule: Rule, part: string, table: Rule[], peers: Set<string> }} from
 * @param {Specifier} specifier
 * @returns {string | undefined}
 */
function judge(from, specifier) {
  const { rule, part, peers } = from;
  const { name, typeOnly, lazy } = specifier;
  if (name === null) return 'the specifier of an import must be a literal, so that it can be checked';
  if (name.startsWith('node:')) {
    if (rule.node === 'any' || (rule.node ?? []).includes(name)) return undefined;
    if ((rule.lazyNode ?? []).includes(name))
      return lazy ? undefined : `${part} may load ${name} by a dynamic import only`;
    return `${part} must not import ${name}`;
  }
  const npm = packageOf(name);
  if (npm !== undefined) {
    if (npm === from.self) return `import ${name} by its relative path: the package must not name itself`;
    if ((rule.packages ?? []).some((one) => one === npm || one === name)) return undefined;
    if (rule.peerTypes === true && peers.has(npm))
      return typeOnly ? undefined : `${part} may import types of ${npm} only: the user passes it in`;
    return `${part} must not import the package ${npm === 'samekey' ? name : npm}`;
  }
  const resolved = resolveRelative(from.src, from.file, name);
  if ('wrong' in resolved) return resolved.wrong;
  const other = partOf(resolved.target, from.table);
  if (other?.part === part) return undefined;
  if (rule.apart === true && posix.basename(from.file) === 'index.ts' && other?.rule === rule)
    return undefined;
  for (const may of rule.may) {
    const allowed = may.replace(/^type:/, '');
    if (!isWithin(resolved.target, allowed)) continue;
    if (rule.apart === true && other?.rule === rule) continue;
    if (may.startsWith('type:') && !typeOnly) return `${part} may import types of ${allowed} only`;
    return undefined;
  }
  return `${part} must not import ${other?.part ?? resolved.target} (${rule.may.length === 0 ? 'it stands alone' : `it may import ${rule.may.join(', ')}`})`;
}

/**
 * Uses of the named globals. Names that the file declares itself are not globals.
 * @param {string} file
 * @param {string} text
 * @param {string[]} names
 * @returns {{ name: string, line: number }[]}
 */
export function globalsUsed(file, text, names) {
  const program = parse(file, text);
  const scopeTracker = new ScopeTracker({ preserveExitedScopes: true });
  walk(program, { scopeTracker });
  scopeTracker.freeze();
  /** @type {{ name: string, line: number }[]} */
  const used = [];
  /** @param {string} name @param {number} offset */
  const meet = (name, offset) => {
    if (names.includes(name)) used.push({ name, line: lineOf(text, offset) });
  };
  walk(program, {
    scopeTracker,
    enter(node, parent) {
      if (node.type === 'MemberExpression' && !node.computed && node.object.type === 'Identifier') {
        const member = node.property.type === 'Identifier' ? node.property.name : '';
        if (node.object.name === 'globalThis') meet(member, node.start);
        else if (!scopeTracker.isDeclared(node.object.name))
          meet(`${node.object.name}.${member}`, node.start);
      } else if (
        (node.type === 'NewExpression' || node.type === 'CallExpression') &&
        node.callee.type === 'Identifier' &&
        node.callee.name === 'Date' &&
        node.arguments.length === 0
      ) {
        meet('new Date', node.start);
      } else if (
        node.type === 'Identifier' &&
        !isPlainName(node, parent) &&
        !scopeTracker.isDeclared(node.name)
      ) {
        meet(node.name, node.start);
      }
    },
  });
  return used;
}

/**
 * Whether an identifier is only a word (a member's or property's name), not a reference.
 * @param {import('oxc-parser').Node} node
 * @param {import('oxc-parser').Node | null} parent
 */
function isPlainName(node, parent) {
  if (parent === null) return false;
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the kinds of node in which a word is only a word
  switch (parent.type) {
    case 'MemberExpression':
      return parent.property === node && !parent.computed;
    case 'Property':
      // Of a shorthand the walker meets both the key and the value.
      return parent.key === node && !parent.computed;
    case 'MethodDefinition':
    case 'PropertyDefinition':
    case 'TSPropertySignature':
      return parent.key === node && !parent.computed;
    // The other words of a signature are its parameters' names, which are documentation.
    case 'TSMethodSignature':
      return !(parent.key === node && parent.computed);
    case 'TSQualifiedName':
      return parent.right === node;
    case 'TSEnumMember':
    case 'LabeledStatement':
    case 'ImportSpecifier':
    case 'ExportSpecifier':
    case 'TSNamedTupleMember':
      return true;
    case 'TSFunctionType':
    case 'TSCallSignatureDeclaration':
    case 'TSConstructorType':
    case 'TSTypeParameter':
    case 'TSDeclareFunction':
    case 'TSEmptyBodyFunctionExpression':
      return true;
    default:
      return false;
  }
}

/** The table of each package that is imported; without one it may import what its manifest names. @type {Record<string, Rule[]>} */
const TABLES = {
  [PACKAGE]: TABLE,
  'packages/client': OF_CLIENT,
  'packages/cli': OF_CLI,
  ...pageRules(PURE, NODE_ONLY),
};

/**
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkImports(root) {
  return Object.entries(TABLES).flatMap(([folder, table]) =>
    existsSync(join(root, folder, 'src')) ? importsOf(root, folder, table) : [],
  );
}

/**
 * @param {string} root
 * @param {string} folder
 * @param {Rule[]} table
 * @returns {Problem[]}
 */
function importsOf(root, folder, table) {
  const src = join(root, folder, 'src');
  const self = readJson(root, `${folder}/package.json`).name;
  // A package that nobody imports has none.
  const entries = importedPackages(root).includes(folder) ? readEntries(root, folder) : [];
  /** @type {Problem[]} */
  const problems = [];
  /** @type {Map<string, Specifier[]>} */
  const graph = new Map();
  for (const file of walkFiles(src)) {
    const where = `${folder}/src/${file}`;
    const found = partOf(file, table);
    if (found === undefined) {
      if (table === OF_CLI) continue;
      problems.push({
        file: where,
        message: 'belongs to no row of the table in tools/check-imports.mjs: add one',
      });
      continue;
    }
    if (!file.endsWith('.ts')) continue;
    const text = readText(src, file);
    const specifiers = specifiersOf(file, text);
    graph.set(file, specifiers);
    const peers = new Set(
      entries
        .filter((entry) => partOf(entry.source.replace(/^src\//, ''), table)?.part === found.part)
        .flatMap((entry) => Object.keys(entry.peers)),
    );
    for (const specifier of specifiers) {
      const message = judge({ src, self, file, ...found, table, peers }, specifier);
      if (message !== undefined) problems.push({ file: where, line: specifier.line, message });
    }
    for (const { name, line } of globalsUsed(file, text, found.rule.globals ?? []))
      problems.push({ file: where, line, message: `${found.part} must not use ${name}: it is passed in` });
  }
  return [...problems, ...checkClosures(root, folder, entries, graph)];
}

/**
 * @param {string} root
 * @param {string} folder
 * @param {import('./lib/entries.mjs').Entry[]} entries
 * @param {Map<string, Specifier[]>} graph
 * @returns {Problem[]}
 */
function checkClosures(root, folder, entries, graph) {
  const { dependencies: needed = {}, peerDependencies = {} } = readJson(root, `${folder}/package.json`);
  const dependencies = Object.keys({ ...needed, ...('samekey' in peerDependencies && { samekey: '' }) });
  /** @type {Problem[]} */
  const problems = [];
  for (const entry of entries) {
    const start = entry.source.replace(/^src\//, '');
    for (const { file, specifier } of closureOf(graph, start)) {
      const name = String(specifier.name);
      const where = { file: `${folder}/src/${file}`, line: specifier.line };
      const npm = packageOf(name);
      if (npm !== undefined && !dependencies.includes(npm) && !(npm in entry.peers))
        problems.push({
          ...where,
          message: `${entry.name} reaches ${npm}, which is not a declared peer of it`,
        });
      if (entry.web === true && name.startsWith('node:'))
        problems.push({ ...where, message: `${entry.name} must run without Node, but reaches ${name}` });
    }
  }
  return problems;
}

/**
 * Every specifier that leads out of the package, from one module on.
 * @param {Map<string, Specifier[]>} graph
 * @param {string} start
 * @returns {{ file: string, specifier: Specifier }[]}
 */
function closureOf(graph, start) {
  /** @type {{ file: string, specifier: Specifier }[]} */
  const reached = [];
  const seen = new Set([start]);
  for (const file of seen) {
    for (const specifier of graph.get(file) ?? []) {
      if (specifier.name === null) continue;
      if (specifier.name.startsWith('.')) seen.add(posix.join(posix.dirname(file), specifier.name));
      else reached.push({ file, specifier });
    }
  }
  return reached;
}

if (isMain(import.meta.url)) report('imports', checkImports(ROOT));
