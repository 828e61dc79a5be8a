/**
 * Why: a link that an error prints is followed once, at night, by somebody who has no time. Builds the site and holds: every link and every #anchor
 * of every page leads somewhere; no page asks another host for anything; a first visit loads little; every address that errors, problem
 * documents, the client, the commands and the alerts print has a page, and every code its words there; no message names a file that users
 * do not have; every program of the chooser compiles.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { fromHtml } from 'hast-util-from-html';
import { walk } from 'oxc-walker';
import { visit } from 'unist-util-visit';
import { buildSite } from './build-site.mjs';
import { tsconfig } from './check-docs.mjs';
import { buildFolder, readText, walkFiles } from './lib/files.mjs';
import { parse } from './lib/parse.mjs';
import { isMain, ROOT, report } from './lib/report.mjs';
import { tsc } from './lib/run.mjs';
import { programs } from './site/code-pages.mjs';
import { DOCS_URL } from './site/where.mjs';

/** @typedef {import('./lib/report.mjs').Problem} Problem */

/** What a browser fetches for a page before anybody has done anything, compressed as a server sends it. */
const FIRST_LOAD_MAX = 300_000;

/** Elements by which a page asks for something, and where they name it. */
const LOADS = { script: 'src', img: 'src', iframe: 'src', source: 'src', link: 'href' };

/** @param {string | Buffer} content */
const sent = (content) => gzipSync(content, { level: 9 }).length;

/** @typedef {{ ids: Set<string>, links: string[], loads: string[], refused: string[], bytes: number }} Seen */

/**
 * @param {string} folder
 * @returns {Map<string, Seen>} by the path of the file
 */
function readPages(folder) {
  /** @type {Map<string, Seen>} */
  const pages = new Map();
  for (const file of walkFiles(folder)) {
    if (!file.endsWith('.html')) continue;
    const text = readText(folder, file);
    /** @type {Seen} */
    const seen = { ids: new Set(), links: [], loads: [], refused: [], bytes: sent(text) };
    visit(fromHtml(text), 'element', ({ tagName, properties }) => {
      if (properties['id'] !== undefined) seen.ids.add(String(properties['id']));
      if (tagName === 'a' && properties['href'] !== undefined) seen.links.push(String(properties['href']));
      const source = properties[LOADS[/** @type {keyof typeof LOADS} */ (tagName)] ?? ''];
      const isAsked = tagName !== 'link' || String(properties['rel']) === 'stylesheet';
      if (source !== undefined && source !== null && isAsked) seen.loads.push(String(source));
      if (Object.keys(properties).some((name) => name === 'style' || /^on/i.test(name)))
        seen.refused.push(`an inline style or script on <${tagName}>, which the policy of the pages refuses`);
    });
    pages.set(file, seen);
  }
  return pages;
}

/**
 * The file that an address names, as any server of static files would find it.
 * @param {string} folder
 * @param {string} path
 */
