/**
 * The scripts of the hot path: a fresh claim, the end of a living attempt, a sign of life; the first two also for many
 * records at once, as calling a script costs as much as what it does. Whatever else they meet they return whole, and
 * the state table decides.
 *
 * Invariants: as `statements.ts` says · of a script over several records each is decided for itself.
 */

import { CLOCK, ID_LENGTH, INDEXES, OVER } from './lua.ts';

/**
 * What a script puts into one index for many records is one command: half the server's time went into telling each by
 * itself.
 */
const GATHER = `
local function gathered(sets, key)
  local list = sets[key]
  if not list then list = {}; sets[key] = list end
  return list
end
local function tell(command, sets)
  for key, list in pairs(sets) do redis.call(command, key, unpack(list)) end
end
`;

/**
 * ARGV: id, scope, now or '', lock, retention (both in ms from now), state, attempt, the words of `head` from
 * `claim_ttl_ms` on, count of fields and values, these. → 1, now · or 0, now, record.
 */
export const CLAIM: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[3])
if redis.call('EXISTS', KEYS[1]) == 1 then return whole(now) end
local times = int(now) .. ' ' .. int(now + tonumber(ARGV[4])) .. ' ' .. int(now + tonumber(ARGV[5]))
redis.call('HSET', KEYS[1], 'head', '1 ' .. ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. times .. ' - - - ' .. ARGV[8], unpack(ARGV, 10))
index({}, places(head(KEYS[1])), ARGV[1], ARGV[2])
return { 1, now }
`;

/**
 * Claims of several keys, each to be run now and without an input. KEYS of each: the record, `open`, `caller`. ARGV:
 * now or '', then of each: lock, retention, the words of `head` from `claim_ttl_ms` on, `made`. → now, then of each 1
 * or its record.
 */
export const CLAIMS: string = `${CLOCK}${GATHER}
local call = redis.call
local now = clock(ARGV[1])
local first = '1 in_progress 1 ' .. int(now) .. ' '
-- Most rows have the same times, and putting a number into words costs more than finding it.
local later = {}
local function after(ms)
  local at = later[ms]
  if not at then at = int(now + tonumber(ms)); later[ms] = at end
  return at
