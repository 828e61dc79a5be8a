/** The MySQL store: locks, fences, and what a driver's count of rows must not decide. */

const CONTRACT = ['stores/mysql.test.ts'];
const SPECIFICS = ['stores/mysql-specifics.test.ts'];
const on = (/** @type {string} */ titles) => `MySQL with mysql2 (?:${titles})`;

const CLOCKS = on('server clocks that are set');

/** @type {import('./mutant.mjs').Mutant[]} */
export const mysql = [
  {
    name: 'mysql-clock-believed-at-once',
    file: 'stores/mysql/tables.ts',
    find: 'THEN ${clock} ELSE ${bound} END)',
    put: 'THEN ${clock} ELSE ${clock} END)',
    tests: CONTRACT,
    only: CLOCKS,
    breaks: 'A server’s clock that is ahead for a moment makes finished keys run again.',
  },
  {
    name: 'mysql-clock-life-of-a-claim',
    file: 'stores/mysql/hot-path.ts',
    find: "if (name === 'expires_at') return `${later} + ${literal}`;",
    put: "if (name === 'expires_at') return `${now} + ${literal}`;",
    tests: CONTRACT,
    only: CLOCKS,
    breaks: 'Where the clock is right and what processes measured is behind, a record ends too early.',
  },
  {
    name: 'mysql-clock-claim-stands-for-a-day',
    file: 'stores/mysql/hot-path.ts',
    find: 'return `${now} + ${literal}${condition}`;',
    put: 'return `${later} + ${literal}${condition}`;',
    tests: CONTRACT,
    only: CLOCKS,
    breaks: 'A claim made in the wrong second by a process that dies stands for 25 hours.',
  },
  {
    name: 'mysql-clock-reaps-early',
    file: 'stores/mysql/upkeep.ts',
    find: 'r.due_at <= ${tables.now} ORDER BY',
    put: 'r.due_at <= ${tables.later} ORDER BY',
    tests: CONTRACT,
    only: CLOCKS,
    breaks: 'The reaper deletes what a clock that is ahead for a moment calls expired.',
  },
  {
    name: 'mysql-clock-leap-takes-claims',
    file: 'stores/mysql/records.ts',
    find: 'return serverView(before, seen?.now ?? 0, seen?.laterNow, heldMs);',
    put: 'return serverView(before, seen?.now ?? 0, seen?.laterNow, heldMs * 0);',
    tests: CONTRACT,
    only: CLOCKS,
    breaks: 'When a clock is believed, living claims of processes that do not know it yet are taken over.',
  },
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
    find: 'throw numberOfCause(error) === NO_SAVEPOINT ? ended(wasOpen) : error;',
    put: 'if (numberOfCause(error) !== NO_SAVEPOINT) throw error;',
    tests: SPECIFICS,
    breaks:
      "A schema change commits the handler's writes, and the end of the attempt is written outside of them.",
  },
  {
    name: 'mysql-session-as-it-comes',
    file: 'stores/mysql/link.ts',
    find: 'for (const statement of sessionStatements(options.lockWaitMaxS ?? 1))',
    put: 'for (const statement of sessionStatements(options.lockWaitMaxS ?? 1).slice(0, 1))',
    tests: ['stores/hostile-sessions.test.ts'],
    only: 'autocommit|completion_type|select_limit|READ ONLY',
    breaks:
      'What a server makes of its sessions decides whether a claim that was acknowledged is committed (F121).',
  },
  {
    name: 'mysql-demoted-primary-written-to',
    file: 'stores/mysql/session.ts',
    find: 'return `IF(${holds}, 0,',
    put: 'return `IF(TRUE OR ${holds}, 0,',
    tests: ['stores/hostile-sessions.test.ts'],
    only: 'a primary that was demoted',
    breaks:
      'A busy session of an administrator goes on claiming on a primary that another one has replaced (F125).',
  },
  {
    name: 'mysql-writes-after-a-deadlock',
    file: 'stores/mysql/within.ts',
    find: "const LATER_READ_ONLY = 'SET SESSION TRANSACTION READ ONLY';",
    put: "const LATER_READ_ONLY = 'SET SESSION TRANSACTION READ WRITE';",
    tests: ['tx/knex-mysql.test.ts'],
    only: 'deadlock that the handler catches',
    breaks:
      'What a handler sends after a deadlock that it caught commits by itself, and again with the next run (F122).',
  },
  {
    name: 'mysql-ended-taken-for-rolled-back',
    file: 'stores/mysql/within.ts',
    find: '          return isVictim;',
    put: '          return true;',
    tests: ['tx/mysql2.test.ts'],
    only: 'ended inside',
    breaks:
      'What a procedure committed inside the handler is proven to have been rolled back, and is done again (F122).',
  },
  {
    name: 'mysql-releases-the-library-s-savepoint',
    file: 'stores/mysql/within.ts',
    find: '        if (!isLimited) await checkOpen();\n        await enqueue(',
    put: '        if (!isLimited) await checkOpen();\n        else if (mark !== null) {\n          await release(mark, true);\n          await ask(`SAVEPOINT ${mark}`);\n        }\n        await enqueue(',
    tests: ['tx/knex-mysql.test.ts'],
    only: 'nested',
    breaks: 'What a nested transaction of the library rolled back is committed, with its message (F124).',
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
    file: 'stores/mysql/upkeep.ts',
    find: "state === 'retryable' ? ' AND r.intent_at IS NULL' : ''",
    put: "''",
    tests: CONTRACT,
    only: on('progress|sweeping'),
    breaks: 'The reaper deletes a record whose effect may have happened, and the key runs again.',
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
  {
    name: 'mysql-holders-live-on',
    file: 'stores/mysql/holders.ts',
    find: 'if (other === undefined || other.state === record.state) continue;',
    put: 'if (other !== undefined) continue;',
    tests: SPECIFICS,
    only: 'stands still before its COMMIT',
    breaks: 'A process that is frozen before its COMMIT holds its key for eight hours (F126).',
  },
];
