/** The console: who is let in, from where, with which right and reason, and what a preview and a reveal may do. */

const SRC = 'packages/console/src';
const ACCESS = ['packages/console/test/access.test.ts'];
const ACTS = ['packages/console/test/acts.test.ts'];
const LISTS = ['packages/console/test/lists.test.ts'];
const LETTERS = ['packages/console/test/letters.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const operatorsPage = [
  {
    name: 'console-acts-without-a-right',
    file: `${SRC}/api-verbs.ts`,
    find: 'if (right !== null && !user.rights.includes(right)) {',
    put: 'if (right !== null && user.rights.length > 0 && !user.rights.includes(right) && verb.isAct === false) {',
    tests: ACTS,
    only: 'SQLite',
    breaks: 'Whoever may look settles payments.',
  },
  {
    name: 'console-acts-without-a-reason',
    file: `${SRC}/asked-body.ts`,
    find: "if (reason === undefined || reason.trim() === '')",
    put: 'if (reason === undefined)',
    tests: ACTS,
    only: 'SQLite',
    breaks: 'The audit says that somebody did it because of a blank.',
  },
  {
    name: 'console-reveals-before-the-audit',
    file: `${SRC}/reveal.ts`,
    find: '  await store.note(',
    put: '  void store.note(',
    tests: ACTS,
    only: 'SQLite',
    breaks: 'What a record holds is shown where no row of it could be written.',
  },
  {
    name: 'console-preview-writes',
    file: `${SRC}/record-acts.ts`,
    find: 'createOperator({ store: dry(store), actor })',
    put: 'createOperator({ store, actor })',
    tests: ACTS,
    only: 'SQLite',
    breaks: 'Looking at what would happen makes it happen.',
  },
  {
    name: 'console-acts-on-what-was-not-seen',
    file: `${SRC}/record-acts.ts`,
    find: 'const by = { reason, seen: { claimId, attempt } };',
    put: 'const by = { reason, was: { claimId, attempt } && undefined };',
    tests: ACTS,
    only: 'SQLite',
    breaks: 'A record that has moved on since somebody looked is settled all the same.',
  },
  {
    name: 'console-takes-other-hosts',
    file: `${SRC}/access.ts`,
    find: '(from !== null && hostOf(from) !== hostOf(own))',
    put: "(from !== null && hostOf(from) === '' && from !== 'null')",
    tests: ACCESS,
    breaks: 'A page of another host that a browser lets through acts in the name of whoever reads it.',
  },
  {
    name: 'console-takes-forms',
    file: `${SRC}/access.ts`,
    find: "if (request.headers.get(HEADER) !== '1')",
    put: "if (request.headers.get(HEADER) === '0')",
    tests: ACCESS,
    breaks: 'What any page can send without asking first is taken for the console’s own.',
  },
  {
    name: 'console-takes-any-cookie-of-the-name',
    file: `${SRC}/access.ts`,
    find: 'return name === wanted.name && isSame(value, wanted.value);',
    put: 'return name === wanted.name || isSame(value, wanted.value);',
    tests: ACCESS,
    breaks: 'Whoever knows the name of the cookie is signed in.',
  },
  {
    name: 'console-uncertain-is-failed',
    file: `${SRC}/dead-letters.ts`,
    find: "const end = error.applied === 'no' ? 'failed' : 'uncertain';",
    put: "const end = error.applied === 'no' || error.transient ? 'failed' : 'uncertain';",
    tests: LETTERS,
    breaks: 'What the store left unsaid is told as failed, and delivered twice by whoever repeats it.',
  },
  {
    name: 'console-pages-lose-records-of-one-moment',
    file: `${SRC}/lists.ts`,
    find: 'createdBefore: Math.floor(cursor.at) + 1',
    put: 'createdBefore: Math.floor(cursor.at)',
    tests: LISTS,
    only: 'SQLite',
    breaks: 'Records of the millisecond in which a page ended are on no page.',
  },
];
