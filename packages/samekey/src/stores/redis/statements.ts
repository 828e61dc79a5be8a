/**
 * The scripts: each is one atomic step on one record and the indexes of its shard, which share a hash tag and so a
 * server. What is decided is decided by `store/machine/index.ts`; scripts hold the three steps that must be one round
 * trip (a fresh claim, the end of a living attempt, a renewal), a compare-and-set for everything else, and the upkeep
 * of the indexes.
 *
 * Invariants: a record and its places in the indexes are written by the same script, so neither is there without the
 * other · each write moves `version` on, and `version` with `claim_id` never repeats for a key, so what was read is
 * what is replaced · time is the server's `TIME`; a compare-and-set made on a reading older than
 * {@link READ_AGE_MAX_MS} is refused · the first write of a script is refused by a server without memory or replicas,
 * and no later one, so a script that failed has written nothing.
 * Sources: https://redis.io/docs/latest/develop/programmability/eval-intro/,
 * https://redis.io/docs/latest/commands/evalsha/.
 */

import { CLOCK, HEAD, INDEXES, NOTE } from './lua.ts';

/** A script and how it is known to the server. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** How old a reading may be that a compare-and-set is made on, in milliseconds: what it writes counts from then. */
const READ_AGE_MAX_MS = 1_000;

/** → 0, now, record. */
export const READ: string = `${CLOCK}
return { 0, clock(ARGV[1]), redis.call('HGETALL', KEYS[1]) }
`;

/**
 * Replaces what was read, or deletes it. ARGV: id, scope, now or '', time of the reading, version and claim_id that
 * were read, count of rows for the audit, these (KEYS[13] and on are where they go), then the words of `head` without
 * its version, count of fields and values, these, fields to drop; no words delete. → 1, or 0 when something else stands
 * there or too late.
 */
export const WRITE: string = `${CLOCK}${INDEXES}${NOTE}
local now = clock(ARGV[3])
local r = head(KEYS[1])
if not r or r.version ~= ARGV[5] or r.claim_id ~= ARGV[6] then return { 0 } end
if now - tonumber(ARGV[4]) > ${READ_AGE_MAX_MS} then return { 0 } end
local before = places(r)
local rows = tonumber(ARGV[7])
local at = 8 + rows
if #ARGV >= at then
  local last = at + 1 + tonumber(ARGV[at + 1])
  redis.call('HSET', KEYS[1], 'head', int(tonumber(r.version) + 1) .. ' ' .. ARGV[at], unpack(ARGV, at + 2, last))
  if #ARGV > last then redis.call('HDEL', KEYS[1], unpack(ARGV, last + 1)) end
  local s = head(KEYS[1])
  local after = places(s)
  index(before, after, ARGV[1], ARGV[2])
  live(s, after, now)
else
  redis.call('DEL', KEYS[1])
  index(before, {}, ARGV[1], ARGV[2])
end
local seq = 0
for i = 1, rows do seq = note(KEYS[12 + i], now, ARGV[7 + i], seq + 1) end
return { 1 }
`;

/**
 * A script that also leaves a row in the audit of transitions, if it did what it does. The last of KEYS is where, the
 * last of ARGV the row; an empty operation in it is the record's.
 */
export function toldBy(script: string): string {
  return `${CLOCK}${NOTE}
local set, text = table.remove(KEYS), table.remove(ARGV)
local function main()
${script}
end
local reply = main()
if reply[1] == 1 then
  local row = cjson.decode(text)
  if row.operation == '' then
    row.operation = string.match(redis.call('HGET', KEYS[1], 'made'), '^%Z*%z%Z*%z(%Z*)')
  end
  note(set, reply[2], cjson.encode(row))
end
return reply
`;
}

/**
 * Deletes what is past its life, and what is left in the indexes of a record that Redis deleted by itself. ARGV: id,
 * now or '', scope. → 1 if it did.
 */
export const REAP: string = `${CLOCK}${INDEXES}
local now = clock(ARGV[2])
local r = head(KEYS[1])
if r then
  local p = places(r)
  if not p[REAP] or tonumber(p[REAP]) > now then return { 0 } end
  redis.call('DEL', KEYS[1])
  index(p, {}, ARGV[1], ARGV[3])
  return { 1 }
end
local gone = drop(REAP, ARGV[1], ARGV[3])
for set = 2, CALLER do drop(set, ARGV[1], ARGV[3]) end
return { gone }
`;

/**
 * What in a set has been due for so long, the longest first. KEYS: the set. ARGV: now or '', ms, limit. → members and
 * scores.
 */
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

/**
 * Writes nothing new, but writes: a WAIT behind it is about the record as it stands. ARGV: claim_id it must have. → 1
 * if it has.
 */
export const TOUCH: string = `${CLOCK}${HEAD}
local r = head(KEYS[1])
if not r or r.claim_id ~= ARGV[1] then return { 0 } end
redis.call('HSET', KEYS[1], 'head', words(r))
return { 1 }
`;
