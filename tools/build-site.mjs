/**
 * Why: who searches at night finds a page, not a folder. This makes the site from the files in docs/ as they are, without network:
 * `npm run site`, then any server of static files on `.build/site`. All links are relative, so it works below any path; 404.html, which is shown at
 * any depth, has to know that path (`npm run site -- --base /docs/`). What a link leads to outside of docs/ (an example, a test, a rule for
 * alerts) is a page as well.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseArgs } from 'node:util';
import { buildFolder, readJson, readText, walkFiles } from './lib/files.mjs';
import { isMain, ROOT } from './lib/report.mjs';
import { ASSETS_SRC, bundleScripts } from './site/assets.mjs';
import { API, apiPages } from './site/api-pages.mjs';
import { CODE, codePages } from './site/code-pages.mjs';
import { ERRORS, errorPages } from './site/error-pages.mjs';
import { createHighlighter } from './site/highlight.mjs';
import { escapeHtml, layout, relativeUrl } from './site/layout.mjs';
import { render } from './site/markdown.mjs';
import { HOME, readNavigation } from './site/nav.mjs';
import { searchIndex } from './site/search-index.mjs';
import { DOCS_URL, isOurs } from './site/where.mjs';

/**
 * @typedef {import('./site/markdown.mjs').Rendered} Rendered
 * @typedef {import('./site/layout.mjs').Shell} Shell
 * @typedef {{ file: string, url: string, section: string }} Page
 */

/** The folder whose files have pages as well when a link leads to a folder of it. Of others, the names are listed. */
const SHOWN_WHOLE = 'examples';

/**
 * The address of a file's page. Those of docs/ have the places of their files; others stand below `source/`.
 * @param {string} file
 */
export function urlOf(file) {
  if (!file.startsWith('docs/')) return `source/${file}/`;
  const path = file.slice('docs/'.length).replace(/\.md$/, '');
  return path === 'README' ? '' : `${path.replace(/\/README$/, '').toLowerCase()}/`;
}

/**
 * What servers of static files show where there is nothing: it is met at any depth, so its links begin with the path of the site.
 */
const NOT_FOUND = {
  file: 'docs/404.md',
  text: `# There is no such page

It may have moved with a version. Search for a word of it (key <kbd>/</kbd>), or begin at one of these:

- [every code](errors.md) that an error or an answer can have
- [by symptom](symptoms.md): what somebody sees, and what it comes from
- [start](start.md), [all pages](README.md)
`,
};

/** The path at which the site is served, as far as anybody has said so. */
const basePath = () => (isOurs(DOCS_URL) ? `${new URL(DOCS_URL).pathname.replace(/\/$/, '')}/` : '/');

/**
 * @param {string} [folder] where the site goes
 * @param {string} [root]
 * @param {string} [base] the path of the site on its host, with a slash at both ends
 */
