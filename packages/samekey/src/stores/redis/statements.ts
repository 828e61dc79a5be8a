/**
 * The scripts: each is one atomic step on one record and the indexes of its shard, which share a hash tag and so a server. What
 * is decided is decided by `core/machine.ts`; scripts hold the three steps that must be one round trip (a fresh claim, the end of
 * a living attempt, a renewal), a compare-and-set for everything else, and the upkeep of the indexes.
 *
 * Invariants: a record and its places in the indexes are written by the same script, so neither is there without the other · each write
 * moves `version` on, and `version` with `claim_id` never repeats for a key, so what was read is what is replaced · time is the
 * server's `TIME`; a compare-and-set made on a reading older than {@link READ_AGE_MAX_MS} is refused · the first write of a script
 * is refused by a server without memory or replicas, and no later one, so a script that failed has written nothing.
 * Sources: https://redis.io/docs/latest/develop/programmability/eval-intro/, https://redis.io/docs/latest/commands/evalsha/.
 */

/** A script and how it is known to the server. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** How old a reading may be that a compare-and-set is made on, in milliseconds: what it writes counts from then. */
export const READ_AGE_MAX_MS = 1_000;

/**
 * How long a final record stays after its life, in milliseconds, before Redis deletes it by itself: the reaper comes first and tells of
 * it, and a clock that was set ahead for a moment takes nothing away.
 */
export const EXPIRY_GRACE_MS = 3_600_000;

/**
 * The keys of a record's scripts, in their order: the record, its places by age for each state, and by what is to be done with it and when.
 */
export const RECORD_KEYS: readonly string[] = [
  'record',
  'age:pending',
  'age:in_progress',
  'age:completed',
  'age:failed',
  'age:retryable',
  'age:unknown',
  'open',
  'due',
  'ask',
  'lost',
  'reap',
  'scope',
];

const CLOCK = `
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end
local function int(n) return string.format('%.0f', n) end
`;

const INDEXES = `
local AGE = { pending = 2, in_progress = 3, completed = 4, failed = 5, retryable = 6, unknown = 7 }
local OPEN, DUE, ASK, LOST, REAP, SCOPE = 8, 9, 10, 11, 12, 13
local NEVER = 253402300799000
local LOOK = { 'state', 'created_at', 'locked_until', 'reconcile_after', 'expires_at', 'tombstone_ms', 'intent_at',
  'attempt', 'fingerprint_label', 'scope', 'claim_id', 'version', 'replay_min_ms' }
local function seen()
  local v = redis.call('HMGET', KEYS[1], unpack(LOOK))
  if not v[1] then return nil end
  local r = {}
  for i, name in ipairs(LOOK) do r[name] = v[i] end
  r.input = redis.call('HEXISTS', KEYS[1], 'input') == 1
  return r
end
local function places(r)
  local p = {}
  if not r then return p end
  local s = r.state
  p[SCOPE] = '0'
  if AGE[s] then p[AGE[s]] = r.created_at end
  if s == 'in_progress' or s == 'pending' then p[OPEN] = r.locked_until end
  if r.input and r.fingerprint_label and (s == 'retryable' or (s == 'pending' and r.attempt == '0')) then
    p[DUE] = r.created_at
  end
  if s == 'unknown' then
    if r.reconcile_after then p[ASK] = r.reconcile_after end
    p[LOST] = r.locked_until
  end
  if s == 'completed' or s == 'failed' or (s == 'retryable' and not r.intent_at) then
    local over = tonumber(r.expires_at) + tonumber(r.tombstone_ms)
    if over < NEVER then p[REAP] = int(over) end
  end
  return p
end
local function member(set, id, scope)
  if set == REAP then return id .. scope end
  if set == SCOPE then return scope .. '\\0' .. id end
  return id
end
local function index(before, after, id, scope)
  for set, score in pairs(after) do
    if before[set] ~= score then redis.call('ZADD', KEYS[set], score, member(set, id, scope)) end
  end
  for set in pairs(before) do
    if not after[set] then redis.call('ZREM', KEYS[set], member(set, id, scope)) end
  end
end
local function live(r, p, now)
  if p[REAP] and (r.state == 'completed' or r.state == 'failed') then
    -- Counted from now, so that a test's clock need not be the server's.
    redis.call('PEXPIRE', KEYS[1], int(tonumber(p[REAP]) - now + ${EXPIRY_GRACE_MS}))
  else
    redis.call('PERSIST', KEYS[1])
  end
end
local function whole(now) return { 0, now, redis.call('HGETALL', KEYS[1]) } end
local function change(from)
  local n = tonumber(ARGV[from])
  if n > 0 then redis.call('HSET', KEYS[1], unpack(ARGV, from + 1, from + n)) end
  if #ARGV > from + n then redis.call('HDEL', KEYS[1], unpack(ARGV, from + n + 1)) end
end
`;

