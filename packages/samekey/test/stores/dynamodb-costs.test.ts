/**
 * What each verb costs, in the units that the server says it consumed (`ReturnConsumedCapacity`): the table in docs/guides/dynamodb.md.
 * Counted by dynoxide, not by AWS's bill.
 */

import { describe, expect, it } from 'vitest';
import {
  ANSWER,
  claimed,
  claimRequest,
  finished,
  finishRequest,
  handRequest,
  ID,
} from '../../../testing/src/contract/context.ts';
import { fromDynamodb } from '../../src/tx/dynamodb/index.ts';
import { transactionalDynamoDb } from '../services/dynamodb.ts';
import { dynamoBench } from './dynamodb-bench.ts';

interface Consumed {
  readonly CapacityUnits?: number;
}

/** Units by what they are charged as. */
interface Cost {
  readonly write: number;
  readonly read: number;
}

describe.each(transactionalDynamoDb())('what DynamoDB charges: $name', (source) => {
  const bench = dynamoBench(source);

  async function costOf(body: () => Promise<unknown>): Promise<Cost> {
    const units = { write: 0, read: 0 };
    bench.meet = async (operation, input, run) => {
      Object.assign(input as object, { ReturnConsumedCapacity: 'INDEXES' });
      const answer = (await run()) as { readonly ConsumedCapacity?: Consumed | readonly Consumed[] };
      const kind = /^(?:getItem|query|scan)$/.test(operation) ? 'read' : 'write';
      for (const { CapacityUnits = 0 } of [answer.ConsumedCapacity ?? []].flat())
        units[kind] += CapacityUnits;
      return answer;
    };
    await body();
    bench.pass();
    return units;
  }

  it('an item of 1 KB: a claim, a renewal, an end, an act by hand, with and without TTL and audit', async () => {
    // The shared time, read once a second, is not counted: its clock stands still.
    const options = { monotonicNow: () => 0, timeToLive: true } as const;
    const store = bench.open(options);
    await store.claim([claimRequest({ key: 'warm' })]);
    const request = claimRequest();
    const owner = { ...ID, claimId: request.claimId, attempt: 1 };
    expect(await costOf(() => store.claim([request]))).toEqual({ write: 3, read: 0 });
    expect(await costOf(() => store.renew([{ ...owner, claimTtlMs: 10_000 }]))).toEqual({
      write: 1,
      read: 1,
    });
    expect(await costOf(() => store.finish([finishRequest(owner, 'completed')]))).toEqual({
      write: 2,
      read: 1,
    });
    expect(await costOf(() => store.find([owner]))).toEqual({ write: 0, read: 1 });
    const failed = await finished(store, 'failed', { key: 'failed' });
    expect(await costOf(() => store.reopen([handRequest(failed)]))).toEqual({ write: 6, read: 1 });

    const withoutTtl = bench.open({ ...options, timeToLive: false });
    const kept = await claimed(withoutTtl, { key: 'kept' });
    const end = (): Promise<unknown> => withoutTtl.finish([finishRequest(kept, 'completed')]);
    expect(await costOf(end)).toEqual({ write: 3, read: 1 });

    const audited = bench.open({ ...options, auditTransitions: true });
    await audited.claim([claimRequest({ key: 'warm too' })]);
    const claim = claimRequest({ key: 'audited' });
    expect(await costOf(() => audited.claim([claim]))).toEqual({ write: 5, read: 0 });
    const told = finishRequest({ ...ID, key: 'audited', claimId: claim.claimId, attempt: 1 }, 'completed');
    expect(await costOf(() => audited.finish([told]))).toEqual({ write: 6, read: 1 });
  });

  it('an end of 10 KB costs ten units more, and in a transaction the record counts twice', async () => {
    const store = bench.open({ monotonicNow: () => 0, timeToLive: true });
    const large = { ...ANSWER, body: new Uint8Array(10_000) };
    const one = await claimed(store, { key: 'large' });
    const end = (): Promise<unknown> => store.finish([finishRequest(one, 'completed', { response: large })]);
    expect(await costOf(end)).toEqual({ write: 12, read: 1 });
    const other = await claimed(store);
    const together = (): Promise<unknown> =>
      fromDynamodb(bench.checked).run(async (_tx, handle) =>
        store.within(handle).finish(finishRequest(other, 'completed')),
      );
    expect(await costOf(together)).toEqual({ write: 3, read: 1 });
  });

  it('a sweep and a reap of a table where nothing is due cost half a unit for each shard and kind', async () => {
    const store = bench.open({ monotonicNow: () => 0 });
    await store.claim([claimRequest({ key: 'warm' })]);
    for (let i = 0; i < 50; i += 1) await finished(store, 'completed', { key: `done-${i}` });
    // One for the claim that is open.
    expect(await costOf(() => store.sweep(10))).toEqual({ write: 0, read: 13 });
    expect(await costOf(() => store.reap(10))).toEqual({ write: 0, read: 12 });
  });
});
