/** The scripts of the Redis store. Some state the fence in Lua; all else is a compare-and-set on what was read. */

const CONTRACT = ['stores/redis.test.ts'];
const on = (/** @type {string} */ titles) => `redis with ioredis (?:${titles})`;
const STATES = on('states|owners|bytes and bulk');

/** @type {import('./mutant.mjs').Mutant[]} */
export const redis = [
  {
    name: 'redis-claim-over-what-stands',
    file: 'stores/redis/hot-statements.ts',
    find: "if redis.call('EXISTS', KEYS[1]) == 1 then return whole(now) end",
    put: '',
    tests: CONTRACT,
    only: on('progress|states'),
    breaks: 'A claim takes a key that somebody works on.',
  },
  {
    name: 'redis-claims-over-what-stands',
    file: 'stores/redis/hot-statements.ts',
    find: "if call('EXISTS', key) == 1 then",
    put: "if call('EXISTS', key) == 2 then",
    tests: CONTRACT,
    only: on('claims'),
    breaks: 'A claim in a flush takes a key that somebody works on.',
  },
  {
    name: 'redis-finish-without-claim',
    file: 'stores/redis/hot-statements.ts',
    find: 'if not r or r.claim_id ~= ARGV[4] or r.attempt ~= ARGV[5] or r.state ~= ARGV[6] then',
    put: 'if not r or r.attempt ~= ARGV[5] or r.state ~= ARGV[6] then',
    tests: CONTRACT,
    only: STATES,
    breaks: 'An owner of an earlier life of the key ends the attempt of the later one.',
  },
  {
    name: 'redis-finish-without-attempt',
    file: 'stores/redis/hot-statements.ts',
    find: 'if not r or r.claim_id ~= ARGV[4] or r.attempt ~= ARGV[5] or r.state ~= ARGV[6] then',
    put: 'if not r or r.claim_id ~= ARGV[4] or r.state ~= ARGV[6] then',
    tests: CONTRACT,
    only: STATES,
    breaks: 'A write of another attempt is taken where its claimId stands.',
  },
  {
    name: 'redis-ends-without-claim',
    file: 'stores/redis/hot-statements.ts',
    find: "if claim ~= ARGV[a + 1] or attempt ~= ARGV[a + 2] or state ~= 'in_progress' then",
    put: "if attempt ~= ARGV[a + 2] or state ~= 'in_progress' then",
    tests: CONTRACT,
    only: STATES,
    breaks: 'In a flush of ends an old owner writes into the attempt of its successor.',
  },
  {
    name: 'redis-renew-without-attempt',
    file: 'stores/redis/hot-statements.ts',
    find: "r.attempt ~= ARGV[5] or r.state ~= 'in_progress' then return whole(now) end",
    put: "r.state ~= 'in_progress' then return whole(now) end",
    tests: CONTRACT,
    only: STATES,
    breaks: 'A renewal of another attempt is taken where its claimId stands.',
  },
  {
    name: 'redis-write-over-what-was-not-read',
    file: 'stores/redis/statements.ts',
    find: 'if not r or r.version ~= ARGV[5] or r.claim_id ~= ARGV[6] then return { 0 } end',
    put: 'if not r then return { 0 } end',
    tests: ['stores/redis.test.ts', 'stores/redis-servers.test.ts'],
    only: 'redis with ioredis .*(?:claims|capabilities|sweeping|erasing)|race|at once',
    breaks: 'Two that take over one ended claim at once are both told that they have it.',
  },
  {
    name: 'redis-lets-go-of-what-lives',
    file: 'stores/redis/lua.ts',
    find: "redis.call('PERSIST', KEYS[1])",
    put: "redis.call('EXISTS', KEYS[1])",
    tests: ['stores/redis-servers.test.ts'],
    only: 'life of their own',
    breaks: 'A reopened record is deleted by Redis while somebody works on it, and the key runs again.',
  },
  {
    name: 'redis-reaps-before-its-time',
    file: 'stores/redis/statements.ts',
    find: 'if not p[REAP] or tonumber(p[REAP]) > now then return { 0 } end',
    put: 'if not p[REAP] then return { 0 } end',
    tests: ['stores/redis-servers.test.ts'],
    only: 'what an index says is looked at again',
    breaks: 'The reaper deletes an answer that is still to be replayed.',
  },
  {
    name: 'redis-end-shortens-life',
    file: 'stores/redis/hot-statements.ts',
    find: 'return math.max(tonumber(r.expires_at), now + tonumber(r.replay_min_ms)) + tonumber(extend)',
    put: 'return now + tonumber(r.replay_min_ms) + tonumber(extend)',
    tests: CONTRACT,
    only: on('owners a retention may be lengthened'),
    breaks: 'The end of an attempt shortens the retention.',
  },
];
