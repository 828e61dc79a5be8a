/**
 * Finding records without their keys. Index entries are hints: every record is read again from the table, and judged by
 * what stands there. A walk through the open ones goes on where it stopped, so that many that need nothing hide none
 * that do.
 */

import type { SamekeyRecord, State } from '../../core/record.ts';
import { callerOf } from '../../core/scope.ts';
import type { ListRequest } from '../../store/store.ts';
import { countsOf, listLimit } from '../verbs/reads.ts';
import { type Calls, inParallel } from './calls.ts';
import type { Item } from './client.ts';
import { type OpenKind, type Stored, textOf } from './item.ts';
import { pagesOf } from './pages.ts';
import type { Records } from './records.ts';
import { CALLER_INDEX, OPEN_INDEX, SHARDS } from './table.ts';

/** Entries of one shard and kind that one walk looks at. */
const WALK_MAX = 1_000;
/** Records read together. */
const TOGETHER = 100;
/** Keys of one list that are kept at most before the oldest go. */
const LIST_KEYS_MAX = 10_000;
const SHARD_NUMBERS = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Which open records are looked at. */
interface OpenOptions {
  /** Up to this `open_at`. */
  readonly until?: number;
  /** From where the walk of this name ended last. */
  readonly walk?: string;
  /** Of each shard at most; default 1,000. */
  readonly limit?: number;
  /** Also what stands for a record that is gone. */
  readonly isGoneToo?: boolean;
}

export interface Look {
  /** Open records of a kind, the oldest of each shard first. */
  open(kind: OpenKind, options?: OpenOptions): Promise<readonly Stored[]>;
  /** A caller's records, each once, in groups; as many as the index knows. */
  ofCaller(caller: string): AsyncGenerator<readonly Stored[]>;
  list(request: ListRequest): Promise<readonly SamekeyRecord[]>;
  /** Reads the whole table. */
  count(): Promise<Readonly<Record<State, number>>>;
}

