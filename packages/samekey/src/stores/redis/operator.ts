/**
 * The operator's hand and eyes: acts with their rows in the audit, lists, counts, and what goes when a caller is
 * erased.
 */

import { type SamekeyRecord, STATES, type State } from '../../core/record.ts';
import { callerOf } from '../../core/scope.ts';
import { isListed } from '../../store/listed.ts';
import type { LifecycleStore, ListRequest, OperatorStore } from '../../store/store.ts';
import { createHand } from '../verbs/by-hand.ts';
import { createWalkingErase, type Erased } from '../verbs/erase.ts';
import { countsOf, listLimit } from '../verbs/reads.ts';
import type { Keys, Place } from './key-names.ts';
import type { Rows } from './rows.ts';
import type { Server } from './server.ts';
import type { Shards } from './shards.ts';

/** Entries of a shard and a state that one page of a list reads. */
const LIST_PAGE = 200;
/** Open records of a shard that one list looks at. */
const OPEN_LOOK_MAX = 10_000;
/** Records that are emptied at once. */
const ERASE_PAGE = 100;

/** Makes the verbs. */
export function createOperator(
  server: Server,
  keys: Keys,
  rows: Rows,
  shards: Shards,
): Pick<OperatorStore, 'settle' | 'reopen' | 'forget' | 'erase' | 'list' | 'count'> &
  Pick<LifecycleStore, 'postpone'> {
  async function list(request: ListRequest): Promise<readonly SamekeyRecord[]> {
    const limit = listLimit(request);
    const states = [...new Set(request.states ?? STATES)];
    if (states.length === 0) return [];
    const { scope, key, caller } = request;
    const whose = scope !== undefined ? callerOf(scope) : caller;
    const places =
      scope !== undefined && key !== undefined
        ? [keys.of({ scope, key })]
        : whose === undefined
          ? await newest(states, request, limit)
          : await newestOf(whose, request, limit);
    const found = await rows.readReadable(places);
    return found
      .flatMap((seen) => (seen !== null && isListed(seen.record, request) ? [seen.record] : []))
      .toSorted((a, b) => b.createdAt - a.createdAt)
      .slice(0, limit);
  }

  /** By age; where something is filtered, further and further back. */
  async function newest(
    states: readonly State[],
    request: ListRequest,
    limit: number,
  ): Promise<readonly Place[]> {
    const isFiltered = request.operation !== undefined || request.key !== undefined;
    const from = request.createdBefore === undefined ? '+inf' : `(${request.createdBefore}`;
    const sets = keys.shards.flatMap((shard) => states.map((state) => ({ shard, state })));
    const found = await Promise.all(
      sets.map(({ shard, state }) =>
        state === 'in_progress' ? running(shard) : newestIn(shard, `age:${state}`),
      ),
    );
    return found
      .flat()
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ place }) => place);

    /**
     * `open` knows when claims end, not when their records were made: what is in it is looked at, what ends last first.
     */
    async function running(
      shard: number,
    ): Promise<readonly { readonly place: Place; readonly score: number }[]> {
      const kept: { place: Place; score: number }[] = [];
      for (let offset = 0; offset < OPEN_LOOK_MAX; offset += LIST_PAGE) {
        const page = await shards.stretch(shard, 'open', 'down', '+inf', offset, LIST_PAGE);
        const records = page.length === 0 ? [] : await shards.look(page.map(({ place }) => place));
        for (const [n, { place }] of page.entries()) {
          const record = records[n] ?? null;
          if (record?.state === 'in_progress' && isListed(record, request))
            kept.push({ place, score: record.createdAt });
        }
        if (page.length < LIST_PAGE) break;
      }
      return kept.toSorted((a, b) => b.score - a.score).slice(0, limit);
    }

    async function newestIn(
      shard: number,
      set: string,
    ): Promise<readonly { readonly place: Place; readonly score: number }[]> {
      const kept: { place: Place; score: number }[] = [];
      const size = isFiltered ? LIST_PAGE : limit;
      for (let offset = 0; kept.length < limit; offset += size) {
        const page = await shards.stretch(shard, set, 'down', from, offset, size);
        const records = page.length === 0 ? [] : await shards.look(page.map(({ place }) => place));
        for (const [n, entry] of page.entries()) {
          const record = records[n] ?? null;
          // Gone: deleted by Redis, and not reaped yet.
          if (record !== null && isListed(record, request)) kept.push(entry);
        }
        if (page.length < size) break;
      }
      return kept;
    }
  }

  async function newestOf(caller: string, request: ListRequest, limit: number): Promise<readonly Place[]> {
    let best: SamekeyRecord[] = [];
    for await (const places of shards.ofCaller(caller)) {
      for (const record of await shards.look(places)) {
        if (record !== null && isListed(record, request)) best.push(record);
      }
      best = best.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, limit);
    }
    return best.map((record) => keys.of(record));
  }

  return {
    ...createHand({ change: (requests, decide, rowOf) => rows.apply(requests, { decide, rowOf }) }),
    erase: createWalkingErase({
      async *walk(caller) {
        for await (const places of shards.ofCaller(caller))
          yield (await shards.look(places)).map((record) => ({ record }));
      },
      async change(found, { decide, rowOf }) {
        const ids = found.flatMap(({ record }) =>
          record === null ? [] : [{ scope: record.scope, key: record.key }],
        );
        const results: Erased[] = [];
        for (let at = 0; at < ids.length; at += ERASE_PAGE)
          results.push(...(await rows.apply(ids.slice(at, at + ERASE_PAGE), { decide, rowOf })));
        return results;
      },
    }),
    list,
    async count() {
      const sets = keys.shards.flatMap((shard) => STATES.map((state) => ({ shard, state })));
      const sizes = await Promise.all(
        sets.map(({ shard, state }) =>
          server.ask('ZCARD', keys.set(shard, state === 'in_progress' ? 'open' : `age:${state}`)),
        ),
      );
      const counts = countsOf(sets.map(({ state }, n) => [state, Number(sizes[n]?.[0])]));
      // What waits for a worker is open too. The two are read one after the other: what comes in between is no negative
      // number.
      counts.in_progress = Math.max(0, counts.in_progress - counts.pending);
      return counts;
    },
  };
}
