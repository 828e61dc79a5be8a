/** Questions to the indexes: each shard answers for itself, all in one pipeline, and the answers are merged here. */

import type { SamekeyRecord } from '../../core/record.ts';
import { scopeRanges } from '../../core/scope.ts';
import { SMALL_FIELDS, smallOf, textOf } from './fields.ts';
import type { Keys, Place } from './keys.ts';
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
   * A stretch of a set by score, in one shard: `above` and `below` are bounds as ZRANGEBYSCORE has them, so `(` excludes.
   */
  stretch(
    shard: number,
    set: string,
    order: 'up' | 'down',
    from: string,
    offset: number,
    count: number,
  ): Promise<readonly Entry[]>;
  /** All records of a scope, or of a caller, page by page. */
  ofScope(range: { readonly scope: string } | { readonly caller: string }): AsyncIterable<readonly Place[]>;
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
      const place = keys.at(shard, member.slice(0, ID_LENGTH));
      entries.push({ place, score: Number(textOf(flat[i + 1])), scope: member.slice(ID_LENGTH) });
    }
    return entries;
  };

  async function* ofScope(
    range: { readonly scope: string } | { readonly caller: string },
  ): AsyncIterable<readonly Place[]> {
    for (const [from, to] of bounds(range)) {
      let open = keys.shards.map((shard) => ({ shard, from }));
      while (open.length > 0) {
        const pages = await Promise.all(
          open.map(({ shard, from: start }) =>
            server.ask('ZRANGEBYLEX', keys.set(shard, 'scope'), start, to, 'LIMIT', '0', String(PAGE)),
          ),
        );
        const next: typeof open = [];
        const places: Place[] = [];
        for (const [n, { shard }] of open.entries()) {
          const members = (pages[n] as readonly unknown[]).map(textOf);
          for (const member of members) places.push(keys.at(shard, member.slice(-ID_LENGTH)));
          if (members.length === PAGE) next.push({ shard, from: `(${members.at(-1)}` });
        }
        if (places.length > 0) yield places;
        open = next;
      }
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
    ofScope,
    async countOf(caller) {
      const counts = await Promise.all(
        keys.shards.flatMap((shard) =>
          bounds({ caller }).map(([from, to]) => server.ask('ZLEXCOUNT', keys.set(shard, 'scope'), from, to)),
        ),
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

/** The stretches of the index by scope that hold a scope, or a caller. */
function bounds(
  range: { readonly scope: string } | { readonly caller: string },
): readonly (readonly [from: string, to: string])[] {
  if ('scope' in range) return [[`[${range.scope}\0`, `(${range.scope}\u{1}`]];
  // A scope is printable: the NUL behind it in the index sorts before all that may follow the caller's text.
  return scopeRanges(range.caller).map(([from, to]) => [`[${from}`, `(${to}`] as const);
}
