/** The MySQL store: locks, fences, and what a driver's count of rows must not decide. */

const CONTRACT = ['stores/mysql.test.ts'];
const SPECIFICS = ['stores/mysql-specifics.test.ts'];
const on = (/** @type {string} */ titles) => `MySQL with mysql2 (?:${titles})`;

/** @type {import('./mutant.mjs').Mutant[]} */
export const mysql = [
  {
    name: 'mysql-held-row-decided-on',
    file: 'stores/mysql/records.ts',
    find: 'if (held.has(id) || (seen === undefined && isBusyWithout)) return BUSY;',
    put: 'if (seen === undefined && isBusyWithout) return BUSY;',
    tests: SPECIFICS,
    breaks: 'A row that somebody holds counts as gone: its owner is told that it has lost its claim.',
  },
  {
    name: 'mysql-waits-for-locks',
    file: 'stores/mysql/records.ts',
    find: "const { lock = 'FOR UPDATE SKIP LOCKED', rowOf",
    put: "const { lock = 'FOR UPDATE', rowOf",
    tests: SPECIFICS,
    breaks: 'One open transaction holds up the renewals and ends of all others.',
  },
  {
    name: 'mysql-implicit-commit-unnoticed',
    file: 'stores/mysql/within.ts',
    find: 'if (errorNumberOf((error as { cause?: unknown }).cause) !== NO_SAVEPOINT) throw error;\n        throw ended(marked);',
    put: 'if (errorNumberOf((error as { cause?: unknown }).cause) !== NO_SAVEPOINT) throw error;',
    tests: SPECIFICS,
    breaks:
      "A schema change commits the handler's writes, and the end of the attempt is written outside of them.",
  },
  {
    name: 'mysql-second-request-sees-the-first-state',
    file: 'stores/mysql/records.ts',
    find: 'const before = change === undefined ? (seen?.record ?? null) : change.write;',
    put: 'const before = seen?.record ?? null;',
    tests: CONTRACT,
    only: on('bytes and bulk of writes on one record'),
    breaks: 'Of two writes on one record in one call the second is decided on what the first has changed.',
  },
  {
    name: 'mysql-reaps-an-open-effect',
    file: 'stores/mysql/housekeeping.ts',
    find: '"r.state = \'retryable\' AND r.intent_at IS NULL",',
    put: '"r.state = \'retryable\'",',
    tests: CONTRACT,
    only: on('progress|sweeping'),
    breaks: 'The reaper deletes a record whose effect may have happened, and the key runs again.',
  },
  {
    name: 'mysql-retries-left-out',
    file: 'stores/mysql/housekeeping.ts',
    find: 'if (tries === HAND_TRIES_MAX) {',
    put: 'if (tries === 1) {',
    tests: ['stores/mysql-specifics.test.ts'],
    only: 'an act by hand is tried again',
    breaks: "An operator's act fails whenever somebody holds the row for a moment.",
  },
  {
    name: 'mysql-transition-told-of-renewals',
    file: 'stores/mysql/transitions.ts',
    find: "'OLD.state = NEW.state AND OLD.attempt = NEW.attempt AND OLD.claim_id = NEW.claim_id'",
    put: "'OLD.state = NEW.state AND OLD.renewals = NEW.renewals'",
    tests: ['stores/mysql-transitions.test.ts'],
    only: 'renewals, replays and claims that lose',
    breaks: 'The audit fills with rows of renewals.',
  },
];
