/**
 * The API reference: a page for each entry of each published package, made from the declarations that its users get. No word of it stands anywhere else,
 * so it cannot be old: what is said of a name is the comment on it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import { declarations } from '../lib/declarations.mjs';
import { importedPackages, readEntries } from '../lib/entries.mjs';
import { ROOT } from '../lib/report.mjs';
import { binOf } from '../lib/run.mjs';
import { DECLARATION } from './markdown.mjs';

/**
 * @typedef {import('../lib/declarations.mjs').Declaration} Declaration
 * @typedef {{ name: string, declaration: Declaration }} Shown
 * @typedef {object} Page
 * @property {string} entry what a user imports
 * @property {string} file
 * @property {string} docs the page that explains it
 * @property {Shown[]} own names whose declarations stand on this page
 * @property {Shown[]} others names that an earlier page has
 * @property {Shown[]} parts what the declarations of this page name, and no entry gives out
 */

/** The page of all entries. */
export const API = 'docs/api.md';

/** @param {string} entry */
const fileOf = (entry) => `docs/api/${entry.replace(/^@/, '').replaceAll('/', '-')}.md`;

/** @param {Declaration} one */
const keyOf = ({ file, name }) => `${file}#${name}`;

/**
 * The pages by the files they would be.
 * @param {string} root
 * @returns {Map<string, string>}
 */
export function apiPages(root) {
  const pages = readPages(root);
  const codes = formatted(pages);
  /** Where a declaration stands. @type {Map<string, { file: string, anchor: string }>} */
  const places = new Map();
  for (const { file, entry, own, parts } of pages) {
    const slugger = new GithubSlugger();
    slugger.slug(entry);
    for (const [at, { name, declaration }] of [...own, ...parts].entries()) {
      if (at === own.length) slugger.slug(PARTS);
      places.set(keyOf(declaration), { file, anchor: slugger.slug(name) });
    }
  }
  /** @param {string} from @param {Shown} shown */
  const link = (from, { name, declaration }) => {
    const { file, anchor } = /** @type {{ file: string, anchor: string }} */ (places.get(keyOf(declaration)));
    return `[\`${name}\`](${posix.relative(posix.dirname(from), file)}#${anchor})`;
  };
  const ways = { codes, link, find: declarations(root).find, places };
  const made = new Map(pages.map((page) => [page.file, pageOf(page, ways)]));
  made.set(API, everyExport(pages, link));
  return made;
}

/**
 * Each declaration stands once: on the page of the first entry that gives it out.
 * @param {string} root
 * @returns {Page[]}
 */
function readPages(root) {
  const { find, namesOf } = declarations(root);
  const entries = importedPackages(root).flatMap((folder) =>
    readEntries(root, folder).map(({ name, source, docs }) => {
      const built = `${folder}/${source.replace(/^src/, 'dist').replace(/\.ts$/, '.d.ts')}`;
      if (!existsSync(join(root, built)))
        throw new Error(`${built} is not there: run \`npm run build\` first.`);
      return { name, docs, built };
    }),
  );
  /** @type {Set<string>} */
  const taken = new Set();
  const pages = entries.map(({ name: entry, docs, built }) => {
    /** @type {Page} */
    const page = { entry, file: fileOf(entry), docs, own: [], others: [], parts: [] };
    for (const name of namesOf(built).toSorted((a, b) => a.localeCompare(b, 'en'))) {
      const declaration = find(built, name);
      // What another package declares is that one's to explain.
      if (declaration === undefined) continue;
      (taken.has(keyOf(declaration)) ? page.others : page.own).push({ name, declaration });
      taken.add(keyOf(declaration));
    }
    return page;
  });
  // Only now: a part may be given out by a later entry. Level by level, so that each stands with what names it first.
  let level = pages.map((page) => ({ page, from: page.own }));
  while (level.some(({ from }) => from.length > 0)) {
    level = level.map(({ page, from }) => {
      /** @type {Shown[]} */
      const next = [];
      for (const { declaration } of from)
        for (const used of declaration.uses) {
          const part = find(declaration.file, used, true);
          if (part === undefined || taken.has(keyOf(part))) continue;
          taken.add(keyOf(part));
          next.push({ name: part.name, declaration: part });
        }
      page.parts.push(...next);
      return { page, from: next };
    });
  }
  for (const { parts } of pages) parts.sort((one, other) => one.name.localeCompare(other.name, 'en'));
  return pages;
}

