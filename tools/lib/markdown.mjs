/** Markdown as a tree, for the checks that hold the documentation equal to the code. */
import GithubSlugger from 'github-slugger';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString } from 'mdast-util-to-string';
import { visit } from 'unist-util-visit';

/**
 * @typedef {{ text: string, depth: number, line: number, anchor: string }} Heading
 * @typedef {{ url: string, text: string, line: number }} Link
 * @typedef {{ lang: string, meta: string, code: string, line: number }} Block code, and the line its first line stands on
 */

/**
 * @param {string} text
 * @returns {{ headings: Heading[], links: Link[], blocks: Block[], anchors: Set<string> }}
 */
export function readMarkdown(text) {
  const slugger = new GithubSlugger();
  /** @type {Heading[]} */
  const headings = [];
  /** @type {Link[]} */
  const links = [];
  /** @type {Block[]} */
  const blocks = [];
  /** @type {Set<string>} */
  const anchors = new Set();
  visit(fromMarkdown(text), (node) => {
    const line = node.position?.start.line ?? 1;
    if (node.type === 'heading') {
      const title = toString(node);
      const anchor = slugger.slug(title);
      anchors.add(anchor);
      headings.push({ text: title, depth: node.depth, line, anchor });
    } else if (node.type === 'link' || node.type === 'image' || node.type === 'definition') {
      links.push({ url: node.url, text: toString(node), line });
    } else if (node.type === 'code') {
      blocks.push({ lang: node.lang ?? '', meta: node.meta ?? '', code: node.value, line: line + 1 });
    } else if (node.type === 'html') {
      for (const match of node.value.matchAll(/\b(?:id|name)="([^"]+)"/g)) anchors.add(String(match[1]));
    }
  });
  return { headings, links, blocks, anchors };
}
