/** What the verbs of `stores/verbs` make of a store's parts, on a toy store over a Map; the real ones hold the contract. */

import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/core/errors.ts';
import { FORMAT_VERSION, idText, type RecordId, type SamekeyRecord } from '../../src/core/record.ts';
import type { NewAuditRow } from '../../src/store/audit.ts';
import type { Counters } from '../../src/store/counters.ts';
import { serverView } from '../../src/store/machine/index.ts';
import type { ForgetRequest } from '../../src/store/store.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { createHand } from '../../src/stores/verbs/by-hand.ts';
import { BUSY, type Change, takeBy } from '../../src/stores/verbs/change.ts';
import { createErase } from '../../src/stores/verbs/erase.ts';
import { countsOf, listLimit } from '../../src/stores/verbs/reads.ts';
import {
  createReap,
  createSweep,
  createTakeUnknown,
  overByState,
  reapedByState,
} from '../../src/stores/verbs/upkeep.ts';

const NOW = 1_000_000;
const HAND = { reason: 'because', actor: null };

/** A record that failed and whose answer nobody replays any more. */
async function failedRecord(scope: string, key: string): Promise<SamekeyRecord> {
  const store = memoryStore({ now: () => 1 });
  const fence = { scope, key, claimId: `claim-${key}` };
  await store.claim([
    {
      ...fence,
      operation: 'pay',
      fingerprint: { label: 'v1', digest: 'digest' },
      claimTtlMs: 10,
      whenClaimEnds: 'unknown',
      attemptMax: 3,
      retentionMs: 10,
      replayMinMs: 0,
      tombstoneMs: 0,
      formatVersion: FORMAT_VERSION,
      readVersion: FORMAT_VERSION,
      entry: 'run',
      input: null,
      pendingTimeMaxMs: 0,
    },
  ]);
  const [record] = await store.find([fence]);
  if (record === null || record === undefined) throw new Error('the toy record was not made');
  return { ...record, state: 'failed', finishedAt: 2, expiresAt: 3 };
}

interface Toy {
  readonly records: Map<string, SamekeyRecord>;
  readonly audit: NewAuditRow[];
  readonly calls: (readonly string[])[];
  readonly taken: ReadonlyMap<string, number>[];
  /** Keys that somebody holds, and for how many more calls. */
  readonly held: Map<string, number>;
  readonly change: Change;
  readonly counters: Counters;
}

async function toy(...keys: readonly string[]): Promise<Toy> {
  const records = new Map<string, SamekeyRecord>();
  for (const key of keys) {
    const record = await failedRecord('caller|pay', key);
    records.set(idText(record), record);
  }
  const audit: NewAuditRow[] = [];
  const calls: (readonly string[])[] = [];
  const taken: ReadonlyMap<string, number>[] = [];
  const held = new Map<string, number>();
  const counters: Counters = {
    add: async (changes) => void taken.push(changes),
    read: async () => new Map(),
    recount: async () => 0,
  };
  const change: Change = async (requests, decide, rowOf) => {
    calls.push(requests.map(({ key }) => key));
    return requests.map((request) => {
      const left = held.get(request.key) ?? 0;
      held.set(request.key, left - 1);
      if (left > 0) return BUSY;
      const before = records.get(idText(request)) ?? null;
      const { write, result } = decide(before, request, serverView(before, NOW));
      if (write === undefined) return result;
      if (before === null) return BUSY;
      if (write === null) records.delete(idText(request));
      else records.set(idText(request), write);
      const row = rowOf?.(before, write, request);
      if (row !== undefined) audit.push(row);
      return result;
    });
  };
  return { records, audit, calls, taken, held, change, counters };
}

function forgetting(...keys: readonly string[]): readonly ForgetRequest[] {
  return keys.map((key) => ({
    scope: 'caller|pay',
    key,
    claimId: `claim-${key}`,
    attempt: 1,
    state: 'failed' as const,
    ...HAND,
  }));
}

