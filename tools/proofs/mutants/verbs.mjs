/** The verbs that stores share: each has to fail in the tests of the room, and where it says so on the stores. */

const ROOM = ['stores/verbs.test.ts'];
const CLOCKS = 'server clocks that are set';

/** @type {import('./mutant.mjs').Mutant[]} */
export const verbs = [
  {
    name: 'verbs-clock-nobody-looks',
    file: 'stores/verbs/upkeep.ts',
    find: '    await parts.look?.();\n    const over',
    put: '    const over',
    tests: ['stores/mysql.test.ts', 'stores/postgres-distributed.test.ts'],
    only: CLOCKS,
    breaks: 'Nobody is told that the server’s clock is off, and it is never believed.',
  },
  {
    name: 'verbs-retries-left-out',
    file: 'stores/verbs/by-hand.ts',
    find: 'if (tries === TRIES_MAX) throw held();',
    put: 'if (tries === 1) throw held();',
    tests: [...ROOM, 'stores/mysql-specifics.test.ts'],
    only: 'is tried again',
    breaks: "An operator's act fails whenever somebody holds the row for a moment.",
  },
  {
    name: 'verbs-act-without-a-row',
    file: 'stores/verbs/by-hand.ts',
    find: 'const answers = await change(asked, decide, rowOf);',
    put: 'const answers = await change(asked, decide, tries < 0 ? rowOf : undefined);',
    tests: ROOM,
    breaks: 'An act by hand is done, and the audit does not know of it.',
  },
  {
    name: 'verbs-count-keeps-what-is-gone',
    file: 'stores/verbs/by-hand.ts',
    find: '      if (after === null) deleted.add(request);\n',
    put: '      if (after !== null) deleted.add(request);\n',
    tests: ROOM,
    breaks: 'A caller is refused for keys that were forgotten.',
  },
  {
    name: 'verbs-reaped-keys-stay-counted',
    file: 'stores/verbs/upkeep.ts',
    find: 'if (parts.counters !== undefined) await takeOff(',
    put: 'if (parts.counters !== undefined && limit < 0) await takeOff(',
    tests: ROOM,
    breaks: 'A caller is refused for keys that were reaped.',
  },
  {
    name: 'verbs-overtakes-the-busy',
    file: 'stores/verbs/by-hand.ts',
    find: 'if (isDone(i) || ids.has(id)) return false;',
    put: 'if (isDone(i)) return false;',
    tests: ROOM,
    breaks: 'Of two acts on one record the later one is done first where somebody held it for a moment.',
  },
  {
    name: 'verbs-done-and-denied',
    file: 'stores/verbs/by-hand.ts',
    find: "some(({ kind }) => kind === 'applied') ? unclear(error) : error;",
    put: "some(({ kind }) => kind !== 'applied') ? unclear(error) : error;",
    tests: [...ROOM, 'stores/postgres-locks.test.ts'],
    only: 'not deny what it has done|PostgreSQL 18.*an act by hand on a row that stays locked',
    breaks: 'An operator is told that nothing was applied, although the first of two acts was.',
  },
  {
    name: 'verbs-takes-a-new-life',
    file: 'stores/verbs/upkeep.ts',
    find: 'if (isAsked?.has(record.operation) === false) return undefined;',
    put: '',
    tests: ROOM,
    breaks: 'A reconciler is given a record of an operation that it does not know.',
  },
  {
    name: 'verbs-erases-one-round',
    file: 'stores/verbs/erase.ts',
    find: 'isMore = done.erased > 0 && done.found >= most;',
    put: 'isMore = false;',
    tests: ROOM,
    breaks: 'Of a caller with many records one round is erased, and the call ends.',
  },
  {
    name: 'verbs-reaped-and-not-told',
    file: 'stores/verbs/upkeep.ts',
    find: 'if (reaped.length === 0) throw error;',
    put: 'throw error;',
    tests: ROOM,
    breaks: 'Keys that are deleted before a fault are counted for ever, and their callers meet their limit.',
  },
];
