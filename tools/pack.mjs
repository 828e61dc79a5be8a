/**
 * Why: what is published is less than what is built. Users neither step through our sources nor compile them. So these stay here: maps,
 * comments of the JavaScript, on modules, and on functions that no entry gives out, most of the indentation, declarations that no entry
 * reaches, and the conditions that only this repository resolves. The other comments of declarations go along: editors show them.
 *
 *   node tools/pack.mjs        after `npm run build`: writes each package as it is published to .build/pack/<folder>
 */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseSync } from 'oxc-parser';
import { walk } from 'oxc-walker';
import { PUBLISHED } from './lib/entries.mjs';
import { buildFolder, readJson, readText, walkFiles } from './lib/files.mjs';
import { packageOf, specifiersOf } from './lib/parse.mjs';
import { isMain, ROOT } from './lib/report.mjs';

/** What a manifest holds for this repository alone. */
const OWN_CONDITION = '@samekey/source';
const OWN_MEMBERS = ['devDependencies', 'publishConfig', 'scripts'];

/**
 * A module without its comments, and without the lines that only held them. What a bundler reads (`@__PURE__`) stays.
 * @param {string} file
 * @param {string} text
 */
export function withoutComments(file, text) {
  let out = '';
  let from = 0;
  for (const { start, end, value } of parseSync(file, text, { sourceType: 'module' }).comments) {
    if (value.includes('__PURE__')) continue;
    out += text.slice(from, start);
    from = end;
    const lineStart = out.lastIndexOf('\n') + 1;
    // A comment alone in its lines takes them along.
    if (out.slice(lineStart).trim() === '' && /^[ \t]*(?:\n|$)/u.test(text.slice(end))) {
      out = out.slice(0, lineStart);
      from = text.indexOf('\n', end) + 1 || text.length;
    }
  }
  return (out + text.slice(from)).replace(/[ \t]+$/gmu, '');
}

/**
 * A module with one blank for each depth: the compiler writes four, and three of them are a fourteenth of a package. Lines that
 * begin inside of a text stay as they are.
 * @param {string} file
 * @param {string} text
 */
export function narrowed(file, text) {
  /** @type {{ start: number, end: number }[]} */
  const texts = [];
  walk(parseSync(file, text, { sourceType: 'module' }).program, {
    enter(node) {
      if (node.type === 'TemplateElement' || node.type === 'Literal')
        texts.push({ start: node.start, end: node.end });
    },
  });
  return text.replace(/^(?: {2})+/gmu, (blanks, /** @type {number} */ at) =>
    texts.some(({ start, end }) => start < at && at <= end)
      ? blanks
      : ' '.repeat(Math.ceil(blanks.length / 4)),
  );
}

/**
 * A module with short branches in their line: the compiler gives each a line of its own.
 * @param {string} file
 * @param {string} text
 */
export function joined(file, text) {
  /** @type {{ from: number, to: number }[]} */
  const gaps = [];
  walk(parseSync(file, text, { sourceType: 'module' }).program, {
    enter(node) {
      const branches =
        node.type === 'IfStatement'
          ? [node.consequent, node.alternate]
          : node.type === 'ForOfStatement' || node.type === 'ForStatement'
            ? [node.body]
            : [];
      for (const branch of branches) {
        const [, blanks = ''] = /(?:\)|else)(\s+)$/u.exec(text.slice(node.start, branch?.start)) ?? [];
        if (branch && blanks !== '') gaps.push({ from: branch.start - blanks.length, to: branch.start });
      }
    },
  });
  let out = '';
  let at = 0;
  for (const { from, to } of gaps.toSorted((a, b) => a.from - b.from)) {
    out += `${text.slice(at, from)} `;
    at = to;
  }
  return out + text.slice(at);
}

/**
 * Declarations that say once what is imported: in a declaration nothing is imported but types, whatever each of them says.
 * @param {string} text
 */
export function plainImports(text) {
  return text.replace(/^import (?:type )?\{[^}]*\}(?= from )/gmu, (names) =>
    names.replace(/\btype (?=[\w$])/gu, ''),
  );
}

/**
 * Declarations without the comment on their module, which is for readers of the sources: no editor shows it. A comment that
 * stands right before a declaration is that one's own, and stays.
 * @param {string} text
 */
export function withoutHeader(text) {
  return text.replace(
    /^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?=import |export \*|export (?:type )?\{|\/\*\*)/u,
    '',
  );
}

/**
 * Declarations without the comments on functions and constants that no entry gives out: nobody names them, so no editor shows
 * what is said of them. Types keep theirs, because they are met as parts of others.
 * @param {string} text
 * @param {ReadonlySet<string>} shown names that entries give out
 */
export function withoutHidden(text, shown) {
  return text.replace(
    /^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?=export declare (?:function|const) ([\w$]+))/gmu,
    (comment, /** @type {string} */ name) => (shown.has(name) ? comment : ''),
  );
}

