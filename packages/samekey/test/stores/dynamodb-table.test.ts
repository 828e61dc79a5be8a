/** The table that is refused, and the end of an attempt as an element of a transaction that the caller makes. */

import type { DynamoDB, TableDescription } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import {
  ANSWER,
  claimed,
  finishRequest,
  forgetAsSeen,
  recordOf,
} from '../../../testing/src/contract/context.ts';
import { createTableInput, type DynamoDbClient, dynamodbStore } from '../../src/stores/dynamodb/index.ts';
import { availableDynamoDb } from '../services/dynamodb.ts';
import { dynamoBench } from './dynamodb-bench.ts';

function asGlobal(table: TableDescription): object {
  return { ...table, Replicas: [{ RegionName: 'eu-west-1' }] };
}

function asBeingFilled({ GlobalSecondaryIndexes = [], ...table }: TableDescription): object {
  const indexes = GlobalSecondaryIndexes.map((index) => ({ ...index, IndexStatus: 'CREATING' }));
  return { ...table, GlobalSecondaryIndexes: indexes };
}

describe.each(availableDynamoDb())('DynamoDB, the table: $name', (source) => {
  const bench = dynamoBench(source);

  describe('the end of an attempt in the caller’s own transaction', () => {
    // Dynalite has no transactions: the element is written by itself, under its condition, as a transaction would.
    it('is one conditional put that renewals do not disturb, and a lost fence does', async () => {
      const store = bench.open();
      const owner = await claimed(store);
      const end = await store.completionItem(finishRequest(owner, 'completed'));
      if (end.kind !== 'item') throw new Error(`expected an item, got ${end.kind}`);
      await store.renew([{ ...owner, claimTtlMs: 10_000 }]);
      const put = end.item.Put as unknown as Parameters<DynamoDB['putItem']>[0];
      await bench.client.putItem(put);
      expect(await recordOf(store)).toMatchObject({ state: 'completed', response: ANSWER });
      await expect(bench.client.putItem(put)).rejects.toMatchObject({
        name: 'ConditionalCheckFailedException',
      });
      expect((await store.completionItem(finishRequest(owner, 'completed'))).kind).toBe('already');
      const stranger = { ...owner, claimId: 'another' };
      expect((await store.completionItem(finishRequest(stranger, 'completed'))).kind).toBe('refused');
    });

    // F6: the number of the attempt is the same again, and so is its state.
    it('of an earlier life of the key is shut out of the later one', async () => {
      const store = bench.open();
      const old = await claimed(store);
      const end = await store.completionItem(finishRequest(old, 'completed'));
      if (end.kind !== 'item') throw new Error(`expected an item, got ${end.kind}`);
      await store.finish([finishRequest(old, 'retryable')]);
      await forgetAsSeen(store, old);
      const owner = await claimed(store);
      expect(owner.attempt).toBe(old.attempt);
      const put = end.item.Put as unknown as Parameters<DynamoDB['putItem']>[0];
      await expect(bench.client.putItem(put)).rejects.toMatchObject({
        name: 'ConditionalCheckFailedException',
      });
      expect(await recordOf(store)).toMatchObject({ state: 'in_progress', claimId: owner.claimId });
    });
  });

  it('the end of an attempt and the caller’s other writes: all or none, with the reason', async () => {
    const store = bench.open();
    const owner = await claimed(store);
    const end = await store.completionItem(finishRequest(owner, 'completed'));
    if (end.kind !== 'item') throw new Error(`expected an item, got ${end.kind}`);
    await store.renew([{ ...owner, claimTtlMs: 10_000 }]);
    const Key = { pk: { S: 'order' }, sk: { S: '-' } };
    const element = end.item as unknown as NonNullable<
      Parameters<DynamoDB['transactWriteItems']>[0]['TransactItems']
    >[number];
    const TransactItems = [{ Put: { TableName: bench.tableName, Item: Key } }, element];
    if (!source.transactions) {
      await expect(bench.client.transactWriteItems({ TransactItems })).rejects.toMatchObject({
        name: expect.stringMatching(/Unknown/) as string,
      });
      expect((await recordOf(store)).state).toBe('in_progress');
      return;
    }
    await bench.client.transactWriteItems({ TransactItems });
    expect((await recordOf(store)).state).toBe('completed');
    await bench.client.deleteItem({ TableName: bench.tableName, Key });
    await expect(bench.client.transactWriteItems({ TransactItems })).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }],
    });
    const { Item } = await bench.client.getItem({ TableName: bench.tableName, Key, ConsistentRead: true });
    expect(Item).toBeUndefined();
  });

  describe('the table', () => {
    // Neither stand-in has regions: what AWS tells of them is put into the server's own answer.
    it('of several regions is refused, unless somebody says that each caller is in one; an index that is still filled is refused', async () => {
      let more: (table: TableDescription) => object = asGlobal;
      bench.meet = async (operation, _input, run) => {
        const answer = (await run()) as { Table: TableDescription };
        return operation === 'describeTable' ? { Table: more(answer.Table) } : answer;
      };
      await expect(bench.open().ready()).rejects.toMatchObject({
        code: 'ERR_SAMEKEY_SCHEMA',
        message: expect.stringMatching(/global table with 1 replicas.*oneWriterRegion/) as string,
      });
      await bench.open({ oneWriterRegion: true }).ready();
      more = asBeingFilled;
      await expect(bench.open().ready()).rejects.toThrow(/samekey_open that is CREATING/);
    });

    it('a process that starts waits more than once for the first answer, and not for ever', async () => {
      let silent = 2;
      bench.meet = (operation, _input, run) => {
        if (!/^(?:describeTable|scan)$/.test(operation) || silent === 0) return run();
        silent -= 1;
        return new Promise(() => undefined);
      };
      await bench.open({ callTimeMaxMs: 100 }).ready();
      // Likewise a page of a list.
      silent = 2;
      expect(await bench.open({ callTimeMaxMs: 100 }).list({})).toEqual([]);
      silent = Number.POSITIVE_INFINITY;
      await expect(bench.open({ callTimeMaxMs: 100 }).ready()).rejects.toThrow(/TimeoutError/);
    });

    it('without keys, indexes or TTL it is refused with what mends it', async () => {
      await expect(bench.open({ timeToLive: true }).ready()).rejects.toThrow(
        /updateTimeToLive\(timeToLiveInput/,
      );
      const { GlobalSecondaryIndexes: _none, ...input } = createTableInput(`${bench.tableName}-bare`);
      const AttributeDefinitions = input.AttributeDefinitions.slice(0, 2);
      await bench.client.createTable({ ...input, AttributeDefinitions });
      await expect(bench.open({ tableName: `${bench.tableName}-bare` }).ready()).rejects.toMatchObject({
        code: 'ERR_SAMEKEY_SCHEMA',
        message: expect.stringContaining('samekey_open') as string,
      });
      expect(() =>
        dynamodbStore({ service: 'test', client: {} as DynamoDbClient, tableName: bench.tableName }),
      ).toThrow(/DynamoDB/);
    });
  });
});
