/**
 * Why: a link that an error prints is followed once, at night, by somebody who has no time. Builds the site and holds: every link and every #anchor
 * of every page leads somewhere; no page asks another host for anything; a first visit loads little; every address that errors, problem
 * documents, the client and the alerts print has a page; every program of the chooser compiles.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fromHtml } from 'hast-util-from-html';
import { visit } from 'unist-util-visit';
import { buildSite } from './build-site.mjs';
import { tsconfig } from './check-docs.mjs';
import { buildFolder, readText, walkFiles } from './lib/files.mjs';
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

/**
 * @param {string} folder
 * @returns {Problem[]}
 */
export function checkPages(folder) {
  const pages = readPages(folder);
  /** @type {Problem[]} */
  const problems = [];
  for (const [file, { links, loads, refused, bytes }] of pages) {
    problems.push(...refused.map((message) => ({ file, message })));
    let loaded = bytes;
    for (const url of loads) {
      if (url.startsWith('data:')) continue;
      const asset = served(folder, posix.join(posix.dirname(file), url));
      if (/^[a-z]+:|^\/\//i.test(url)) problems.push({ file, message: `asks another host: ${url}` });
      else if (asset === undefined) problems.push({ file, message: `loads ${url}, which is not there` });
      else loaded += sent(readFileSync(join(folder, asset)));
    }
    if (loaded > FIRST_LOAD_MAX && !file.startsWith('source/'))
      problems.push({ file, message: `a first visit loads ${loaded} bytes, at most ${FIRST_LOAD_MAX}` });
    for (const url of links) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(url)) continue;
      const [path = '', anchor] = url.split('#');
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
  /** @type {Problem[]} */
  const problems = [];
  for (const file of shipped) {
    for (const [, path = ''] of readText(root, file).matchAll(new RegExp(`${DOCS_URL}(/[\\w/-]*)`, 'g')))
      if (served(folder, path) === undefined)
        problems.push({ file, message: `${DOCS_URL}${path} has no page` });
  }
  return problems;
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
  report('site', [...checkPages(folder), ...checkPrinted(folder), ...(await checkPrograms())]);
}
