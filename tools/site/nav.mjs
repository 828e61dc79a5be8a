/**
 * Which pages the site has, and in which order: those that docs/README.md names, as it names them. A page that it does not name could not be
 * found by anybody, so it is a fault.
 */
import { posix } from 'node:path';
import { toString } from 'mdast-util-to-string';
import { visit } from 'unist-util-visit';
import { readText, walkFiles } from '../lib/files.mjs';
import { readTree } from './markdown.mjs';

/**
 * @typedef {{ file: string, title: string }} Entry
 * @typedef {{ title: string, parts: { title: string, entries: Entry[] }[] }} Section
 */

export const HOME = 'docs/README.md';
const RUNBOOKS = 'docs/runbooks/README.md';

/**
 * The sections of the navigation. What stands above the first heading of the second level is the section "Begin here".
 * @param {string} root
 * @returns {Section[]}
 */
export function readNavigation(root) {
  /** @type {Section[]} */
  const sections = [{ title: 'Begin here', parts: [] }];
  const named = new Set([HOME]);
  for (const node of readTree(readText(root, HOME)).children) {
    if (node.type === 'heading' && node.depth === 2)
      sections.push({ title: toString(node).split(':')[0] ?? '', parts: [] });
    const section = /** @type {Section} */ (sections.at(-1));
    for (const part of node.type === 'list' ? node.children : [node]) {
      const entries = linked(root, HOME, part, named);
      if (entries.length === 0) continue;
      const [strong] = node.type === 'list' ? strongOf(part) : [];
      section.parts.push({ title: strong ?? '', entries });
    }
  }
  const runbooks = linked(root, RUNBOOKS, readTree(readText(root, RUNBOOKS)), named, 'docs/runbooks/');
  const before = sections.findIndex(({ title }) => title === 'Reference');
  sections.splice(before, 0, { title: 'Runbooks', parts: [{ title: '', entries: runbooks }] });
  for (const file of walkFiles(root, 'docs'))
    if (file.endsWith('.md') && !named.has(file)) throw new Error(`${HOME} does not name the page ${file}.`);
  return sections.filter(({ parts }) => parts.length > 0);
}

/**
 * The pages that a part links to and that no part before it has.
 * @param {string} root
 * @param {string} from
 * @param {import('mdast').Nodes} part
 * @param {Set<string>} named
 * @param {string} [below]
 * @returns {Entry[]}
 */
function linked(root, from, part, named, below = '') {
  /** @type {Entry[]} */
  const entries = [];
  visit(part, 'link', ({ url }) => {
    const file = posix.join(posix.dirname(from), url.split('#')[0] ?? '');
    if (!file.endsWith('.md') || !file.startsWith(below) || named.has(file) || url.includes(':')) return;
    named.add(file);
    entries.push({ file, title: titleOf(root, file) });
  });
  return entries;
}

/** @param {import('mdast').Nodes} part */
function strongOf(part) {
  /** @type {string[]} */
  const found = [];
  visit(part, 'strong', (node) => void found.push(toString(node).replace(/:$/, '')));
  return found;
}

/**
 * What a page calls itself.
 * @param {string} root
 * @param {string} file
 */
function titleOf(root, file) {
  const heading = readTree(readText(root, file)).children.find(({ type }) => type === 'heading');
  return heading === undefined ? posix.basename(file) : toString(heading);
}
