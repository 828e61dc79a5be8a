/**
 * Why: what users get is the tarball, not the repository. Checked here on what was built: the declarations leak no package
 * that is not declared, no `any`, and no Node type where there may be no Node; publint and attw find nothing in the packed
 * package; every entry loads from the tarball in a project that has nothing else, and compiles there without skipLibCheck.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { walk } from 'oxc-walker';
import { PACKAGE, readEntries } from './lib/entries.mjs';
import { readJson, readText } from './lib/files.mjs';
import { lineOf, packageOf, parse, specifiersOf } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';
import { binOf, run, tsc } from './lib/run.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {import('./lib/entries.mjs').Entry} Entry */

/** Folders that must run without Node, whichever entry reaches them. */
const WEB = /^dist\/(?:core|fingerprint|store|engine|ways|http|client|adapters\/fetch)\//;
const NODE_TYPES = ['Buffer', 'NodeJS'];

/**
 * The declarations an entry's users see.
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkDeclarations(root) {
  const dependencies = Object.keys(readJson(root, `${PACKAGE}/package.json`).dependencies ?? {});
  /** @type {Map<string, Problem>} */
  const problems = new Map();
  for (const entry of readEntries(root)) {
    const start = entry.source.replace(/^src\//, 'dist/').replace(/\.ts$/, '.d.ts');
    const seen = new Set([start]);
    for (const file of seen) {
      const path = `${PACKAGE}/${file}`;
      /** @param {number | undefined} line @param {string} message */
      const add = (line, message) =>
        problems.set(`${path} ${line} ${message}`, {
          file: path,
          ...(line === undefined ? {} : { line }),
          message,
        });
      if (!existsSync(join(root, path))) {
        add(undefined, `${entry.name}: the declaration was not built`);
        continue;
      }
      const text = readText(root, path);
      const web = entry.web === true || WEB.test(file);
      for (const { name, line } of specifiersOf(file, text)) {
        if (name === null) continue;
        const npm = packageOf(name);
        if (name.startsWith('.')) seen.add(declarationOf(file, name));
        else if (web && (name.startsWith('node:') || npm === 'node'))
          add(line, `${entry.name} must do without Node types, but its declarations name ${name}`);
        else if (npm !== undefined && npm !== 'node' && !dependencies.includes(npm) && !(npm in entry.peers))
          add(line, `${entry.name}: its declarations name ${npm}, which is not a declared peer of it`);
      }
      for (const { word, line } of leaks(file, text)) {
        if (word === 'any') add(line, 'a declaration says any: say unknown, or what it is');
        else if (web)
          add(line, `${entry.name} must do without Node types, but its declarations name ${word}`);
      }
    }
  }
  return [...problems.values()];
}

/**
 * @param {string} file
 * @param {string} specifier
 */
