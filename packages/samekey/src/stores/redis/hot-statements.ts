/**
 * The scripts of the hot path: a fresh claim, the end of a living attempt, a sign of life; the first two also for many records at once, as
 * calling a script costs as much as what it does. Whatever else they meet they return whole, and the state table decides.
 *
 * Invariants: as `statements.ts` says · of a script over several records each is decided for itself.
 */

import { CLOCK, HEAD, INDEXES, OVER } from './lua.ts';

/**
 * ARGV: id, scope, now or '', lock, retention (both in ms from now), state, attempt, the words of `head` from `claim_ttl_ms` on, count of
 * fields and values, these. → 1, now · or 0, now, record.
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
 * Claims of several keys, each to be run now and without an input. KEYS of each: the record, `open`, `scope`. ARGV: now or '', then of each:
 * id, scope, lock, retention, the words of `head` from `claim_ttl_ms` on, `made`. → now, then of each 1 or its record.
 */
export const CLAIMS: string = `${CLOCK}
local now = clock(ARGV[1])
local at = int(now)
local replies = { now }
local a = 2
for k = 1, #KEYS, 3 do
  if redis.call('EXISTS', KEYS[k]) == 1 then
    replies[#replies + 1] = redis.call('HGETALL', KEYS[k])
  else
    local locked = int(now + tonumber(ARGV[a + 2]))
    redis.call('HSET', KEYS[k], 'head', '1 in_progress 1 ' .. at .. ' ' .. locked .. ' ' .. int(now + tonumber(ARGV[a + 3]))
      .. ' - - - ' .. ARGV[a + 4], 'made', ARGV[a + 5])
    redis.call('ZADD', KEYS[k + 1], locked, ARGV[a])
    redis.call('ZADD', KEYS[k + 2], '0', ARGV[a + 1] .. '\\0' .. ARGV[a])
    replies[#replies + 1] = 1
  end
  a = a + 6
end
return replies
`;

const ENDS_AT = `
local function ends_at(r, now, extend)
  return math.max(tonumber(r.expires_at), now + tonumber(r.replay_min_ms)) + tonumber(extend)
end
`;

/**
 * The owner's word on an attempt that lives. ARGV: id, scope, now or '', claim_id, attempt, state it must have, state it gets, '1' if that
 * is final, ms until a reconciler looks or '', ms of longer retention, count of fields and values, these, fields to drop. → 1, now, expires_at.
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
 * Final ends of several living attempts that were claimed, not handed over. KEYS of each: the record, `open`, `age` of the state it gets,
 * `reap`. ARGV: now or '', then of each: id, scope, claim_id, attempt, state it gets, ms of longer retention, `end`, '1' if there is a body, the body.
 * → now, then of each expires_at or its record.
 */
export const ENDS: string = `${CLOCK}${HEAD}${OVER}${ENDS_AT}
local now = clock(ARGV[1])
local at = int(now)
local replies = { now }
local a = 2
for k = 1, #KEYS, 4 do
  local r = head(KEYS[k])
  if not r or r.claim_id ~= ARGV[a + 2] or r.attempt ~= ARGV[a + 3] or r.state ~= 'in_progress' then
    replies[#replies + 1] = redis.call('HGETALL', KEYS[k])
  else
    local expires = ends_at(r, now, ARGV[a + 5])
    moved(r)
    r.state, r.locked_until, r.expires_at, r.finished_at = ARGV[a + 4], at, int(expires), at
    r.intent_at, r.reconcile_after = '-', '-'
    if ARGV[a + 7] == '1' then
      redis.call('HSET', KEYS[k], 'head', words(r), 'end', ARGV[a + 6], 'response_body', ARGV[a + 8])
    else
      redis.call('HSET', KEYS[k], 'head', words(r), 'end', ARGV[a + 6])
    end
    redis.call('ZREM', KEYS[k + 1], ARGV[a])
    redis.call('ZADD', KEYS[k + 2], r.created_at, ARGV[a])
    local gone = over(r)
    if gone then
      redis.call('ZADD', KEYS[k + 3], int(gone), ARGV[a] .. ARGV[a + 1])
      lives(KEYS[k], gone, now)
    end
    replies[#replies + 1] = expires
  end
  a = a + 9
end
return replies
`;

/**
 * A sign of life, perhaps with what was done so far. ARGV: id, scope, now or '', claim_id, attempt, ms of the claim, '1' an intent is open,
 * '0' none is, '' as before, count of fields and values, these, fields to drop. → 1, now.
 */
export const RENEW: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[3])
local r = head(KEYS[1])
if not r or r.claim_id ~= ARGV[4] or r.attempt ~= ARGV[5] or r.state ~= 'in_progress' then return whole(now) end
local before = places(r)
moved(r)
r.claim_ttl_ms, r.locked_until, r.renewals = ARGV[6], int(now + tonumber(ARGV[6])), int(tonumber(r.renewals) + 1)
if ARGV[7] == '1' then r.intent_at = int(now) end
if ARGV[7] == '0' then r.intent_at = '-' end
write(r, 8)
index(before, places(r), ARGV[1], ARGV[2])
return { 1, now }
`;