end
local opens, callers = {}, {}
local replies = { now }
local a = 2
for k = 1, #KEYS, 3 do
  local key = KEYS[k]
  if call('EXISTS', key) == 1 then
    replies[#replies + 1] = call('HGETALL', key)
  else
    local id = string.sub(key, -${ID_LENGTH})
    local locked = after(ARGV[a])
    call('HSET', key, 'head', first .. locked .. ' ' .. after(ARGV[a + 1]) .. ' - - - ' .. ARGV[a + 2], 'made', ARGV[a + 3])
    local open, caller = gathered(opens, KEYS[k + 1]), gathered(callers, KEYS[k + 2])
    open[#open + 1] = locked
    open[#open + 1] = id
    caller[#caller + 1] = id
    replies[#replies + 1] = 1
  end
  a = a + 4
end
tell('ZADD', opens)
tell('SADD', callers)
return replies
`;

const ENDS_AT = `
local function ends_at(r, now, extend)
  return math.max(tonumber(r.expires_at), now + tonumber(r.replay_min_ms)) + tonumber(extend)
end
`;

/**
 * The owner's word on an attempt that lives. ARGV: id, scope, now or '', claim_id, attempt, state it must have, state
 * it gets, '1' if that is final, ms until a reconciler looks or '', ms of longer retention, count of fields and values,
 * these, fields to drop. → 1, now, expires_at.
 */
export const FINISH: string = `${CLOCK}${INDEXES}${ENDS_AT}
local now = clock(ARGV[3])
local r = head(KEYS[1])
if not r or r.claim_id ~= ARGV[4] or r.attempt ~= ARGV[5] or r.state ~= ARGV[6] then return whole(now) end
local before = places(r)
local expires = ends_at(r, now, ARGV[10])
moved(r)
r.state, r.locked_until, r.expires_at = ARGV[7], int(now), int(expires)
if ARGV[8] == '1' then r.finished_at, r.intent_at = int(now), '-' end
r.reconcile_after = ARGV[9] ~= '' and int(now + tonumber(ARGV[9])) or '-'
write(r, 11)
local after = places(r)
index(before, after, ARGV[1], ARGV[2])
live(r, after, now)
return { 1, now, expires }
`;

/**
 * Final ends of several living attempts that were claimed, not handed over. KEYS of each: the record, `open`, `age` of
 * the state it gets, `reap`. ARGV: now or '', then of each: scope, claim_id, attempt, state it gets, ms of longer
 * retention, `end`, the body or ''. → now, then of each expires_at or its record.
 */
export const ENDS: string = `${CLOCK}${OVER}${GATHER}
local call, match = redis.call, string.match
local now = clock(ARGV[1])
local at = int(now)
local lifetimes = {}
local closed, ages, reaps = {}, {}, {}
local replies = { now }
local a = 2
for k = 1, #KEYS, 4 do
  local key = KEYS[k]
  local version, state, attempt, created, expires, rest, claim
  local head = call('HGET', key, 'head')
  if head then
    version, state, attempt, created, expires, rest, claim =
      match(head, '^(%S+) (%S+) (%S+) (%S+) %S+ (%S+) %S+ %S+ %S+ (%S+ %S+ %S+ %S+ %S+) (.*)$')
  end
  if claim ~= ARGV[a + 1] or attempt ~= ARGV[a + 2] or state ~= 'in_progress' then
    replies[#replies + 1] = call('HGETALL', key)
  else
    local replay, tombstone = match(rest, '^%S+ %S+ (%S+) (%S+)')
    local expiry, extend = tonumber(expires), ARGV[a + 4]
    if extend ~= '0' or now + tonumber(replay) > expiry then
      expiry = math.max(expiry, now + tonumber(replay)) + tonumber(extend)
      expires = int(expiry)
    end
    version = version == '1' and '2' or int(tonumber(version) + 1)
    local to = ARGV[a + 3]
    call('HSET', key, 'head', version .. ' ' .. to .. ' ' .. attempt .. ' ' .. created .. ' ' .. at .. ' ' .. expires .. ' ' .. at
      .. ' - - ' .. rest .. ' ' .. claim, 'end', ARGV[a + 5], 'response_body', ARGV[a + 6])
    local id = string.sub(key, -${ID_LENGTH})
    local open, age = gathered(closed, KEYS[k + 1]), gathered(ages, KEYS[k + 2])
    open[#open + 1] = id
    age[#age + 1] = created
    age[#age + 1] = id
    local gone = expiry + tonumber(tombstone)
    if gone < NEVER then
      local word = tombstone == '0' and expires or int(gone)
      local lifetime = lifetimes[word]
      if not lifetime then lifetime = int(gone - now + GRACE); lifetimes[word] = lifetime end
      local reap = gathered(reaps, KEYS[k + 3])
      reap[#reap + 1] = word
      reap[#reap + 1] = id .. ARGV[a]
      call('PEXPIRE', key, lifetime)
    end
    replies[#replies + 1] = expiry
  end
  a = a + 7
end
tell('ZREM', closed)
tell('ZADD', ages)
tell('ZADD', reaps)
return replies
`;

/**
 * A sign of life, perhaps with what was done so far. ARGV: id, scope, now or '', claim_id, attempt, ms of the claim,
 * '1' an intent is open, '0' none is, '' as before, the renewals it was made upon or '', count of fields and values,
 * these, fields to drop. → 1, now.
 */
export const RENEW: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[3])
local r = head(KEYS[1])
if not r or r.claim_id ~= ARGV[4] or r.attempt ~= ARGV[5] or r.state ~= 'in_progress' then return whole(now) end
if ARGV[8] ~= '' and ARGV[8] ~= r.renewals then return whole(now) end
local before = places(r)
moved(r)
r.claim_ttl_ms, r.locked_until, r.renewals = ARGV[6], int(now + tonumber(ARGV[6])), int(tonumber(r.renewals) + 1)
if ARGV[7] == '1' then r.intent_at = int(now) end
if ARGV[7] == '0' then r.intent_at = '-' end
write(r, 9)
index(before, places(r), ARGV[1], ARGV[2])
return { 1, now }
`;
