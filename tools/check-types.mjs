/**
 * Why: what users get is the tarball, not the repository. Checked here on what was built: the declarations leak no package
 * that is not declared, no `any`, and no Node type where there may be no Node; publint and attw find nothing in the packed
 * package; every entry loads from the tarball in a project that has nothing else, and compiles there without skipLibCheck.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { walk } from 'oxc-walker';
import { importedPackages, MOVED, PACKAGE, readEntries } from './lib/entries.mjs';
import { readJson, readText } from './lib/files.mjs';
import { lineOf, packageOf, parse, specifiersOf } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';
import { binOf, run, tsc } from './lib/run.mjs';
import { packFolder } from './pack.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {import('./lib/entries.mjs').Entry} Entry */

/** Folders that must run without Node, whichever entry reaches them. */
const WEB = /^dist\/(?:core|fingerprint|store|engine|ways|http|adapters\/fetch)\//;
const NODE_TYPES = ['Buffer', 'NodeJS'];

/**
 * The declarations an entry's users see.
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkDeclarations(root) {
  return importedPackages(root).flatMap((folder) => declarationsOf(root, folder));
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {Problem[]}
 */
function declarationsOf(root, folder) {
  const { dependencies: needed = {}, peerDependencies = {} } = readJson(root, `${folder}/package.json`);
  const sisters = Object.keys(peerDependencies).filter((name) => /^(?:@samekey\/|samekey$)/.test(name));
  const dependencies = [...Object.keys(needed), ...sisters];
  /** @type {Map<string, Problem>} */
  const problems = new Map();
  for (const entry of readEntries(root, folder)) {
    const start = entry.source.replace(/^src\//, 'dist/').replace(/\.ts$/, '.d.ts');
    const seen = new Set([start]);
    for (const file of seen) {
      const path = `${folder}/${file}`;
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
    /** @type {Problem[]} */
    const problems = [];
    /** @type {Map<string, string>} */
    const tarballs = new Map();
    for (const packed of importedPackages(root)) {
      const { tarball, files } = await pack(root, packed, folder);
      tarballs.set(packed, tarball);
      problems.push(...checkContents(root, files, packed), ...(await lintTarball(packed, tarball)));
    }
    return [...problems, ...(await checkInstalled(root, folder, tarballs))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A package as it is published, as npm packs it.
 * @param {string} root
 * @param {string} packed
 * @param {string} folder
 * @returns {Promise<{ tarball: string, files: string[] }>}
 */
async function pack(root, packed, folder) {
  const from = packFolder(root, packed, join(folder, 'published'));
  const command = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, from];
  const { code, output } = await run('npm', command, { cwd: folder });
  if (code !== 0) throw new Error(`npm pack of ${packed} failed: ${output}`);
  // npm 10 and 11 print a list, later ones an object by name.
  const [info] = Object.values(JSON.parse(output.slice(output.search(/^[[{]/m))));
  return {
    tarball: join(folder, info.filename),
    files: info.files.map((/** @type {{ path: string }} */ file) => file.path),
  };
}

/**
 * @param {string} packed
 * @param {string} tarball
 * @returns {Promise<Problem[]>}
 */
async function lintTarball(packed, tarball) {
  const attw = [binOf('@arethetypeswrong/cli', 'attw'), tarball, '--profile', 'esm-only'];
  // What only sister packages import has no types of its own for every path that a pattern fits.
  const own = ['--exclude-entrypoints', './internals/*', '--no-emoji', '--no-color'];
  const commands = { publint: [binOf('publint'), 'run', tarball, '--strict'], attw: [...attw, ...own] };
  /** @type {Problem[]} */
  const problems = [];
  for (const [name, command] of Object.entries(commands)) {
    const { code, output } = await run(process.execPath, command);
    if (code !== 0) problems.push({ file: packed, message: `${name}: ${output.trim()}` });
  }
  return problems;
}

/**
 * Nothing stale, nothing of the build's own, and the licence.
 * @param {string} root
 * @param {string[]} files
 * @param {string} [packed]
 * @returns {Problem[]}
 */
export function checkContents(root, files, packed = PACKAGE) {
  /** @type {Problem[]} */
  const problems = [];
  for (const file of files) {
    const path = `${packed}/${file}`;
    const built = /^dist\/(.*?)(?:\.d\.ts|\.js)$/.exec(file);
    if (built !== null) {
      if (!existsSync(join(root, packed, 'src', `${built[1]}.ts`)))
        problems.push({
          file: path,
          message: 'is packed, but its source is gone: remove dist and build again',
        });
    } else if (!/^(?:package\.json|README\.md|LICENSE|bin\/.*)$/.test(file))
      problems.push({ file: path, message: 'must not be packed: correct tools/pack.mjs' });
  }
  const page = packed === 'packages/console' ? ['dist/page/console.js'] : [];
  for (const wanted of ['LICENSE', 'README.md', ...page]) {
    if (!files.includes(wanted))
      problems.push({ file: `${packed}/${wanted}`, message: 'is not in the packed package' });
  }
  return problems;
}

/**
 * Without npm and its network: the tarball is unpacked, its dependencies are copied from this repository, and nothing else
 * is there. Types of peers are linked for the compiler alone.
 * @param {string} root
 * @param {string} folder
 * @param {Map<string, string>} tarballs by folder of the package
 * @returns {Promise<Problem[]>}
 */
async function checkInstalled(root, folder, tarballs) {
  const modules = join(folder, 'project/node_modules');
  const project = join(folder, 'project');
  for (const [packed, tarball] of tarballs) {
    const installed = join(modules, readJson(root, `${packed}/package.json`).name);
    mkdirSync(installed, { recursive: true });
    const unpacked = await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1']);
    if (unpacked.code !== 0) return [{ file: packed, message: `tar: ${unpacked.output}` }];
    copyDependencies(root, modules, join(root, packed));
  }
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'fresh', type: 'module', private: true }),
  );

  /** @type {Problem[]} */
  const problems = [];
  const entries = [...tarballs.keys()].flatMap((packed) => readEntries(root, packed));
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
  return [...problems, ...(await checkMoved(root, project)), ...(await compileInstalled(project, entries))];
}

/**
 * An entry that is a package of its own now says so, to an import of one of its names.
 * @param {string} root
 * @param {string} project
 * @returns {Promise<Problem[]>}
 */
async function checkMoved(root, project) {
  if (!existsSync(join(root, PACKAGE, MOVED.source))) return [];
  const [name] = /(?<=moved as )\w+/.exec(readText(root, `${PACKAGE}/${MOVED.source}`)) ?? [];
  /** @type {Problem[]} */
  const problems = [];
  for (const path of MOVED.paths.map((each) => each.replace('*', 'any'))) {
    const program = `import { ${name} } from 'samekey${path.slice(1)}'; console.log(${name});`;
    const { output } = await run(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: project,
    });
    if (!output.includes('ERR_SAMEKEY_MOVED'))
      problems.push({ file: `${PACKAGE}/${MOVED.source}`, message: `${path} ends with: ${output.trim()}` });
  }
  return problems;
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
    if (existsSync(join(ROOT, 'node_modules/@types', peer))) continue;
    // Of a scope, such as @nestjs/common.
    mkdirSync(join(project, 'node_modules', peer, '..'), { recursive: true });
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
      .filter((line) => line !== '' && !/node_modules\/(?!@?samekey\/)/.test(line));
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
