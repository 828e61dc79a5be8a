/**
 * Why: an example that does not compile, or a link that leads nowhere, costs every reader what it saves one writer. Every
 * `ts` block of README.md and docs/ is compiled against the sources, under the strict options of the project; every relative
 * link and every #anchor of the project's Markdown must resolve. Links to other sites are not fetched: a check that fails
 * because of a stranger's server teaches people to ignore checks.
 *
 * A block whose first line is the comment `continues` is compiled together with the blocks before it on its page.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { importedPackages, readEntries } from './lib/entries.mjs';
import { buildFolder, readText, walkFiles } from './lib/files.mjs';
import { readMarkdown } from './lib/markdown.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';
import { tsc } from './lib/run.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */
/** @typedef {import('./lib/markdown.mjs').Block} Block */

const CONTINUES = /^\/\/ continues\b/;

/**
 * The project's Markdown.
 * @param {string} root
 */
function pages(root) {
  return walkFiles(root).filter((file) => file.endsWith('.md'));
}

/**
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkLinks(root) {
  /** @type {Problem[]} */
  const problems = [];
  for (const file of pages(root)) {
    for (const { url, line } of readMarkdown(readText(root, file)).links) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(url)) continue;
      const [path = '', anchor] = url.split('#');
      const target = path === '' ? file : posix.join(posix.dirname(file), decodeURIComponent(path));
      if (url.startsWith('/') || target.startsWith('..') || !existsSync(join(root, target)))
        problems.push({ file, line, message: `the link ${url} leads nowhere` });
      else if (anchor !== undefined && target.endsWith('.md')) {
        if (!readMarkdown(readText(root, target)).anchors.has(anchor))
          problems.push({ file, line, message: `${target} has no heading #${anchor}` });
      }
    }
  }
  return problems;
}

/**
 * The programs of a page: its `ts` blocks, those that continue joined to those before. Every line keeps its number, so that the
 * compiler's complaints lead to the page.
 * @param {string} text
 * @returns {{ programs: string[], problems: { line: number, message: string }[] }}
 */
export function programsOf(text) {
  /** @type {string[][]} */
  const programs = [];
  /** @type {{ line: number, message: string }[]} */
  const problems = [];
  for (const block of readMarkdown(text).blocks) {
    if (!['ts', 'typescript'].includes(block.lang)) continue;
    if (block.meta !== '')
      problems.push({
        line: block.line - 1,
        message: `every ts block is compiled: \`${block.meta}\` is not known`,
      });
    if (!CONTINUES.test(block.code) || programs.length === 0) {
      if (CONTINUES.test(block.code))
        problems.push({ line: block.line, message: 'there is no block before this one to continue' });
      programs.push([]);
    }
    const program = /** @type {string[]} */ (programs.at(-1));
    while (program.length < block.line - 1) program.push('');
    program.push(...block.code.split('\n'));
  }
  return { programs: programs.map((lines) => `${lines.join('\n')}\n`), problems };
}

/**
 * @param {string} root
 * @returns {Promise<Problem[]>}
 */
export async function checkBlocks(root) {
  /** @type {Problem[]} */
  const problems = [];
  /** @type {Map<string, string>} */
  const origin = new Map();
  const folder = buildFolder(root, 'docs');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    for (const file of pages(root)) {
      if (file !== 'README.md' && !file.startsWith('docs/')) continue;
      const found = programsOf(readText(root, file));
      problems.push(...found.problems.map((problem) => ({ file, ...problem })));
      for (const [at, program] of found.programs.entries()) {
        const name = `${file.replace(/\.md$/, '').replaceAll('/', '__')}.${at}.ts`;
        origin.set(name, file);
        writeFileSync(join(folder, name), program);
      }
    }
    if (origin.size === 0) return problems;
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig(), null, 2));
    const { code, output } = await tsc(['-p', folder], { cwd: folder });
    for (const line of output.split('\n')) {
      const match = /^(?<name>[^(\s][^(]*)\((?<line>\d+),\d+\): (?<message>error .*)$/.exec(line);
      const { name = '', line: at = '', message = line.trim() } = match?.groups ?? {};
      const file = origin.get(posix.basename(name));
      const last = problems.at(-1);
      if (file !== undefined) problems.push({ file, line: Number(at), message });
      // The compiler goes on about its last complaint in indented lines.
      else if (line.startsWith(' ') && last !== undefined) last.message += `\n${line}`;
      else if (message !== '') problems.push({ file: name === '' ? 'docs' : name, message });
    }
    if (code !== 0 && problems.length === 0) problems.push({ file: 'docs', message: 'the compiler failed' });
    return problems;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The options of the project, for programs that are only looked at. */
export function tsconfig() {
  return {
    extends: join(ROOT, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: true,
      composite: false,
      incremental: false,
      declaration: false,
      declarationMap: false,
      isolatedDeclarations: false,
      // Those of NestJS are of the older kind.
      experimentalDecorators: true,
      customConditions: ['@samekey/source'],
      // The entries as they are listed, also where a package is new and not yet linked.
      paths: Object.fromEntries(
        importedPackages(ROOT).flatMap((folder) =>
          readEntries(ROOT, folder).map(({ name, source }) => [name, [join(ROOT, folder, source)]]),
        ),
      ),
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    // Node 20's types do not know node:sqlite, which the documentation shows for newer versions.
    files: [join(ROOT, 'node_modules/node-22-types/sqlite.d.ts')],
    include: ['*.ts'],
  };
}

if (isMain(import.meta.url)) report('docs', [...checkLinks(ROOT), ...(await checkBlocks(ROOT))]);