const NOTE = `
local function note(set, now, text)
  local t = redis.call('TIME')
  local seq = tonumber(t[1]) * 1000000 + tonumber(t[2])
  local last = redis.call('ZREVRANGE', set, 0, 0, 'WITHSCORES')[2]
  if last and tonumber(last) >= seq then seq = tonumber(last) + 1 end
  redis.call('ZADD', set, int(seq), int(seq) .. ' ' .. int(now) .. ' ' .. text)
end
`;

/** ARGV: id, now or '', lock, retention (both in ms from now), then fields and values. → 1, now · or 0, now, record. */
export const CLAIM: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 1 then return whole(now) end
redis.call('HSET', KEYS[1], 'version', '1', 'created_at', int(now), 'locked_until', int(now + tonumber(ARGV[3])),
  'expires_at', int(now + tonumber(ARGV[4])), unpack(ARGV, 5))
local r = seen()
index({}, places(r), ARGV[1], r.scope)
return { 1, now }
`;

/**
 * The owner's word on an attempt that lives. ARGV: id, now or '', claim_id, attempt, state it must have, '1' if it becomes final,
 * ms until a reconciler looks or '', ms of longer retention, count of fields and values, these, fields to drop. → 1, now, expires_at.
 */
export const FINISH: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[2])
local r = seen()
if not r or r.claim_id ~= ARGV[3] or r.attempt ~= ARGV[4] or r.state ~= ARGV[5] then return whole(now) end
local before = places(r)
local expires = math.max(tonumber(r.expires_at), now + tonumber(r.replay_min_ms)) + tonumber(ARGV[8])
redis.call('HSET', KEYS[1], 'version', int(tonumber(r.version) + 1), 'locked_until', int(now), 'expires_at', int(expires))
change(9)
if ARGV[6] == '1' then
  redis.call('HSET', KEYS[1], 'finished_at', int(now))
  redis.call('HDEL', KEYS[1], 'intent_at')
end
if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], 'reconcile_after', int(now + tonumber(ARGV[7]))) end
local s = seen()
local after = places(s)
index(before, after, ARGV[1], r.scope)
live(s, after, now)
return { 1, now, expires }
`;

/**
 * A sign of life, perhaps with what was done so far. ARGV: id, now or '', claim_id, attempt, ms of the claim, '1' an intent is open, '0'
 * none is, '' as before, count of fields and values, these, fields to drop. → 1, now.
 */
export const RENEW: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[2])
local r = seen()
if not r or r.claim_id ~= ARGV[3] or r.attempt ~= ARGV[4] or r.state ~= 'in_progress' then return whole(now) end
local before = places(r)
redis.call('HSET', KEYS[1], 'version', int(tonumber(r.version) + 1), 'claim_ttl_ms', ARGV[5],
  'locked_until', int(now + tonumber(ARGV[5])))
