/**
 * What the scripts share, in Lua: the clock, a record's `head`, its places in the indexes of its shard, and when its
 * life is over.
 *
 * Invariant: a record and its places in the indexes are written by the same script, so neither is there without the
 * other.
 */

import type { State } from '../../core/record.ts';
import { HEAD_WORDS } from './fields.ts';

/**
 * How long a final record stays after its life, in milliseconds, before Redis deletes it by itself: the reaper comes
 * first and tells of it, and a clock that was set ahead for a moment takes nothing away.
 */
export const EXPIRY_GRACE_MS = 3_600_000;

/** How long an id is, in the names of records and in the members of indexes. */
export const ID_LENGTH = 43;

/**
 * The keys of a record's scripts, in their order: the record, its places by age for each state but `in_progress`, which
 * `open` holds, and by what is to be done with it and when; the last is the set of its caller's records.
 */
export const RECORD_KEYS: readonly string[] = [
  'record',
  'age:pending',
  'age:completed',
  'age:failed',
  'age:retryable',
  'age:unknown',
  'open',
  'due',
  'ask',
  'lost',
  'reap',
  'caller',
];

const at = (set: string): number => RECORD_KEYS.indexOf(set);
/** Where in {@link RECORD_KEYS} the indexes are that the hot path writes. */
export const OPEN: number = at('open');
export const REAP: number = at('reap');
export const CALLER: number = at('caller');
/** Where in {@link RECORD_KEYS} the records of a state are by age. */
export const AGE_OF: Readonly<Record<Exclude<State, 'in_progress'>, number>> = {
  pending: at('age:pending'),
  completed: at('age:completed'),
  failed: at('age:failed'),
  retryable: at('age:retryable'),
  unknown: at('age:unknown'),
};

/** `clock(given)`, and numbers as whole text. */
export const CLOCK: string = `
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end
local function int(n) return string.format('%.0f', n) end
`;

/** `head` of a record taken apart and put together. Needs {@link CLOCK}. */
export const HEAD: string = `
local HEAD = '^${'(%S+) '.repeat(HEAD_WORDS.length - 1)}(.*)$'
local function head(key)
  local text = redis.call('HGET', key, 'head')
  if not text then return nil end
  local r = {}
  ${HEAD_WORDS.map((word) => `r.${word}`).join(', ')} = string.match(text, HEAD)
  return r
end
local function words(r)
  return table.concat({ ${HEAD_WORDS.map((word) => `r.${word}`).join(', ')} }, ' ')
end
local function moved(r) r.version = int(tonumber(r.version) + 1) end
local function whole(now) return { 0, now, redis.call('HGETALL', KEYS[1]) } end
`;

/** When a record's life is over. Needs {@link CLOCK}. */
export const OVER: string = `
local NEVER = 253402300799000
local GRACE = ${EXPIRY_GRACE_MS}
local function over(r)
  local at = tonumber(r.expires_at) + tonumber(r.tombstone_ms)
  if at < NEVER then return at end
end
-- Counted from now, so that a test's clock need not be the server's.
local function lives(key, at, now) redis.call('PEXPIRE', key, int(at - now + GRACE)) end
`;

/** A record's places in the indexes, for scripts whose KEYS are {@link RECORD_KEYS}. Needs {@link CLOCK}. */
export const INDEXES: string = `${HEAD}${OVER}
local AGE = { ${Object.entries(AGE_OF)
  .map(([state, n]) => `${state} = ${n + 1}`)
  .join(', ')} }
local OPEN, DUE, ASK, LOST, REAP, CALLER = ${['open', 'due', 'ask', 'lost', 'reap', 'caller'].map((set) => at(set) + 1).join(', ')}
local function places(r)
  local p = {}
  if not r then return p end
  local s = r.state
  p[CALLER] = '0'
  if AGE[s] then p[AGE[s]] = r.created_at end
  if s == 'in_progress' or s == 'pending' then p[OPEN] = r.locked_until end
  -- Why it is unknown is not in the head: isDue says which of these are left to code that fits them.
  if r.due == '1' and (s == 'retryable' or s == 'unknown' or (s == 'pending' and r.attempt == '0')) then p[DUE] = r.created_at end
  if s == 'unknown' then
    if r.reconcile_after ~= '-' then p[ASK] = r.reconcile_after end
    p[LOST] = r.locked_until
  end
  if s == 'completed' or s == 'failed' or (s == 'retryable' and r.intent_at == '-') then
    local at = over(r)
    if at then p[REAP] = int(at) end
  end
  return p
end
local function member(set, id, scope)
  if set == REAP then return id .. scope end
  return id
end
local function drop(set, id, scope)
  return redis.call(set == CALLER and 'SREM' or 'ZREM', KEYS[set], member(set, id, scope))
end
local function index(before, after, id, scope)
  for set, score in pairs(after) do
    if before[set] ~= score then
      if set == CALLER then redis.call('SADD', KEYS[set], id)
      else redis.call('ZADD', KEYS[set], score, member(set, id, scope)) end
    end
  end
  for set in pairs(before) do
    if not after[set] then drop(set, id, scope) end
  end
end
local function live(r, p, now)
  if p[REAP] and (r.state == 'completed' or r.state == 'failed') then
    lives(KEYS[1], tonumber(p[REAP]), now)
  else
    redis.call('PERSIST', KEYS[1])
  end
end
local function write(r, from)
  local n = tonumber(ARGV[from])
  redis.call('HSET', KEYS[1], 'head', words(r), unpack(ARGV, from + 1, from + n))
  if #ARGV > from + n then redis.call('HDEL', KEYS[1], unpack(ARGV, from + n + 1)) end
end
`;

/** A row of the audit. Needs {@link CLOCK}. */
export const NOTE: string = `
local function note(set, now, text, least)
  local t = redis.call('TIME')
  local seq = math.max(tonumber(t[1]) * 1000000 + tonumber(t[2]), least or 0)
  local last = redis.call('ZREVRANGE', set, 0, 0, 'WITHSCORES')[2]
  if last and tonumber(last) >= seq then seq = tonumber(last) + 1 end
  redis.call('ZADD', set, int(seq), int(seq) .. ' ' .. int(now) .. ' ' .. text)
  return seq
end
`;