const PARTS = 'What these are made of';

/**
 * The code of each declaration, as this repository writes code. The compiler puts a whole signature in a line.
 * @param {Page[]} pages
 * @returns {Map<string, string>}
 */
function formatted(pages) {
  const shown = pages.flatMap(({ own, parts }) => [...own, ...parts]);
  const input = shown.map(({ declaration }, at) => `//§${at}\n${declaration.code}`).join('\n');
  const args = [binOf('@biomejs/biome', 'biome'), 'format', '--stdin-file-path=api.d.ts'];
  const { stdout, status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error('The declarations cannot be formatted.');
  const codes = stdout.split(/^\/\/§\d+\n/m).slice(1);
  return new Map(shown.map(({ declaration }, at) => [keyOf(declaration), (codes[at] ?? '').trim()]));
}

/**
 * @typedef {object} Ways
 * @property {Map<string, string>} codes
 * @property {(from: string, shown: Shown) => string} link
 * @property {ReturnType<typeof declarations>['find']} find
 * @property {Map<string, unknown>} places
 */

/**
 * @param {Page} page
 * @param {Ways} ways
 */
function pageOf(page, ways) {
  const { entry, file, docs, own, others, parts } = page;
  const lines = [
    `# ${entry}`,
    '',
    `What \`${entry}\` exports, from its declarations. What it is for: [the page that explains it](${posix.relative(posix.dirname(file), docs)}). [Every export](../api.md)`,
    '',
  ];
  if (others.length > 0)
    lines.push(`Also exported: ${others.map((one) => ways.link(file, one)).join(' · ')}`, '');
  for (const one of own) lines.push(...section('##', one, file, ways));
  if (parts.length > 0) {
    lines.push(`## ${PARTS}`, '', 'Types that stand in those above and cannot be imported by name.', '');
    for (const one of parts) lines.push(...section('###', one, file, ways));
  }
  return lines.join('\n');
}

/**
 * @param {string} level
 * @param {Shown} shown
 * @param {string} file
 * @param {Ways} ways
 */
function section(level, { name, declaration }, file, { codes, link, find, places }) {
  const { doc, uses } = declaration;
  const used = uses
    .map((other) => ({ name: other, declaration: find(declaration.file, other, true) }))
    .filter(
      /** @returns {one is Shown} */ (one) =>
        one.declaration !== undefined &&
        places.has(keyOf(one.declaration)) &&
        keyOf(one.declaration) !== keyOf(declaration),
    );
  return [
    `${level} ${name}`,
    '',
    ...(doc === '' ? [] : [asMarkdown(doc), '']),
    `\`\`\`ts ${DECLARATION}`,
    codes.get(keyOf(declaration)) ?? '',
    '```',
    '',
    ...(used.length === 0 ? [] : [`In it: ${used.map((one) => link(file, one)).join(' · ')}`, '']),
  ];
}

/** A comment is written as Markdown, in which a lone bracket or a star outside of code is one. @param {string} doc */
function asMarkdown(doc) {
  return doc
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll(/[<*_[\]]/g, '\\$&')))
    .join('');
}

/**
 * @param {Page[]} pages
 * @param {Ways['link']} link
 */
function everyExport(pages, link) {
  const packages = new Map(pages.map(({ entry }) => [packageOf(entry), /** @type {Page[]} */ ([])]));
  for (const page of pages) packages.get(packageOf(page.entry))?.push(page);
  const parts = [...packages].map(([name, entries]) => {
    const items = entries.map(
      ({ entry, file, own, others }) =>
        `- [**${entry}**](${posix.relative('docs', file)}): ${[...own, ...others].map((one) => link(API, one)).join(' · ')}`,
    );
    return `## Package ${name}\n\n${items.join('\n')}\n`;
  });
  return `# Every export

What each entry gives out, from the declarations that are published: functions with their signatures, types with what is said of each member. What an entry
is for stands in [entries](reference/entries.md).

${parts.join('\n')}`;
}

/** @param {string} entry */
const packageOf = (entry) =>
  entry
    .split('/')
    .slice(0, entry.startsWith('@') ? 2 : 1)
    .join('/');
