/** The index of the search: each passage under a heading is found by itself. Made here, because a browser would take seconds for it. */
import MiniSearch from 'minisearch';

/** What both sides must agree on; the page reads it from the file. */
const OPTIONS = {
  fields: ['title', 'page', 'path', 'text'],
  storeFields: ['title', 'page', 'section', 'url', 'start'],
  searchOptions: { boost: { title: 6, page: 3, path: 3 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
};

/** So much of a passage is shown below what was found. */
const START_MAX = 140;

/**
 * @param {{ page: { url: string, section: string }, rendered: import('./markdown.mjs').Rendered }[]} documents
 * @returns {string}
 */
export function searchIndex(documents) {
  const index = new MiniSearch(/** @type {import('minisearch').Options} */ (OPTIONS));
  let id = 0;
  for (const { page, rendered } of documents) {
    // Code that is put together, and the list of all exports, stand on other pages too, where words explain them.
    const passages =
      page.section === 'Code' || page.url === 'api/' ? rendered.passages.slice(0, 1) : rendered.passages;
    for (const [at, { anchor, title, text }] of passages.entries()) {
      const url = at === 0 ? page.url : `${page.url}#${anchor}`;
      const start = text.replace(/\s+/g, ' ').trim().slice(0, START_MAX);
      index.add({
        id: id++,
        title,
        page: rendered.title,
        section: page.section,
        path: page.url,
        url,
        start,
        text,
      });
    }
  }
  return JSON.stringify({ options: OPTIONS, index });
}
