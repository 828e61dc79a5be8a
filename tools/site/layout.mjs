/** What stands around each page: head, navigation, contents, the pages before and behind it. */

import { ELEMENTS } from './assets.mjs';

/**
 * @typedef {object} Shell
 * @property {string} name of the site
 * @property {string} version
 * @property {string} origin where the pages are served; empty while nobody has said so
 * @property {import('./nav.mjs').Section[]} sections
 * @property {(file: string) => string} urlOf of a file that has a page
 *
 * @typedef {object} PageParts
 * @property {string} url without a slash at its beginning; ends with one, or is empty
 * @property {string} title
 * @property {string} description
 * @property {string} html
 * @property {import('./markdown.mjs').Heading[]} headings
 * @property {string} [twin] the page as Markdown
 * @property {string} [file] the file it was made from
 * @property {string} [base] the path of the site, for a page that is shown at any address: it has no relative links
 */

/** Nothing is asked of another host, and nothing is run that does not stand in a file of the site. */
const POLICY =
  "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; object-src 'none'";

/** The stage of the explainer places its parts by styles of their own: its page allows these, and no script. */
const POLICY_OF_EXPLAINER = `${POLICY}; style-src 'self' 'unsafe-inline'`;

/** @param {string} text */
export function escapeHtml(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/**
 * The way from one page to another, or to a file: relative, so that the site works below any path.
 * @param {string} from
 * @param {string} to
 */
export function relativeUrl(from, to) {
  const up = '../'.repeat(from.split('/').length - 1);
  return `${up}${to}` || './';
}

/**
 * @param {Pick<PageParts, 'url' | 'base'>} page
 * @param {string} target
 */
const from = ({ url, base }, target) => (base === undefined ? relativeUrl(url, target) : `${base}${target}`);

/**
 * @param {Shell} shell
 * @param {PageParts} page
 */
export function layout(shell, page) {
  const { url, title, description, html, headings } = page;
  /** @param {string} target */
  const to = (target) => from(page, target);
  const isHome = url === '';
  const full = isHome ? `${shell.name}: ${description}` : `${title} · ${shell.name}`;
  const canonical =
    shell.origin === '' || page.base !== undefined
      ? ''
      : `\n<link rel="canonical" href="${escapeHtml(`${shell.origin}/${url}`)}">`;
  const twin =
    page.twin === undefined ? '' : `\n<link rel="alternate" type="text/markdown" href="${to(page.twin)}">`;
  const contents = contentsOf(headings);
  const elements = Object.entries(ELEMENTS)
    .filter(([name]) => html.includes(`<${name}>`))
    .map(([, script]) => `\n<script type="module" src="${to(`assets/${script}`)}"></script>`)
    .join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${html.includes('<samekey-explainer>') ? POLICY_OF_EXPLAINER : POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(full)}</title>
<meta name="description" content="${escapeHtml(description)}">${canonical}${twin}
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to('assets/site.css')}">
<script src="${to('assets/theme.js')}"></script>
<script type="module" src="${to('assets/page.js')}"></script>${elements}
</head>
<body data-root="${to('')}">
<a class="skip" href="#main">Skip to the text</a>
<header class="top">
<a class="brand" href="${to('')}">${escapeHtml(shell.name)} <span class="version">${escapeHtml(shell.version)}</span></a>
<button class="menu" type="button" aria-expanded="false" aria-controls="pages">Menu</button>
<button class="find" type="button">Search <kbd>/</kbd></button>
<button class="look" type="button">Dark</button>
</header>
<div class="frame">
<nav id="pages" class="pages" aria-label="Pages">
${navigation(shell, page)}
</nav>
<main id="main" tabindex="-1">
<article${isHome ? ' class="home"' : ''}>
${html}
</article>
${around(shell, page)}
<footer>${
    page.twin === undefined ? '' : `<a href="${to(page.twin)}">This page as Markdown</a> · `
  }<a href="${to('llms.txt')}">llms.txt</a> · Samekey ${escapeHtml(shell.version)}, MIT licence</footer>
</main>
${contents === '' ? '' : `<aside class="contents"><nav aria-label="On this page">${contents}</nav></aside>`}
</div>
</body>
</html>
`;
}

/** @param {Shell} shell @param {PageParts} page */
function navigation(shell, page) {
  return shell.sections
    .map(({ title, parts }, at) => {
      const isHere = parts.some(({ entries }) => entries.some(({ file }) => file === page.file));
      const lists = parts
        .map(({ title: part, entries }) => {
          const items = entries
            .map((entry) => {
              const here = entry.file === page.file ? ' aria-current="page"' : '';
              return `<li><a href="${from(page, shell.urlOf(entry.file))}"${here}>${escapeHtml(entry.title)}</a></li>`;
            })
            .join('');
          return `${part === '' ? '' : `<p>${escapeHtml(part)}</p>`}<ul>${items}</ul>`;
        })
        .join('\n');
      return `<details${isHere || at === 0 ? ' open' : ''}><summary>${escapeHtml(title)}</summary>\n${lists}</details>`;
    })
    .join('\n');
}

/** @param {Shell} shell @param {PageParts} page */
function around(shell, page) {
  const all = shell.sections.flatMap(({ parts }) => parts.flatMap(({ entries }) => entries));
  const at = all.findIndex(({ file }) => file === page.file);
  if (at === -1) return '';
  const [before, next] = [all[at - 1], all[at + 1]];
  /** @param {import('./nav.mjs').Entry} entry */
  const to = (entry) => from(page, shell.urlOf(entry.file));
  const back =
    before === undefined
      ? '<span></span>'
      : `<a rel="prev" href="${to(before)}"><small>Before</small> ${escapeHtml(before.title)}</a>`;
  const on =
    next === undefined
      ? ''
      : `<a rel="next" href="${to(next)}"><small>Next</small> ${escapeHtml(next.title)}</a>`;
  return `<nav class="around" aria-label="Next and previous page">${back}${on}</nav>`;
}

/** @param {import('./markdown.mjs').Heading[]} headings */
function contentsOf(headings) {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return '';
  const items = shown.map(
    ({ depth, text, anchor }) => `<li class="h${depth}"><a href="#${anchor}">${escapeHtml(text)}</a></li>`,
  );
  return `<p>On this page</p><ul>${items.join('')}</ul>`;
}