/** Makes it. */
export function createLook(calls: Calls, records: Records, atOnceMax: number): Look {
  const reached = new Map<string, Item>();

  async function openKeys(
    kind: OpenKind,
    shard: number,
    { until, walk, limit = WALK_MAX }: OpenOptions,
  ): Promise<readonly Item[]> {
    const partition = `${kind}|${shard}`;
    const place = `${walk} ${partition}`;
    const from = walk === undefined ? undefined : reached.get(place);
    const answer = (await calls.read('query', {
      IndexName: OPEN_INDEX,
      KeyConditionExpression: until === undefined ? '#open = :open' : '#open = :open AND open_at <= :until',
      ExpressionAttributeNames: { '#open': 'open' },
      ExpressionAttributeValues: {
        ':open': { S: partition },
        ...(until === undefined ? {} : { ':until': { N: String(until) } }),
      },
      Limit: Math.min(WALK_MAX, limit),
      ...(from === undefined ? {} : { ExclusiveStartKey: from }),
    })) as { Items?: readonly Item[]; LastEvaluatedKey?: Item };
    if (walk !== undefined && answer.LastEvaluatedKey !== undefined)
      reached.set(place, answer.LastEvaluatedKey);
    else reached.delete(place);
    return answer.Items ?? [];
  }

  async function* callerShard(
    caller: string,
    shard: number,
    before?: number,
  ): AsyncGenerator<readonly Stored[]> {
    const pages = pagesOf(calls, 'query', {
      IndexName: CALLER_INDEX,
      KeyConditionExpression:
        before === undefined ? 'caller = :caller' : 'caller = :caller AND created_at < :before',
      ExpressionAttributeValues: {
        ':caller': { S: `${caller}|${shard}` },
        ...(before === undefined ? {} : { ':before': { N: String(before) } }),
      },
      ScanIndexForward: false,
    });
    let keys: Item[] = [];
    for await (const item of pages) {
      keys.push(item);
      if (keys.length < TOGETHER) continue;
      yield await records.readKeys(keys);
      keys = [];
    }
    if (keys.length > 0) yield await records.readKeys(keys);
  }

  async function newestOf(caller: string, request: ListRequest, limit: number): Promise<SamekeyRecord[]> {
    const found = await inParallel(SHARD_NUMBERS, atOnceMax, async (shard) => {
      const some: SamekeyRecord[] = [];
      for await (const group of callerShard(caller, shard, request.createdBefore)) {
        some.push(...matching(group, request));
        if (some.length >= limit) break;
      }
      return some;
    });
    return found.flat();
  }

  const look: Look = {
    async open(kind, options = {}) {
      const keys = await inParallel(SHARD_NUMBERS, atOnceMax, (shard) => openKeys(kind, shard, options));
      return records.readKeys(keys.flat(), options.isGoneToo);
    },
    async *ofCaller(caller) {
      for (const shard of SHARD_NUMBERS) yield* callerShard(caller, shard);
    },
    async list(request) {
      const limit = listLimit(request);
      const { scope, key, states } = request;
      const caller = request.caller ?? (scope === undefined ? undefined : callerOf(scope));
      let found: SamekeyRecord[] = [];
      if (states?.length === 0) return [];
      if (scope !== undefined && key !== undefined) {
        const stored = await records.read({ scope, key });
        found = matching(stored === null ? [] : [stored], request);
      } else if (caller !== undefined) {
        found = await newestOf(caller, request, limit);
      } else {
        const pages = pagesOf(calls, 'scan', {
          ConsistentRead: true,
          ProjectionExpression: 'pk, sk, created_at',
          ...scanned(request),
        });
        let keys: Item[] = [];
        for await (const item of pages) {
          keys.push(item);
          if (keys.length >= LIST_KEYS_MAX) keys = newest(keys, limit);
        }
        found = matching(await records.readKeys(newest(keys, limit)), request);
      }
      return found.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, limit);
    },
    async count() {
      const pages = pagesOf(calls, 'scan', {
        ConsistentRead: true,
        ProjectionExpression: '#state',
        FilterExpression: 'attribute_exists(claim_id)',
        ExpressionAttributeNames: { '#state': 'state' },
      });
      const counted: [State, number][] = [];
      for await (const item of pages) counted.push([textOf(item['state']) as State, 1]);
      return countsOf(counted);
    },
  };
  return look;
}

function newest(keys: readonly Item[], limit: number): Item[] {
  return keys.toSorted((a, b) => createdAt(b) - createdAt(a)).slice(0, limit);
}

function createdAt(item: Item): number {
  return Number((item['created_at'] as { N: string }).N);
}

/** The filter of a scan; what it lets through is judged again. */
function scanned({ states, operation, key, createdBefore }: ListRequest): Record<string, unknown> {
  const conditions = ['attribute_exists(claim_id)'];
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const equal = (name: string, value: string): void => {
    names[`#${name}`] = name;
    values[`:${name}`] = { S: value };
    conditions.push(`#${name} = :${name}`);
  };
  if (operation !== undefined) equal('operation', operation);
  if (key !== undefined) equal('key', key);
  if (createdBefore !== undefined) {
    values[':before'] = { N: String(createdBefore) };
    conditions.push('created_at < :before');
  }
  if (states !== undefined) {
    names['#state'] = 'state';
    const marks = [...new Set(states)].map((state, i) => {
      values[`:state${i}`] = { S: state };
      return `:state${i}`;
    });
    conditions.push(`#state IN (${marks.join(', ')})`);
  }
  return {
    FilterExpression: conditions.join(' AND '),
    ...(Object.keys(names).length === 0 ? {} : { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
  };
}

function matching(found: readonly Stored[], request: ListRequest): SamekeyRecord[] {
  const { states, operation, scope, caller, key, createdBefore } = request;
  return found.flatMap(({ record }) =>
    record !== null &&
    (states === undefined || states.includes(record.state)) &&
    (operation === undefined || record.operation === operation) &&
    (scope === undefined || record.scope === scope) &&
    (caller === undefined || callerOf(record.scope) === caller) &&
    (key === undefined || record.key === key) &&
    (createdBefore === undefined || record.createdAt < createdBefore)
      ? [record]
      : [],
  );
}
