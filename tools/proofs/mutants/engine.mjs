/** What stands between requests and a store: claims looked for, kept, given up; answers saved; memory trusted. */

const ENGINES = ['engine/memory.test.ts'];
const CACHE = ['engine/replay-cache.test.ts'];

/** @type {import('./mutant.mjs').Mutant[]} */
export const engine = [
  {
    name: 'cache-other-body-replayed',
    file: 'engine/replay-cache.ts',
    find: 'if (label !== fingerprint.label || digest !== fingerprint.digest) return null;',
    put: '',
    tests: CACHE,
    breaks: 'Another request under the same key gets the answer of the first from memory.',
  },
  {
    name: 'cache-trusted-one-moment-too-long',
    file: 'engine/replay-cache.ts',
    find: 'return elapsedMs(world, asked) >= trustMs;',
    put: 'return elapsedMs(world, asked) > trustMs;',
    tests: CACHE,
    breaks: 'A key that was reopened runs while its old answer is still given from memory.',
  },
  {
    name: 'cache-trusted-by-one-clock',
    file: 'engine/replay-cache.ts',
    find: 'return Math.max(world.monotonicNow() - asked.monotonic, world.wallNow() - asked.wall);',
    put: 'return world.monotonicNow() - asked.monotonic;',
    tests: CACHE,
    breaks: 'A machine that slept gives an answer from memory that was forgotten hours ago.',
  },
  {
    name: 'cache-trusted-beyond-the-record',
    file: 'engine/replay-cache.ts',
    find: 'const trustMs = Math.min(timeMaxMs, lifeLeftMs);',
    put: 'const trustMs = timeMaxMs;',
    tests: CACHE,
    breaks: 'An answer is given from memory after its record has expired.',
  },
  {
    name: 'watch-does-not-begin-anew',
    file: 'store/time/claim-watch.ts',
    find: 'return `${attempt}.${renewals}.${createdAt} ${claimId}`;',
    put: 'return `${attempt}.${createdAt} ${claimId}`;',
    tests: ['stores/sqlite.test.ts'],
    only: 'capabilities',
    breaks: "Where there is no server's clock, a claim that is renewed all the time is taken over.",
  },
  {
    name: 'renewer-too-late',
    file: 'engine/renewer.ts',
    find: 'now - renewedAt >= settings.claimTtlMs / 3;',
    put: 'now - renewedAt >= settings.claimTtlMs;',
    tests: ENGINES,
    breaks: 'A handler that is only slow loses its claim.',
  },
  {
    name: 'renewer-hung-handler',
    file: 'engine/renewer.ts',
    find: 'if (attempt.onTimeUp !== null && now - attempt.startedAt >= settings.attemptTimeMaxMs) {',
    put: 'if (attempt.onTimeUp !== null && now - attempt.startedAt < 0) {',
    tests: ENGINES,
    only: 'owners',
    breaks: 'A handler that hangs holds its key for ever.',
  },
  {
    name: 'saver-tries-once',
    file: 'engine/ending/saver.ts',
    find: 'if (stopped || now >= until) return null;',
    put: 'if (stopped || pauseMs > PAUSE_MIN_MS) return null;',
    tests: ENGINES,
    only: 'faults',
    breaks: 'An answer that left unstored is never stored, though the store is back.',
  },
  {
    name: 'abandoned-forgotten-at-once',
    file: 'engine/abandoned.ts',
    find: 'if (claim.until <= now) one.over.push(claimId);',
    put: 'one.over.push(claimId);',
    tests: ENGINES,
    only: 'faults',
    breaks: 'A claim that nobody runs under and that arrives late holds its key, and ends as unknown.',
  },
  {
    name: 'waiter-ignores-its-deadline',
    file: 'engine/waiter.ts',
    find: 'if (one.deadline <= now) end(text, key, one, false);\n        else if',
    put: 'if',
    tests: ENGINES,
    only: 'once|races|lifetimes',
    breaks: 'A request that waits for another waits for longer than its client does.',
  },
  {
    name: 'engine-ended-inside-is-proof',
    file: 'ways/commit-once.ts',
    find: "if (!isWhole) return { kind: 'stopped', to: 'unknown', reason: ENDED_INSIDE, error };",
    put: '',
    tests: ['tx/sqlite.test.ts'],
    only: 'ended inside',
    breaks:
      'A transaction that was committed inside the handler counts as rolled back, and the handler runs again (F122).',
  },
  {
    name: 'engine-known-key-refused-by-a-new-rule',
    file: 'engine/engine.ts',
    find: 'return standing.ifNew(work, work.ifNew);',
    put: 'return work.ifNew;',
    tests: ['adapters/fetch.test.ts'],
    only: 'rule that holds for new keys only',
    breaks:
      'A retry of a known key is told that the key is wrong, and its client makes a new one: the operation may run twice.',
  },
];