function refuseIds(): never {
  throw new StoreError('Too long.', { applied: 'no' });
}

describe('acts by hand', () => {
  it('writes each with its row, and takes what was deleted off the counts', async () => {
    const { change, counters, records, audit, taken } = await toy('a', 'b');
    const results = await createHand({ change, counters }).forget(forgetting('a', 'b', 'gone'));
    expect(results.map(({ kind }) => kind)).toEqual(['applied', 'applied', 'already']);
    expect(records.size).toBe(0);
    expect(audit.map(({ act, key, to }) => [act, key, to])).toEqual([
      ['forget', 'a', null],
      ['forget', 'b', null],
    ]);
    expect(taken).toEqual([new Map([['caller', -2]])]);
  });

  it('decides a later one on what the first of the same record has left, also where that was busy', async () => {
    const { change, calls, held } = await toy('a', 'b');
    held.set('a', 2);
    const results = await createHand({ change }).forget(forgetting('a', 'a', 'b'));
    expect(results.map(({ kind }) => kind)).toEqual(['applied', 'already', 'applied']);
    expect(calls).toEqual([['a', 'b'], ['a'], ['a'], ['a']]);
  });

  it('goes one by one where the store says so', async () => {
    const { change, calls } = await toy('a', 'b');
    await createHand({ change, atOnceMax: 1 }).forget(forgetting('a', 'b'));
    expect(calls).toEqual([['a'], ['b']]);
  });

  it('is tried again while somebody holds the record, and at last says who must end', async () => {
    const { change, calls, held, taken, counters } = await toy('a');
    held.set('a', 1_000);
    await expect(createHand({ change, counters }).forget(forgetting('a'))).rejects.toMatchObject({
      applied: 'no',
      message: expect.stringContaining('held by another transaction'),
    });
    expect(calls).toHaveLength(20);
    expect(taken).toEqual([]);
  });

  it('does not deny what it has done when a later one fails', async () => {
    const { change, held } = await toy('a', 'b');
    held.set('b', 1_000);
    const lost: Change = async (requests, decide, rowOf) => {
      if (requests.some(({ key }) => key === 'lost')) throw new StoreError('Lost.', { applied: 'no' });
      return change(requests, decide, rowOf);
    };
    await expect(createHand({ change }).forget(forgetting('a', 'b'))).rejects.toMatchObject({
      applied: 'unknown',
    });
    const hand = createHand({ change: lost, atOnceMax: 1 });
    await expect(hand.forget(forgetting('gone', 'lost'))).rejects.toMatchObject({ applied: 'no' });
    held.set('b', 0);
    await expect(hand.forget(forgetting('b', 'lost'))).rejects.toMatchObject({ applied: 'unknown' });
  });

  it('asks for a reason and for ids that fit before anything is written', async () => {
    const { change, calls } = await toy('a');
    const [request] = forgetting('a') as readonly [ForgetRequest];
    await expect(createHand({ change, checkIds: refuseIds }).forget([request])).rejects.toThrow('Too long.');
    await expect(createHand({ change }).forget([{ ...request, reason: ' ' }])).rejects.toThrow(
      'needs a reason',
    );
    expect(calls).toEqual([]);
  });
});

