/**
 * Names of keys. A record's shard follows from the digest of its scope and key; all keys of a shard have one hash tag,
 * `{prefix:shard}`, so a record and its indexes are in one slot of a Cluster. No scope and no key of a client stands in
 * a name.
 */

import { hash } from 'node:crypto';
import { idText, type RecordId } from '../../core/record.ts';
import { callerOf } from '../../core/scope.ts';
import { RECORD_KEYS } from './lua.ts';

/** Where a record is. */
export interface Place {
  /** 43 characters: SHA-256 of scope and key, in base64url. */
  readonly id: string;
  readonly shard: number;
  /** For the scripts: the record, then its shard's indexes, as `RECORD_KEYS` says. */
  readonly keys: readonly string[];
}

/** The names of one store. */
export interface Keys {
  readonly shards: readonly number[];
  of(id: RecordId): Place;
  /** A record by what an index says; without its scope it is known well enough to be read. */
  at(shard: number, id: string, scope?: string): Place;
  /** The set of a caller's records in a shard, by the caller's part of a scope. */
  callerSet(shard: number, caller: string): string;
  /** A set of a shard, by its name in `RECORD_KEYS`, or `audit:` and an act. */
  set(shard: number, name: string): string;
  /** What the store says of itself. */
  readonly meta: string;
  /** The channel of hints. */
  readonly hints: string;
}

const DIGESTS_MAX = 1_000;

/** The names for a prefix. */
export function createKeys(prefix: string, shards: number): Keys {
  const set = (shard: number, name: string): string => `{${prefix}:${shard}}:${name}`;
  const numbers = Array.from({ length: shards }, (_, shard) => shard);
  const indexes = numbers.map((shard) => RECORD_KEYS.slice(1, -1).map((name) => set(shard, name)));
  /** Digests of callers: few callers send most requests. */
  const digests = new Map<string, string>();
  const digestOf = (caller: string): string => {
    let digest = digests.get(caller);
    if (digest === undefined) {
      if (digests.size === DIGESTS_MAX) digests.clear();
      digest = hash('sha256', caller, 'base64url');
      digests.set(caller, digest);
    }
    return digest;
  };
  const callerSet = (shard: number, caller: string): string => set(shard, `of:${digestOf(caller)}`);
  const at = (shard: number, id: string, scope = ''): Place => ({
    id,
    shard,
    keys: [set(shard, `r:${id}`), ...(indexes[shard] as string[]), callerSet(shard, callerOf(scope))],
  });
  return {
    shards: numbers,
    at,
    callerSet,
    of(record) {
      const name = hash('sha256', idText(record), 'base64url');
      return at(leadOf(name) % shards, name, record.scope);
    },
    set,
    meta: `{${prefix}:0}:meta`,
    hints: `{${prefix}:0}:hints`,
  };
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES: Uint8Array = new Uint8Array(128);
for (let value = 0; value < 64; value += 1) VALUES[DIGITS.charCodeAt(value)] = value;

/** The first 32 bits of a digest in base64url. */
function leadOf(text: string): number {
  let lead = 0;
  for (let i = 0; i < 5; i += 1) lead = lead * 64 + (VALUES[text.charCodeAt(i)] as number);
  return lead * 4 + ((VALUES[text.charCodeAt(5)] as number) >> 4);
}