/**
 * Names that a module gives on from others.
 * @param {string} text
 */
export function namesGivenOn(text) {
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\} from/gmu)].flatMap(([, names = '']) =>
    names.split(',').map(
      (name) =>
        name
          .trim()
          .replace(/^type /u, '')
          .split(' as ')[0] ?? '',
    ),
  );
}

/**
 * The manifest as it is published.
 * @param {Record<string, any>} manifest
 */
export function publishedManifest(manifest) {
  const kept = Object.fromEntries(Object.entries(manifest).filter(([name]) => !OWN_MEMBERS.includes(name)));
  if (kept['exports'] === undefined) return kept;
  const exported = Object.entries(kept['exports']).map(([path, conditions]) => [
    path,
    Object.fromEntries(Object.entries(conditions).filter(([name]) => name !== OWN_CONDITION)),
  ]);
  return { ...kept, exports: Object.fromEntries(exported) };
}

/** What the other packages of this repository may import of `samekey` beyond its entries; not for users. */
const INTERNALS = 'samekey/internals/';

/**
 * The declarations of a package that its users, or its sisters, can reach.
 * @param {string} root
 * @param {string} folder
 * @returns {Set<string>}
 */
function reachedDeclarations(root, folder) {
  const { exports: exported = {} } = readJson(root, `${folder}/package.json`);
  const fromEntries = Object.values(exported)
    .map((conditions) => posix.normalize(conditions.types))
    .filter((file) => !file.includes('*'));
  const sisters = PUBLISHED.filter((each) => each !== folder && existsSync(join(root, each)));
  const fromSisters = (folder === PUBLISHED[0] ? sisters : []).flatMap((sister) =>
    [...reachedDeclarations(root, sister)].flatMap((file) =>
      specifiersOf(file, readText(root, `${sister}/${file}`)).flatMap(({ name }) =>
        name?.startsWith(INTERNALS) === true ? [`dist/${name.slice(INTERNALS.length)}.d.ts`] : [],
      ),
    ),
  );
  const reached = new Set([...fromEntries, ...fromSisters]);
  for (const file of reached) {
    // What is not there is found where the packed package is compiled.
    if (!existsSync(join(root, folder, file))) continue;
    for (const { name } of specifiersOf(file, readText(root, `${folder}/${file}`))) {
      if (name === null || packageOf(name) !== undefined || name.startsWith('node:')) continue;
      reached.add(posix.join(posix.dirname(file), name).replace(/\.(?:js|ts)$/u, '.d.ts'));
    }
  }
  return reached;
}

/**
 * Whether a file of `dist` was built of a source that stands there.
 * @param {string} from the folder of the package
 * @param {string} file
 */
function isBuilt(from, file) {
  const [, name] = /^dist\/(.*?)(?:\.d\.ts|\.js)$/u.exec(file) ?? [];
  return name !== undefined && existsSync(join(from, 'src', `${name}.ts`));
}

/**
 * Writes a package as it is published, and says where.
 * @param {string} root
 * @param {string} folder below the root, such as `packages/samekey`
 * @param {string} [into]
 */
export function packFolder(root, folder, into = buildFolder(root, 'pack')) {
  const from = join(root, folder);
  const to = join(into, folder.split('/').at(-1) ?? '');
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  for (const name of ['README.md', 'LICENSE']) cpSync(join(from, name), join(to, name));
  if (walkFiles(from, 'bin').length > 0) cpSync(join(from, 'bin'), join(to, 'bin'), { recursive: true });
  const manifest = publishedManifest(readJson(root, `${folder}/package.json`));
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const declarations = reachedDeclarations(root, folder);
  const entries = new Set(
    Object.values(manifest['exports'] ?? {}).map(({ types }) => posix.normalize(types)),
  );
  const shown = new Set(
    [...entries].flatMap((file) => namesGivenOn(existsSync(join(from, file)) ? readText(from, file) : '')),
  );
  /** @param {string} file @param {string} text */
  const declared = (file, text) => {
    const own = withoutHeader(text.replace(/^\/\/# sourceMappingURL=.*\n?/mu, ''));
    return entries.has(file) ? own : withoutHidden(own, shown);
  };
  for (const file of walkFiles(from, 'dist')) {
    const isCode = file.endsWith('.js');
    // What was built of a file that is gone is not part of the package.
    if (!isBuilt(from, file) || (!isCode && !declarations.has(file))) continue;
    const text = readText(from, file);
    mkdirSync(join(to, dirname(file)), { recursive: true });
    writeFileSync(
      join(to, file),
      narrowed(file, isCode ? joined(file, withoutComments(file, text)) : plainImports(declared(file, text))),
    );
  }
  return to;
}

if (isMain(import.meta.url)) for (const folder of PUBLISHED) console.log(packFolder(ROOT, folder));
