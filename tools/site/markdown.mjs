/**
 * A page of Markdown as HTML. The anchors of headings are those of `tools/lib/markdown.mjs`, against which every link of the docs is checked.
 */
import GithubSlugger from 'github-slugger';
import { toHtml } from 'hast-util-to-html';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { toHast } from 'mdast-util-to-hast';
import { toString } from 'mdast-util-to-string';
import { gfmTable } from 'micromark-extension-gfm-table';
import { visit } from 'unist-util-visit';

/** Behind `ts`: code that is no program. It is shown, and its words are not searched for. */
export const DECLARATION = 'declaration';

/**
 * @typedef {import('hast').Element} Element
 * @typedef {import('hast').ElementContent} ElementContent
 * @typedef {{ depth: number, text: string, anchor: string }} Heading
 * @typedef {{ anchor: string, title: string, text: string }} Passage what stands under one heading, for the search
 * @typedef {object} Rendered
 * @property {string} title
 * @property {string} description the first paragraph
 * @property {Heading[]} headings
 * @property {Passage[]} passages
 * @property {string} html
 *
 * @typedef {object} Ways
 * @property {(url: string) => string} link where a link of this page leads on the site
 * @property {(url: string) => string | undefined} picture the text of an SVG that stands beside the page
 * @property {import('./highlight.mjs').Highlighter} highlighter
 */

/** @param {string} text */
export function readTree(text) {
  return fromMarkdown(text, { extensions: [gfmTable()], mdastExtensions: [gfmTableFromMarkdown()] });
}

/**
 * @param {string} text
 * @param {Ways} ways
 * @returns {Rendered}
 */
export function render(text, ways) {
  const tree = readTree(text);
  const slugger = new GithubSlugger();
  /** @type {Heading[]} */
  const headings = [];
  visit(tree, (node) => {
    if (node.type === 'heading') {
      const title = toString(node);
      const anchor = slugger.slug(title);
      headings.push({ depth: node.depth, text: title, anchor });
      node.data = { ...node.data, hProperties: { id: anchor } };
    } else if (node.type === 'link' || node.type === 'definition') node.url = ways.link(node.url);
    else if (node.type === 'image') {
      const svg = ways.picture(node.url);
      if (svg !== undefined) Object.assign(node, { type: 'html', value: svg });
    }
  });
  const hast = /** @type {import('hast').Root} */ (toHast(tree, { allowDangerousHtml: true }));
  decorate(hast, ways.highlighter);
  const paragraph = tree.children.find(({ type }) => type === 'paragraph');
  return {
    title: headings[0]?.text ?? '',
    description: paragraph === undefined ? '' : shorten(toString(paragraph), 160),
    headings,
    passages: passagesOf(tree, headings),
    html: toHtml(hast, { allowDangerousHtml: true }),
  };
}

/**
 * Tables and code get a box that scrolls, code its colours, headings a link to themselves.
 * @param {import('hast').Root} hast
 * @param {import('./highlight.mjs').Highlighter} highlighter
 */
function decorate(hast, highlighter) {
  visit(hast, 'element', (node, at, parent) => {
    if (node.tagName === 'table' && parent !== undefined && at !== undefined) {
      if (parent.type === 'element' && String(parent.properties['className']) === 'table') return;
      labelEmptyHeads(node);
      parent.children[at] = element('div', { className: ['table'] }, [node]);
    } else if (node.tagName === 'li') makeBox(node);
    else if (node.tagName === 'pre') {
      const [code] = node.children;
      if (code?.type !== 'element') return;
      const lang = /^language-(.+)$/.exec(String(code.properties['className'] ?? ''))?.[1] ?? '';
      code.children = highlighter.children(textOf(code).replace(/\n$/, ''), lang);
      code.properties = {};
      node.properties = { className: ['code'], ...(lang === '' ? {} : { dataLang: lang }) };
    } else if (/^h[2-4]$/.test(node.tagName)) {
      const id = String(node.properties['id']);
      const properties = { className: ['anchor'], href: `#${id}`, ariaLabel: `Link to “${textOf(node)}”` };
      node.children.push(element('a', properties, [{ type: 'text', value: '#' }]));
    }
  });
}

/** `[ ]` at the beginning of an item: a box to tick on paper. @param {Element} item */
function makeBox(item) {
  const [first] = item.children;
  if (first?.type !== 'text' || !first.value.startsWith('[ ] ')) return;
  first.value = first.value.slice(4);
  item.properties = { ...item.properties, className: ['box'] };
}

/** A head without a word is no head of anything: a cell. @param {Element} table */
function labelEmptyHeads(table) {
  visit(table, 'element', (cell) => {
    if (cell.tagName === 'th' && textOf(cell).trim() === '') cell.tagName = 'td';
  });
}

/**
 * @param {string} tagName
 * @param {import('hast').Properties} properties
 * @param {ElementContent[]} children
 * @returns {Element}
 */
function element(tagName, properties, children) {
  return { type: 'element', tagName, properties, children };
}

/**
 * @param {import('hast').Nodes} node
 * @returns {string}
 */
function textOf(node) {
  if (node.type === 'text') return node.value;
  return 'children' in node ? node.children.map(textOf).join('') : '';
}

/**
 * @param {import('mdast').Root} tree
 * @param {Heading[]} headings
 * @returns {Passage[]}
 */
function passagesOf(tree, headings) {
  /** @type {Passage[]} */
  const passages = [];
  let at = 0;
  for (const node of tree.children) {
    if (node.type === 'heading') {
      const heading = headings[at++];
      if (heading !== undefined) passages.push({ anchor: heading.anchor, title: heading.text, text: '' });
    } else {
      const passage = passages.at(-1);
      const isShownOnly = node.type === 'html' || (node.type === 'code' && node.meta === DECLARATION);
      if (passage !== undefined && !isShownOnly) passage.text += `${wordsOf(node)}\n`;
    }
  }
  return passages;
}

/** Cells and items stay apart. @param {import('mdast').Nodes} node @returns {string} */
function wordsOf(node) {
  if (node.type === 'table' || node.type === 'tableRow' || node.type === 'list' || node.type === 'listItem')
    return node.children.map(wordsOf).join(' ');
  return toString(node);
}

/**
 * @param {string} text
 * @param {number} most
 */
function shorten(text, most) {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, line.lastIndexOf(' ', most))} …`;
}
