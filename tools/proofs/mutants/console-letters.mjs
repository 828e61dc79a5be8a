/** Dead letters at the console: what is done to which of them, by whose right, and what is told of an answer that is lost. */

const SRC = 'packages/console/src';
const ELEMENTS = ['packages/console/test/page-elements.test.ts'];
const BULK = ['packages/console/test/bulk.test.ts'];
const LETTERS = ['packages/console/test/letters.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const operatorsLetters = [
  {
    name: 'console-uncertain-is-failed',
    file: `${SRC}/dead-letters.ts`,
    find: "const isNothing = isStoreError(error) && error.applied === 'no';",
    put: "const isNothing = isStoreError(error) && (error.applied === 'no' || error.transient);",
    tests: LETTERS,
    breaks: 'What the store left unsaid is told as failed, and delivered twice by whoever repeats it.',
  },
  {
    name: 'console-drops-letters-of-another-topic',
    file: `${SRC}/page/letters-element.ts`,
    find: '    this.refused = null;\n    this.#forgetTry();',
    put: '    this.refused = null;',
    tests: ELEMENTS,
    breaks: 'Letters of the topic that was left are dropped from the page of another.',
  },
  {
    name: 'console-drops-what-died-since',
    file: `${SRC}/dead-letters.ts`,
    find: "const ids = some.map(([, { letter = '' }]) => letter);",
    put: 'const ids = (await page(operator, undefined, 0)).map(({ id }) => id);',
    tests: BULK,
    only: 'SQLite dead letters',
    breaks: 'Letters that died after the dry run are dropped with those that it showed.',
  },
  {
    name: 'console-job-of-letters-ends-with-the-first-page',
    file: `${SRC}/dead-letters.ts`,
    find: 'after = letters.length < BITE ? null',
    put: 'after = letters.length > 0 ? null',
    tests: BULK,
    only: 'SQLite dead letters',
    breaks: 'All dead letters are delivered again, but only 500 of them are.',
  },
  {
    name: 'console-letters-asked-of-a-store-that-is-down',
    file: `${SRC}/dead-letters.ts`,
    find: 'from < fit.length && !isStopped()',
    put: 'from < fit.length',
    tests: BULK,
    only: 'SQLite dead letters',
    breaks: '“Stop” stops nothing, and a store that is down is asked on until nobody knows of any letter.',
  },
  {
    name: 'console-letters-by-the-right-to-records',
    file: `${SRC}/api-verbs.ts`,
    find: 'right: (body) => letterActOf(body) ?? readJob(body).act,',
    put: "right: (body) => (letterActOf(body) === null ? readJob(body).act : 'drop'),",
    tests: BULK,
    only: 'SQLite dead letters',
    breaks: 'Whoever may drop letters also delivers them again.',
  },
];