export async function buildSite(folder = buildFolder(ROOT, 'site'), root = ROOT, base = basePath()) {
  rmSync(folder, { recursive: true, force: true });
  const highlighter = await createHighlighter();
  const { version } = readJson(root, 'packages/samekey/package.json');
  const sections = readNavigation(root);
  // Pages that no file has.
  const made = new Map([...(await errorPages(root)), ...codePages(root), ...apiPages(root)]);
  sections
    .find(({ title }) => title === 'Reference')
    ?.parts.unshift({
      title: '',
      entries: [
        { file: ERRORS, title: 'Every code' },
        { file: API, title: 'Every export' },
      ],
    });
  const begin = sections[0]?.parts[0]?.entries ?? [];
  const after = begin.findIndex(({ file }) => file === 'docs/choose-your-way.md');
  begin.splice(after + 1, 0, { file: CODE, title: 'Code for your case' });
  /** @param {string} file */
  const textOf = (file) => made.get(file) ?? readText(root, file);
  /** @type {Shell} */
  const shell = { name: 'Samekey', version, origin: isOurs(DOCS_URL) ? DOCS_URL : '', sections, urlOf };
  /** @param {string} path @param {string} text */
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  /** Files outside of docs/ that a page links to, each once. @type {string[]} */
  const outside = [];
  /** @param {string} file */
  const waysOf = (file) => ({
    highlighter,
    /** @param {string} url */
    link: (url) => linkFrom(root, file, url, outside, made),
    /** @param {string} url */
    picture: (url) => pictureOf(root, file, url),
  });

  /** @type {{ page: Page, rendered: Rendered }[]} */
  const documents = [];
  const home = { file: HOME, url: '', section: '' };
  const listed = sections.flatMap(({ title, parts }) =>
    parts.flatMap(({ entries }) => entries.map(({ file }) => ({ file, url: urlOf(file), section: title }))),
  );
  const codes = [...made.keys()]
    .filter((file) => file !== ERRORS && file !== CODE && file !== API)
    .map((file) => ({ file, url: urlOf(file), section: sectionOf(file) }));
  for (const page of [home, ...listed, ...codes]) {
    const rendered = render(textOf(page.file), waysOf(page.file));
    documents.push({ page, rendered });
    const twin = page.file.startsWith('docs/') ? page.file.slice('docs/'.length) : page.file;
    write(twin, twinOf(root, page.file, textOf(page.file)));
    write(`${page.url}index.html`, layout(shell, { ...rendered, url: page.url, file: page.file, twin }));
  }
  // The list grows while it is walked: a page from outside may lead further.
  const done = new Set(listed.map(({ file }) => file));
  for (const file of outside) {
    if (done.has(file)) continue;
    done.add(file);
    const page = sourcePage(root, file, waysOf(file));
    write(`${urlOf(file)}index.html`, layout(shell, { ...page, url: urlOf(file), file }));
  }

  const nowhere = render(NOT_FOUND.text, {
    ...waysOf(NOT_FOUND.file),
    link: (url) => `${base}${urlOf(posix.join('docs', url))}`,
  });
  write('404.html', layout(shell, { ...nowhere, url: '404.html', file: NOT_FOUND.file, base }));

  await bundleScripts(join(folder, 'assets'));
  write('assets/site.css', `${readText(root, `${ASSETS_SRC}/site.css`)}\n${highlighter.css()}\n`);
  write('assets/search.json', searchIndex(documents));
  write('llms.txt', llmsText(shell, documents));
  if (shell.origin !== '')
    write('sitemap.txt', `${documents.map(({ page }) => `${shell.origin}/${page.url}`).join('\n')}\n`);
  for (const file of walkFiles(root, 'docs'))
    if (/\.(svg|png)$/.test(file)) {
      const path = join(folder, file.slice('docs/'.length));
      mkdirSync(dirname(path), { recursive: true });
      copyFileSync(join(root, file), path);
    }
  return { folder, pages: documents.length, sources: outside.length };
}

/** What the pages that are made are called together. @param {string} file */
function sectionOf(file) {
  if (file.startsWith('docs/code/')) return 'Code';
  return file.startsWith('docs/api/') ? 'Exports' : 'Codes';
}

/**
 * Where a link of a file leads on the site.
 * @param {string} root
 * @param {string} from
 * @param {string} url
 * @param {string[]} outside gets what has no page in the navigation
 * @param {Map<string, string>} made pages that no file has
 */