redis.call('HINCRBY', KEYS[1], 'renewals', 1)
if ARGV[6] == '1' then redis.call('HSET', KEYS[1], 'intent_at', int(now)) end
if ARGV[6] == '0' then redis.call('HDEL', KEYS[1], 'intent_at') end
change(7)
index(before, places(seen()), ARGV[1], r.scope)
return { 1, now }
`;

/** → 0, now, record. */
export const READ: string = `${CLOCK}
return { 0, clock(ARGV[1]), redis.call('HGETALL', KEYS[1]) }
`;

/**
 * Replaces what was read, or deletes it. ARGV: id, now or '', time of the reading, version and claim_id that were read, row for the audit
 * or '' (KEYS[14] is where it goes), then fields and values; none deletes. → 1, or 0 when something else stands there or too late.
 */
export const WRITE: string = `${CLOCK}${INDEXES}${NOTE}
local now = clock(ARGV[2])
local r = seen()
if not r or r.version ~= ARGV[4] or r.claim_id ~= ARGV[5] then return { 0 } end
if now - tonumber(ARGV[3]) > ${READ_AGE_MAX_MS} then return { 0 } end
local before = places(r)
if #ARGV >= 7 then
  redis.call('HSET', KEYS[1], 'version', int(tonumber(r.version) + 1), unpack(ARGV, 7))
  local given = { version = true }
  for i = 7, #ARGV, 2 do given[ARGV[i]] = true end
  local drop = {}
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do if not given[name] then drop[#drop + 1] = name end end
  if #drop > 0 then redis.call('HDEL', KEYS[1], unpack(drop)) end
  local s = seen()
  local after = places(s)
  index(before, after, ARGV[1], r.scope)
  live(s, after, now)
else
  redis.call('DEL', KEYS[1])
  index(before, {}, ARGV[1], r.scope)
end
if ARGV[6] ~= '' then note(KEYS[14], now, ARGV[6]) end
return { 1 }
`;

/**
 * Deletes what is past its life, and what is left in the indexes of a record that Redis deleted by itself. ARGV: id, now or '', scope.
 * → 1 if it did.
 */
export const REAP: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[2])
local r = seen()
if r then
  local p = places(r)
  if not p[REAP] or tonumber(p[REAP]) > now then return { 0 } end
  redis.call('DEL', KEYS[1])
  index(p, {}, ARGV[1], r.scope)
  return { 1 }
end
local gone = redis.call('ZREM', KEYS[REAP], member(REAP, ARGV[1], ARGV[3]))
for set = 2, SCOPE do redis.call('ZREM', KEYS[set], member(set, ARGV[1], ARGV[3])) end
return { gone }
`;

/** What in a set has been due for so long, the longest first. KEYS: the set. ARGV: now or '', ms, limit. → members and scores. */
export const RIPE: string = `${CLOCK}
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', int(clock(ARGV[1]) - tonumber(ARGV[2])), 'WITHSCORES', 'LIMIT', 0, ARGV[3])
`;

/** Adds a row to the audit. KEYS: the set of its act. ARGV: now or '', row. */
export const ADD_NOTE: string = `${CLOCK}${NOTE}
note(KEYS[1], clock(ARGV[1]), ARGV[2])
return { 1 }
`;

/** Rows that are old enough, the oldest first. KEYS: the set of an act. ARGV: now or '', age in ms, limit. → rows. */
export const OLD_NOTES: string = `${CLOCK}
local latest = clock(ARGV[1]) - tonumber(ARGV[2])
local old = {}
for _, row in ipairs(redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[3]) - 1)) do
  if tonumber(string.match(row, '^%d+ (%d+) ')) > latest then break end
  old[#old + 1] = row
end
return old
`;

/** Writes nothing new, but writes: a WAIT behind it is about the record as it stands. ARGV: claim_id it must have. → 1 if it has. */
export const TOUCH: string = `
if redis.call('HGET', KEYS[1], 'claim_id') ~= ARGV[1] then return { 0 } end
redis.call('HINCRBY', KEYS[1], 'version', 0)
return { 1 }
`;