describe('upkeep', () => {
  it('takes what the decision still takes, and tells of what it missed', async () => {
    const { change, held, records } = await toy('a', 'b', 'c');
    for (const [id, record] of records)
      if (record.key !== 'c') records.set(id, { ...record, state: 'in_progress', lockedUntil: 1 });
    held.set('b', 1);
    const ids: RecordId[] = ['a', 'b', 'c'].map((key) => ({ scope: 'caller|pay', key }));
    const missed: (readonly RecordId[])[] = [];
    let looks = 0;
    const take = takeBy(change);
    const sweep = createSweep<RecordId>({
      take,
      look: async () => void (looks += 1),
      over: async (limit) => ids.slice(0, limit),
      missed: async (over) => void missed.push(over),
    });
    const takeUnknown = createTakeUnknown<RecordId>(take, async () => ids);
    expect((await sweep(10)).map(({ key, to }) => [key, to])).toEqual([['a', 'unknown']]);
    expect(missed).toEqual([ids]);
    expect(looks).toBe(1);
    expect(await takeUnknown({ operations: ['other'], leaseMs: 5, limit: 3 })).toEqual([]);
    const taken = await takeUnknown({ operations: ['pay'], leaseMs: 5, limit: 3 });
    expect(taken.map(({ key, inquiries, reconcileAfter }) => [key, inquiries, reconcileAfter])).toEqual([
      ['a', 1, NOW + 5],
    ]);
  });

  it('takes what was reaped off the counts', async () => {
    const { counters, taken } = await toy();
    const reap = createReap({ counters, reap: async () => ['caller|pay', 'caller|pay', 'other'] });
    expect(await reap(10)).toEqual({
      count: 3,
      byScope: new Map([
        ['caller|pay', 2],
        ['other', 1],
      ]),
    });
    expect(taken).toEqual([
      new Map([
        ['caller', -2],
        ['other', -1],
      ]),
    ]);
  });

  it('asks each state for what is left of the limit', async () => {
    const asked: unknown[] = [];
    await overByState(3, 70, async (...state) => {
      asked.push(state);
      return ['one', 'two'].slice(0, state[2]);
    });
    expect(asked).toEqual([
      ['in_progress', 0, 3],
      ['pending', 0, 1],
    ]);
    expect(await reapedByState(3, async (state) => [state])).toEqual(['completed', 'failed', 'retryable']);
    expect(await reapedByState(0, async (state) => [state])).toEqual([]);
  });
});

describe('reaping state by state', () => {
  it('tells what it has deleted when the store fails behind it, and the failure when it has deleted nothing', async () => {
    const away = new StoreError('away', { applied: 'no' });
    const failingAt = (at: string) =>
      reapedByState(3, async (state) => {
        if (state === at) throw away;
        return [state];
      });
    expect(await failingAt('failed')).toEqual(['completed']);
    expect(await failingAt('retryable')).toEqual(['completed', 'failed']);
    await expect(failingAt('completed')).rejects.toBe(away);
  });
});

describe('erasing', () => {
  it('goes in rounds until one finds fewer than it may, or empties none', async () => {
    const asked: number[] = [];
    const eraseIn = (...rounds: readonly (readonly [found: number, erased: number])[]) => {
      const next = rounds.values();
      return createErase({
        rowsMax: 3,
        async round(scope, limit) {
          expect(scope).toBe('caller');
          asked.push(limit);
          const [found, erased] = next.next().value as readonly [number, number];
          return { found, erased };
        },
        left: async () => 7,
      })({ scope: 'caller', limit: 5, ...HAND });
    };
    expect(await eraseIn([3, 3], [2, 2])).toEqual({ erased: 5, left: 7 });
    expect(asked.splice(0)).toEqual([3, 2]);
    expect(await eraseIn([3, 1], [3, 0])).toEqual({ erased: 1, left: 7 });
    expect(asked.splice(0)).toEqual([3, 3]);
    expect(await eraseIn([2, 2])).toEqual({ erased: 2, left: 7 });
    expect(asked.splice(0)).toEqual([3]);
  });
});

describe('lists and counts', () => {
  it('bounds a list, and leaves no state out', () => {
    expect([{}, { limit: 0 }, { limit: 7 }, { limit: 5_000 }].map(listLimit)).toEqual([100, 1, 7, 1_000]);
    expect(countsOf([['failed', 2] as const, ['failed', 1] as const])).toEqual({
      pending: 0,
      in_progress: 0,
      completed: 0,
      failed: 3,
      retryable: 0,
      unknown: 0,
    });
    // Written by newer code.
    expect(countsOf([['paused' as 'failed', 2]])).toMatchObject({ paused: 2 });
  });
});
