/**
 * Keys that are reserved in the transaction that does their work: `ways/reservation`, `engine/reserver`,
 * `stores/postgres/reserve`.
 */

const STORES = ['stores/postgres.test.ts'];
const FORM = ['tx/memory.test.ts'];
const RESERVED = 'reserved in the transaction';

/** @type {import('./mutant.mjs').Mutant[]} */
export const reserved = [
  {
    name: 'reserved-second-record-taken-for-written',
    file: 'stores/postgres/reserve.ts',
    find: "if (row !== undefined) return { kind: 'applied', expiresAt: number(row[0]) };",
    put: "if (record !== null) return { kind: 'applied', expiresAt: number(row?.[0] ?? 0) };",
    tests: STORES,
    only: 'reservations',
    breaks: 'Somebody was first, and the work of both is committed.',
  },
  {
    name: 'reserved-without-lock',
    file: 'stores/postgres/reserve-statements.ts',
    find: 'CASE WHEN w.told THEN pg_try_advisory_xact_lock(w.id) ELSE false END AS free',
    put: 'w.told AS free',
    tests: STORES,
    only: 'reservations',
    breaks: 'Two requests under one key run side by side, and the second one is rolled back at its end.',
  },
  {
    name: 'reserved-duplicate-told-as-another-request',
    file: 'stores/postgres/reserve.ts',
    find: "if (isSet(same)) return 'same';",
    put: '',
    tests: STORES,
    only: 'reservations',
    breaks: 'A duplicate is told that its key was used for another request, while its own runs (F12).',
  },
  {
    name: 'reserved-compared-in-another-way',
    file: 'stores/postgres/reserve-statements.ts',
    find: "WHEN ${isHeld('q.way')} THEN 0 ELSE 1 END",
    put: "WHEN ${isHeld('q.way')} THEN 0 ELSE 0 END",
    tests: STORES,
    only: 'reservations',
    breaks: 'While secrets of fingerprints change, a duplicate is told that it is another request.',
  },
  {
    name: 'reserved-where-a-record-stands',
    file: 'stores/postgres/reserve.ts',
    find: "if (isSet(known)) return 'known';\n      return isSet(free)",
    put: 'return isSet(free)',
    tests: STORES,
    only: 'reservations',
    breaks: 'A replay runs its handler, and is rolled back.',
  },
  {
    name: 'reserved-rolled-back-not-noted',
    file: 'ways/reservation.ts',
    find: 'return (await owner.note(this.#claimed(), until)) ?? ended;',
    put: 'return until < 0 ? { kind: ended.kind, error: ended.error } as typeof ended : ended;',
    tests: FORM,
    only: RESERVED,
    breaks: 'A handler that fails for ever runs for ever: nobody counts.',
  },
  {
    name: 'reserved-message-left-behind',
    file: 'ways/reservation.ts',
    find: 'await within.enqueue(ofRecord.splice(0));',
    put: '',
    tests: FORM,
    only: RESERVED,
    breaks: 'What was handed over waits for a worker that never hears of it.',
  },
  {
    name: 'reserved-what-a-worker-runs',
    file: 'engine/reserver.ts',
    find: "return entry === 'run' && input === null && younger.length === 0;",
    put: 'return younger.length === 0;',
    tests: ['ways/deferred.test.ts'],
    breaks: 'A deferred operation runs at once, in the request.',
  },
  {
    name: 'reserved-for-ever-by-the-dead',
    file: 'stores/memory/transactions.ts',
    find: 'return held === undefined || now() > held.staged.commitUntil ? undefined : held.fingerprint;',
    put: 'return held?.fingerprint;',
    tests: ['simulator/workers.test.ts'],
    breaks: 'A machine that dies in its transaction holds the key for ever.',
  },
  {
    name: 'reserved-answer-in-clear',
    file: 'seal/sealed-within.ts',
    find: 'after(end === null ? null : sealAnswer(sealer, end), (sealed) =>',
    put: 'after(end, (sealed) =>',
    tests: ['seal/stored-bytes.test.ts'],
    breaks: 'Answers of this form stand in the database unsealed.',
  },
  {
    name: 'reserved-without-locks-in-silence',
    file: 'ways/transactional.ts',
    find: "if (reserve === 'in-transaction') checkReserves(from, definition.name);",
    put: '',
    tests: ['stores/sqlite.test.ts'],
    only: 'its transactional way',
    breaks: 'On a store without such locks every request takes the slow way, and nobody is told.',
  },
  {
    name: 'reserved-late-although-connected',
    file: 'ways/reservation.ts',
    find: 'timer?.cancel();\n      };',
    put: '};',
    tests: ['ways/reservation.test.ts'],
    breaks: 'On a busy machine a new key meets its own lock, and is answered 409.',
  },
];
