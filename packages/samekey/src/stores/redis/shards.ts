/** Questions to the indexes: each shard answers for itself, all in one pipeline, and the answers are merged here. */

import type { SamekeyRecord } from '../../core/record.ts';
import { SMALL_FIELDS, smallOf, textOf } from './fields.ts';
import type { Keys, Place } from './key-names.ts';
import { ID_LENGTH } from './lua.ts';
import { scriptOf, type Server } from './server.ts';
import { RIPE } from './statements.ts';

/** What an index says of a record. */
export interface Entry {
  readonly place: Place;
  readonly score: number;
  /** Known where the index holds it: `reap`. */
  readonly scope: string;
}

/** The indexes of one store. */
export interface Shards {
  /** What in a set has been due for `ageMs`, the longest first, at most `limit` of all shards together. */
  ripe(set: string, ageMs: number, limit: number): Promise<readonly Entry[]>;
  /**
   * A stretch of a set by score, in one shard: `above` and `below` are bounds as ZRANGEBYSCORE has them, so `(`
   * excludes.
   */
  stretch(
    shard: number,
    set: string,
    order: 'up' | 'down',
    from: string,
    offset: number,
    count: number,
  ): Promise<readonly Entry[]>;
  /** All records of a caller (the caller's part of their scopes), page by page, each once. */
  ofCaller(caller: string): AsyncIterable<readonly Place[]>;
  /** How many records a caller has. */
  countOf(caller: string): Promise<number>;
  /** Records without what may be large; null for what is gone. */
  look(places: readonly Place[]): Promise<readonly (SamekeyRecord | null)[]>;
}

/** Entries of one page. */
const PAGE = 500;

const ripeScript = scriptOf(RIPE);

/** Makes them. */
export function createShards(server: Server, keys: Keys, time: () => string): Shards {
  const entriesOf = (shard: number, flat: readonly unknown[]): Entry[] => {
    const entries: Entry[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const member = textOf(flat[i]);
      const scope = member.slice(ID_LENGTH);
      const place = keys.at(shard, member.slice(0, ID_LENGTH), scope);
      entries.push({ place, score: Number(textOf(flat[i + 1])), scope });
    }
    return entries;
  };

  async function* ofCaller(caller: string): AsyncIterable<readonly Place[]> {
    let open = keys.shards.map((shard) => ({ shard, cursor: '0', seen: new Set<string>() }));
    while (open.length > 0) {
      const pages = await Promise.all(
        open.map(({ shard, cursor }) =>
          server.ask('SSCAN', keys.callerSet(shard, caller), cursor, 'COUNT', String(PAGE)),
        ),
      );
      const places: Place[] = [];
      const next: typeof open = [];
      for (const [n, { shard, seen }] of open.entries()) {
        const [cursor, ...ids] = (pages[n] as readonly unknown[]).map(textOf);
        for (const id of ids) {
          // A set that grows meanwhile tells some twice.
          if (!seen.has(id)) places.push(keys.at(shard, id));
          seen.add(id);
        }
        if (cursor !== '0') next.push({ shard, cursor: cursor as string, seen });
      }
      if (places.length > 0) yield places;
      open = next;
    }
  }

  return {
    async ripe(set, ageMs, limit) {
      if (limit < 1) return [];
      const args = [time(), String(ageMs), String(limit)];
      const answers = await Promise.all(
        keys.shards.map((shard) => server.run(ripeScript, [keys.set(shard, set)], args)),
      );
      const entries = answers.flatMap((flat, n) => entriesOf(keys.shards[n] as number, flat));
      return entries.toSorted((a, b) => a.score - b.score).slice(0, limit);
    },
    async stretch(shard, set, order, from, offset, count) {
      const limit = ['WITHSCORES', 'LIMIT', String(offset), String(count)];
      const flat =
        order === 'up'
          ? await server.ask('ZRANGEBYSCORE', keys.set(shard, set), from, '+inf', ...limit)
          : await server.ask('ZREVRANGEBYSCORE', keys.set(shard, set), from, '-inf', ...limit);
      return entriesOf(shard, flat);
    },
    ofCaller,
    async countOf(caller) {
      const counts = await Promise.all(
        keys.shards.map((shard) => server.ask('SCARD', keys.callerSet(shard, caller))),
      );
      return counts.reduce((sum, [count]) => sum + Number(count), 0);
    },
    async look(places) {
      const replies = await Promise.all(
        places.map(({ keys: [record] }) => server.ask('HMGET', record as string, ...SMALL_FIELDS)),
      );
      return replies.map(smallOf);
    },
  };
}