function served(folder, path) {
  const plain = path.replace(/^\.?\/?/, '').replace(/\/$/, '');
  for (const file of [`${plain}/index.html`.replace(/^\//, ''), plain])
    if (file !== '' && existsSync(join(folder, file)) && /\.\w+$/.test(file)) return file;
  return undefined;
}

/** Shown at any address, so that a relative link of it would lead somewhere else each time. */
const NOT_FOUND = '404.html';

/**
 * @param {string} folder
 * @param {string} base the path of the site on its host, with a slash at both ends
 * @returns {Problem[]}
 */
export function checkPages(folder, base = '/') {
  const pages = readPages(folder);
  /** @param {string} url */
  const below = (url) => (url.startsWith(base) ? url.slice(base.length - 1) : url);
  /** @type {Problem[]} */
  const problems = [];
  for (const [file, { links, loads, refused, bytes }] of pages) {
    problems.push(...refused.map((message) => ({ file, message })));
    if (file === NOT_FOUND)
      for (const url of [...loads, ...links])
        if (!url.startsWith(base) && !/^[a-z]+:|^#/i.test(url))
          problems.push({ file, message: `${url} leads elsewhere from each address: begin it with ${base}` });
    let loaded = bytes;
    for (const url of loads) {
      if (url.startsWith('data:')) continue;
      const asset = served(folder, posix.join(posix.dirname(file), below(url)));
      if (/^[a-z]+:|^\/\//i.test(url)) problems.push({ file, message: `asks another host: ${url}` });
      else if (asset === undefined) problems.push({ file, message: `loads ${url}, which is not there` });
      else loaded += sent(readFileSync(join(folder, asset)));
    }
    if (loaded > FIRST_LOAD_MAX && !file.startsWith('source/'))
      problems.push({ file, message: `a first visit loads ${loaded} bytes, at most ${FIRST_LOAD_MAX}` });
    for (const url of links) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(url)) continue;
      const [path = '', anchor] = below(url).split('#');
      const target = path === '' ? file : served(folder, posix.join(posix.dirname(file), path));
      if (target === undefined) problems.push({ file, message: `the link ${url} leads nowhere` });
      else if (anchor !== undefined && anchor !== '' && target.endsWith('.html')) {
        if (pages.get(target)?.ids.has(decodeURIComponent(anchor)) !== true)
          problems.push({ file, message: `${target} has nothing with the id ${anchor}` });
      }
    }
  }
  return problems;
}

/** A page as it is named where a link to it is made: by the whole address, or to the function that puts ours before it. */
const NAMED = new RegExp(`(?:${DOCS_URL}/|docsPage\\(['\`])([\\w/-]*)(?:#([\\w-]*))?(\\$\\{)?`, 'g');

/** A file of the repository, which nobody has who installed a package. */
const REPOSITORY_FILE = /\bdocs\/[\w./-]+\.md\b/;

/**
 * Every address of the documentation that stands in what is shipped: sources of packages, and rules for alerts.
 * @param {string} folder
 * @param {string} root
 * @returns {Problem[]}
 */
export function checkPrinted(folder, root = ROOT) {
  const shipped = [...walkFiles(root, 'packages'), ...walkFiles(root, 'ops')].filter(
    (file) => /^packages\/\w+\/src\/|^ops\//.test(file) && /\.(ts|yaml|json)$/.test(file),
  );
  const pages = readPages(folder);
  /** @type {Problem[]} */
  const problems = [];
  for (const file of shipped) {
    const text = readText(root, file);
    for (const [whole, path = '', anchor, made] of text.matchAll(NAMED)) {
      const named = whole.replace(/^docsPage\(['`]/, `${DOCS_URL}/`).replace(/\$\{$/, '…');
      const ids = pages.get(served(folder, path) ?? '')?.ids;
      if (ids === undefined) problems.push({ file, message: `${named} has no page` });
      // The rest is put behind it when it is printed.
      else if (
        made === undefined ? anchor && !ids.has(anchor) : ![...ids].some((id) => id.startsWith(anchor ?? ''))
      )
        problems.push({ file, message: `the page of ${named} has no such anchor` });
    }
    if (file.endsWith('.ts') && REPOSITORY_FILE.test(text)) problems.push(...namesFiles(file, text));
  }
  return problems;
}

/**
 * Texts that send their reader to a file of this repository.
 * @param {string} file
 * @param {string} text
 */
function namesFiles(file, text) {
  /** @type {Problem[]} */
  const problems = [];
  walk(parse(file, text), {
    enter(node) {
      const said =
        node.type === 'TemplateElement' ? node.value.raw : node.type === 'Literal' ? String(node.value) : '';
      const [name] = REPOSITORY_FILE.exec(said) ?? [];
      if (name !== undefined)
        problems.push({ file, message: `prints ${name}, which no user has: name its page by docsPage()` });
    },
  });
  return problems;
}

/**
 * Every code that an error or an answer can have leads to its words.
 * @param {string} folder
 * @param {string} root
 * @returns {Promise<Problem[]>}
 */
export async function checkCodes(folder, root = ROOT) {
  const built = (/** @type {string} */ file) =>
    import(pathToFileURL(join(root, 'packages/samekey/dist', file)).href);
  const [{ helpOf }, { PROBLEMS }] = await Promise.all([built('core/errors.js'), built('http/problem.js')]);
  const errors = readText(root, 'docs/reference/errors.md').matchAll(/^### (ERR_\w+)$/gm);
  return unexplained(
    folder,
    [...Object.keys(PROBLEMS), ...[...errors].map(([, code = '']) => code)].map(helpOf),
  );
}

/**
 * The addresses that have no page or no anchor.
 * @param {string} folder
 * @param {string[]} addresses
 * @returns {Problem[]}
 */
export function unexplained(folder, addresses) {
  const pages = readPages(folder);
  return addresses.flatMap((address) => {
    const [path = '', anchor = ''] = address.slice(`${DOCS_URL}/`.length).split('#');
    const isThere =
      address.startsWith(`${DOCS_URL}/`) && pages.get(served(folder, path) ?? '')?.ids.has(anchor);
    return isThere === true
      ? []
      : [{ file: 'docs/reference/errors.md', message: `${address} leads nowhere` }];
  });
}

/**
 * The programs that are put together for the chooser, compiled as those of the docs are.
 * @param {string} [root]
 * @returns {Promise<Problem[]>}
 */
async function checkPrograms(root = ROOT) {
  const folder = buildFolder(root, 'site-programs');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    for (const [name, code] of programs(root)) writeFileSync(join(folder, `${name}.ts`), `${code}\n`);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig()));
    const { code, output } = await tsc(['-p', folder], { cwd: folder });
    return code === 0 ? [] : [{ file: 'tools/site/code-pages.mjs', message: output.trim() }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) {
  const { folder } = await buildSite();
  report('site', [
    ...checkPages(folder),
    ...checkPrinted(folder),
    ...(await checkCodes(folder)),
    ...(await checkPrograms()),
  ]);
}