function declarationOf(file, specifier) {
  return posix.join(posix.dirname(file), specifier).replace(/\.(?:js|ts)$/, '.d.ts');
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {{ word: string, line: number }[]}
 */
function leaks(file, text) {
  /** @type {{ word: string, line: number }[]} */
  const found = [];
  walk(parse(file, text), {
    enter(node) {
      if (node.type === 'TSAnyKeyword') found.push({ word: 'any', line: lineOf(text, node.start) });
      else if (node.type === 'Identifier' && NODE_TYPES.includes(node.name))
        found.push({ word: node.name, line: lineOf(text, node.start) });
    },
  });
  return found;
}

/**
 * The packed package: what is in it, what publint and attw say, and whether every entry loads and compiles.
 * @param {string} root
 * @returns {Promise<Problem[]>}
 */
export async function checkPackage(root) {
  const folder = mkdtempSync(join(tmpdir(), 'samekey-pack-'));
  try {
    const packed = await run(
      'npm',
      ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, join(root, PACKAGE)],
      { cwd: folder },
    );
    if (packed.code !== 0) return [{ file: PACKAGE, message: `npm pack failed: ${packed.output}` }];
    const listed = JSON.parse(packed.output.slice(packed.output.search(/^[[{]/m)));
    // npm 10 and 11 print a list, later ones an object by name.
    const [info] = Object.values(listed);
    const tarball = join(folder, info.filename);
    return [
      ...checkContents(
        root,
        info.files.map((/** @type {{ path: string }} */ file) => file.path),
      ),
      ...(await lint('publint', [binOf('publint'), 'run', tarball, '--strict'])),
      ...(await lint('attw', [
        binOf('@arethetypeswrong/cli', 'attw'),
        tarball,
        '--profile',
        'esm-only',
        '--no-emoji',
        '--no-color',
      ])),
      ...(await checkInstalled(root, folder, tarball)),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} name
 * @param {string[]} command
 * @returns {Promise<Problem[]>}
 */
async function lint(name, command) {
  const { code, output } = await run(process.execPath, command);
  return code === 0 ? [] : [{ file: PACKAGE, message: `${name}: ${output.trim()}` }];
}

/**
 * Nothing stale, nothing of the build's own, and the licence.
 * @param {string} root
 * @param {string[]} files
 * @returns {Problem[]}
 */
export function checkContents(root, files) {
  /** @type {Problem[]} */
  const problems = [];
  for (const file of files) {
    const path = `${PACKAGE}/${file}`;
    const built = /^dist\/(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(file);
    if (built !== null) {
      if (!existsSync(join(root, PACKAGE, 'src', `${built[1]}.ts`)))
        problems.push({
          file: path,
          message: 'is packed, but its source is gone: remove dist and build again',
        });
    } else if (!/^(?:src\/.*\.ts|src\/.*\.sql|package\.json|README\.md|LICENSE)$/.test(file))
      problems.push({ file: path, message: 'must not be packed: correct "files" of the manifest' });
  }
  for (const wanted of ['LICENSE', 'README.md']) {
    if (!files.includes(wanted))
      problems.push({ file: `${PACKAGE}/${wanted}`, message: 'is not in the packed package' });
  }
  return problems;
}

/**
 * Without npm and its network: the tarball is unpacked, its dependencies are copied from this repository, and nothing else
 * is there. Types of peers are linked for the compiler alone.
 * @param {string} root
 * @param {string} folder
 * @param {string} tarball
 * @returns {Promise<Problem[]>}
 */
async function checkInstalled(root, folder, tarball) {
  const modules = join(folder, 'project/node_modules');
  const project = join(folder, 'project');
  const installed = join(modules, 'samekey');
  mkdirSync(installed, { recursive: true });
  const unpacked = await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1']);
  if (unpacked.code !== 0) return [{ file: PACKAGE, message: `tar: ${unpacked.output}` }];
  copyDependencies(root, modules, join(root, PACKAGE));
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'fresh', type: 'module', private: true }),
  );

  /** @type {Problem[]} */
  const problems = [];
  const entries = readEntries(root);
  for (const { name } of entries) {
    const program = `const m = await import(${JSON.stringify(name)}); if (Object.keys(m).length === 0) throw new Error('no exports');`;
    const { code, output } = await run(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: project,
    });
    if (code !== 0)
      problems.push({
        file: PACKAGE,
        message: `${name} does not load from the tarball: ${firstError(output)}`,
      });
  }
  return [...problems, ...(await compileInstalled(project, entries))];
}

/**
 * The line of a crashed program that says why.
 * @param {string} output
 */
function firstError(output) {
  return output.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? output.trim();
}

/**
 * @param {string} project
 * @param {Entry[]} entries
 * @returns {Promise<Problem[]>}
 */
async function compileInstalled(project, entries) {
  symlinkSync(join(ROOT, 'node_modules/@types'), join(project, 'node_modules/@types'), 'dir');
  for (const peer of new Set(entries.flatMap(({ peers }) => Object.keys(peers)))) {
    // Some bring their types themselves.
    if (!existsSync(join(ROOT, 'node_modules/@types', peer)))
      symlinkSync(join(ROOT, 'node_modules', peer), join(project, 'node_modules', peer), 'dir');
  }
  const lines = entries.map(({ name }, at) => `export * as entry${at} from ${JSON.stringify(name)};`);
  writeFileSync(join(project, 'all.ts'), `${lines.join('\n')}\n`);
  const web = entries.filter((entry) => entry.web === true);
  writeFileSync(
    join(project, 'web.ts'),
    `${web.map(({ name }, at) => `export * as entry${at} from ${JSON.stringify(name)};`).join('\n')}\n`,
  );
  /** @type {Problem[]} */
  const problems = [];
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2023', '--lib'];
  for (const options of [
    [...strict, 'es2023,dom,dom.iterable', '--module', 'nodenext', '--types', 'node', 'all.ts'],
    [...strict, 'es2023,dom,dom.iterable', '--module', 'esnext', '--moduleResolution', 'bundler', 'web.ts'],
  ]) {
    const { code, output } = await tsc([...options, '--skipLibCheck', 'false'], { cwd: project });
    // Faults of other packages' declarations are not ours to mend.
    const ours = output
      .split('\n')
      .filter((line) => line !== '' && !/node_modules\/(?!samekey\/)/.test(line));
    if (code !== 0 && (ours.length > 0 || output === ''))
      problems.push({ file: PACKAGE, message: `does not compile from the tarball: ${ours.join('\n')}` });
  }
  return problems;
}

/**
 * @param {string} root
 * @param {string} modules
 * @param {string} manifestFolder
 */
function copyDependencies(root, modules, manifestFolder) {
  for (const name of Object.keys(readJson(manifestFolder, 'package.json').dependencies ?? {})) {
    const target = join(modules, name);
    if (existsSync(target)) continue;
    const own = join(manifestFolder, 'node_modules', name);
    const source = existsSync(own) ? own : join(root, 'node_modules', name);
    cpSync(source, target, { recursive: true, dereference: true });
    copyDependencies(root, modules, source);
  }
}

if (isMain(import.meta.url)) report('types', [...checkDeclarations(ROOT), ...(await checkPackage(ROOT))]);
