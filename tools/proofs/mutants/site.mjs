/** The site: a link that is printed leads to its words, wherever the pages are served and whoever prints it. */

const CHECK = ['tools/test/check-site.test.ts'];
const DECLARED = ['tools/test/declarations.test.ts'];
const PROBLEMS = ['packages/samekey/test/http/problems.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const site = [
  {
    name: 'site-anchors-not-looked-at',
    file: 'tools/check-site.mjs',
    find: '? anchor && !ids.has(anchor)',
    put: '? false',
    tests: CHECK,
    only: 'a message that names',
    breaks: 'A finding leads to the top of a long page, and its words are nowhere on it.',
  },
  {
    name: 'site-code-without-words',
    file: 'tools/check-site.mjs',
    find: '?.ids.has(anchor);',
    put: '?.ids !== undefined;',
    tests: CHECK,
    only: 'a code without its words',
    breaks: 'The link of an error leads to a page that does not know its code, and no check says so.',
  },
  {
    name: 'site-names-files-of-the-repository',
    file: 'tools/check-site.mjs',
    find: "if (file.endsWith('.ts') && REPOSITORY_FILE.test(text))",
    put: "if (file.endsWith('.md') && REPOSITORY_FILE.test(text))",
    tests: CHECK,
    only: 'a message that names',
    breaks: 'doctor sends its reader to a file that no installed package has.',
  },
  {
    name: 'site-404-with-relative-links',
    file: 'tools/check-site.mjs',
    find: 'if (file === NOT_FOUND)',
    put: "if (file === 'not-found.html')",
    tests: CHECK,
    only: 'a page for addresses that are not there',
    breaks: 'Who follows an old link sees a page without its sheet, whose links lead to more of the same.',
  },
  {
    name: 'api-given-on-whole-is-lost',
    file: 'tools/lib/declarations.mjs',
    find: '...everything.flatMap(namesOf)]',
    put: '...[]]',
    tests: DECLARED,
    breaks: 'Half of an entry is on no page of the reference.',
  },
  {
    name: 'api-words-of-a-neighbour',
    file: 'tools/lib/declarations.mjs',
    find: "text.slice(last.end, statement.start).trim() === ''",
    put: 'statement.start > 0',
    tests: DECLARED,
    breaks: 'A type without a comment gets the words that are said of another.',
  },
  {
    name: 'docs-url-read-when-the-profile-was-made',
    file: 'packages/samekey/src/http/profiles/ietf.ts',
    find: 'helpUrl: text(),',
    put: "helpUrl: text(helpOf('').slice(0, -1)),",
    tests: PROBLEMS,
    only: 'is said once',
    breaks: 'Routes that were made before docsAt() lead their clients to an address that nobody serves.',
  },
];