function linkFrom(root, from, url, outside, made) {
  if (/^[a-z][a-z0-9+.-]*:/i.test(url) || url.startsWith('#')) return url;
  const [path = '', anchor] = url.split('#');
  const file = posix.join(posix.dirname(from), decodeURIComponent(path)).replace(/\/$/, '');
  if (!made.has(file) && !existsSync(join(root, file)))
    throw new Error(`${from}: the link ${url} leads nowhere.`);
  if (!file.startsWith('docs/')) outside.push(file);
  return `${relativeUrl(urlOf(from), urlOf(file))}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** @param {string} root @param {string} from @param {string} url */
function pictureOf(root, from, url) {
  if (!url.endsWith('.svg')) return undefined;
  const text = readText(root, posix.join(posix.dirname(from), url));
  // Drawn for GitHub with colours of its own, and here with those of the page, which has a button for dark.
  return `<figure class="picture">${text.replace(/<style>[^]*?<\/style>/, '').replace(/<\?xml[^]*?\?>|<!--[^]*?-->/g, '')}</figure>`;
}

/**
 * The page as Markdown. Links within docs/ hold as they are, because the twins have the places of the files.
 * @param {string} root
 * @param {string} file
 * @param {string} text
 */
function twinOf(root, file, text) {
  const here = file.startsWith('docs/') ? file.slice('docs/'.length) : file;
  return text.replaceAll(/\]\(([^)\s:]+)\)/g, (whole, /** @type {string} */ url) => {
    const [path = '', anchor] = url.split('#');
    const target = posix.join(posix.dirname(file), path).replace(/\/$/, '');
    if (path === '' || target.startsWith('docs/') || !existsSync(join(root, target))) return whole;
    const to = relativeUrl(here, urlOf(target));
    return `](${to}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

/**
 * The page of a file or folder that stands outside of docs/.
 * @param {string} root
 * @param {string} file
 * @param {import('./site/markdown.mjs').Ways} ways
 * @returns {Rendered}
 */
function sourcePage(root, file, ways) {
  const heading = {
    title: file,
    description: `${file} in the repository of Samekey`,
    headings: [],
    passages: [],
  };
  if (statSync(join(root, file)).isDirectory()) {
    const names = walkFiles(root, file);
    const isWhole = file.startsWith(SHOWN_WHOLE);
    const items = names.map((name) => {
      const words = escapeHtml(posix.relative(file, name));
      return `<li>${isWhole ? `<a href="${ways.link(posix.relative(posix.dirname(file), name))}">${words}</a>` : words}</li>`;
    });
    const readme = `${file}/README.md`;
    const text = names.includes(readme)
      ? `<p><a href="${ways.link(`${posix.basename(file)}/README.md`)}">README</a></p>`
      : '';
    return { ...heading, html: `<h1>${escapeHtml(file)}</h1>${text}<ul>${items.join('')}</ul>` };
  }
  if (file.endsWith('.md')) return render(readText(root, file), ways);
  const fence = '`'.repeat(8);
  // What people copy has colours; of the sources there is too much.
  const lang = file.startsWith(SHOWN_WHOLE) ? posix.extname(file).slice(1) : '';
  const shown = render(`${fence}${lang}\n${readText(root, file)}\n${fence}\n`, ways);
  return { ...heading, html: `<h1>${escapeHtml(file)}</h1>${shown.html}` };
}

/**
 * @param {Shell} shell
 * @param {{ page: Page, rendered: Rendered }[]} documents
 */
function llmsText(shell, documents) {
  const [home, ...rest] = documents;
  const lines = [`# ${shell.name}`, '', `> ${home?.rendered.description ?? ''}`, ''];
  lines.push(`Version ${shell.version}. Each page is here as Markdown; code blocks compile.`);
  let section = '';
  for (const { page, rendered } of rest) {
    if (page.section !== section) lines.push('', `## ${page.section}`, '');
    section = page.section;
    const twin = page.file.startsWith('docs/') ? page.file.slice('docs/'.length) : page.file;
    lines.push(`- [${rendered.title}](${twin}): ${rendered.description}`);
  }
  return `${lines.join('\n')}\n`;
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({ options: { base: { type: 'string' } } });
  const { folder, pages, sources } = await buildSite(
    undefined,
    undefined,
    values.base?.replace(/^\/*|\/*$/g, '/'),
  );
  console.log(`${pages} pages, and ${sources} links into the sources, in ${folder}`);
}
