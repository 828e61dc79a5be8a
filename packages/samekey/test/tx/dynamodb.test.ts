/**
 * Transactions of DynamoDB on a server that has them: what a handler lists and the end of its record are written together or not at
 * all, whatever the network does to the one call that writes them. Answers are lost on the wire by a proxy that reads the requests.
 */

import type { DynamoDB } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import type { SamekeyEvent } from '../../src/engine/events.ts';
import { reply } from '../../src/ways/reply.ts';
import { createSamekey, type Samekey } from '../../src/samekey.ts';
import type { DynamoDbStoreOptions } from '../../src/stores/dynamodb/index.ts';
import { keyRing, sealed } from '../../src/seal/index.ts';
import { recordOf } from '../../../testing/src/contract/context.ts';
import { signal } from '../../../testing/src/tx/kit.ts';
import { type DynamoDbTransaction, fromDynamodb, type TransactElement } from '../../src/tx/dynamodb/index.ts';
import { availableDynamoDb, dynamoClient, transactionalDynamoDb } from '../services/dynamodb.ts';
import { startFaultProxy } from '../services/fault-proxy.ts';
import { dynamoWire } from '../services/http-wire.ts';
import { dynamoBench, named } from '../stores/dynamodb-bench.ts';

type Tx = DynamoDbTransaction<TransactElement<DynamoDB>>;
interface Order {
  readonly id: string;
}
const REQUEST = { scope: ['t1'], key: 'k-1', input: { id: 'o-1' } };

/** Orders stand in the same table, out of the way of the store's items. */
function keyOf(id: string): { pk: { S: string }; sk: { S: string } } {
  return { pk: { S: `order ${id}` }, sk: { S: '-' } };
}

describe.each(transactionalDynamoDb())('transactions of DynamoDB: $name', (source) => {
  const bench = dynamoBench(source);

  const put = (id: string): TransactElement<DynamoDB> => ({
    Put: { TableName: bench.tableName, Item: keyOf(id), ConditionExpression: 'attribute_not_exists(pk)' },
  });

  async function orders(): Promise<readonly string[]> {
    const { Items = [] } = await bench.client.scan({ TableName: bench.tableName, ConsistentRead: true });
    return Items.flatMap(({ pk }) =>
      pk?.S?.startsWith('order ') === true ? [pk.S.slice(6)] : [],
    ).toSorted();
  }

  function instance(
    options: Partial<DynamoDbStoreOptions> = {},
    client: DynamoDB = bench.checked,
  ): { readonly samekey: Samekey<Tx>; readonly events: SamekeyEvent[] } {
    const events: SamekeyEvent[] = [];
    const samekey = createSamekey({
      store: bench.open(options),
      transactions: fromDynamodb(client, { random: () => 0 }),
      onEvent: (event) => void events.push(event),
      replayCacheTimeMaxMs: 0,
      policy: 'standard',
    });
    return { samekey, events };
  }

  /** One order; `before` is what the handler does else. */
  function ordering(
    { samekey }: { readonly samekey: Samekey<Tx> },
    before: (tx: Tx, run: number) => Promise<void> | void = () => undefined,
  ): { run(): Promise<unknown>; readonly runs: () => number } {
    let runs = 0;
    const operation = samekey.transactional({
      name: 'order',
      async run(input: Order, attempt) {
        runs += 1;
        await before(attempt.tx, runs);
        attempt.tx.write(put(input.id));
        return reply(201, { attempt: attempt.number });
      },
    });
    return {
      async run() {
        const outcome = await operation.run(REQUEST);
        return outcome.kind === 'executed' || outcome.kind === 'replay'
          ? `${outcome.kind} ${JSON.stringify(outcome.value)}`
          : outcome.kind;
      },
      runs: () => runs,
    };
  }

  describe('together', () => {
    it('the business write and the record are written by one call, and a retry replays', async () => {
      const order = ordering(instance());
      expect(await order.run()).toBe('executed {"attempt":1}');
      expect(bench.made.filter((operation) => operation === 'transactWriteItems')).toHaveLength(1);
      expect(await order.run()).toBe('replay {"attempt":1}');
      expect([order.runs(), await orders()]).toEqual([1, ['o-1']]);
    });

    it('a throw writes nothing, comes through as it was, and the next request runs', async () => {
      const thrown = new Error('out of paper');
      const order = ordering(instance(), (tx, run) => {
        tx.write(put('never'));
        if (run === 1) throw thrown;
      });
      await expect(order.run()).rejects.toBe(thrown);
      expect(await orders()).toEqual([]);
      expect(await order.run()).toBe('executed {"attempt":2}');
    });

    it('rollback() keeps the answer and drops the writes', async () => {
      const { samekey } = instance();
      const order = samekey.transactional({
        name: 'order',
        run(input: Order, attempt) {
          attempt.tx.write(put(input.id));
          attempt.rollback();
          return reply(409, 'sold out');
        },
      });
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'executed', state: 'failed' });
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'replay', value: 'sold out' });
      expect(await orders()).toEqual([]);
    });

    it('its row of the audit is written with it, or neither', async () => {
      const made = instance({ auditTransitions: true });
      const order = ordering(made, (_tx, run) => {
        if (run === 1) throw new Error('no');
      });
      await expect(order.run()).rejects.toThrow('no');
      await order.run();
      const rows = await made.samekey.store.audit({ limit: 10 });
      expect(rows.map(({ from, to, attempt }) => `${attempt}: ${from} → ${to}`)).toEqual([
        '2: in_progress → completed',
        '2: retryable → in_progress',
        '1: in_progress → retryable',
        '1: null → in_progress',
      ]);
    });

    it('a sealed store seals what is written in it, and a retry is told the answer in clear', async () => {
      const ring = keyRing({ current: 'k1', keys: { k1: new Uint8Array(32).fill(7) } });
      const samekey = createSamekey({
        store: sealed(bench.open(), ring),
        transactions: fromDynamodb(bench.checked),
        replayCacheTimeMaxMs: 0,
      });
      const order = samekey.transactional({
        name: 'order',
        run(input: Order, attempt) {
          attempt.tx.write(put(input.id));
          return 'a secret answer';
        },
      });
      expect((await order.run(REQUEST)).kind).toBe('executed');
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'replay', value: 'a secret answer' });
      const { Items = [] } = await bench.client.scan({ TableName: bench.tableName });
      const bytes = Items.flatMap((item) =>
        Object.values(item).map(({ B }) => Buffer.from(B ?? []).toString()),
      );
      expect(bytes.join('')).not.toContain('secret');
      expect(await orders()).toEqual(['o-1']);
    });

    it('a write after the end, and more than 100 of them, are refused in words', async () => {
      const kept: Tx[] = [];
      const order = ordering(instance(), (tx, run) => {
        kept.push(tx);
        if (run === 1) tx.write(...Array.from({ length: 100 }, (_, i) => put(`many-${i}`)));
      });
      await expect(order.run()).rejects.toThrow(/102 elements/);
      await order.run();
      expect(() => kept[1]?.write(put('late'))).toThrow(/before the handler returns/);
      expect(await orders()).toEqual(['o-1']);
    });
  });

  describe('again', () => {
    it('what a handler has read and somebody else has changed makes it run again, and no update is lost', async () => {
      const counter = keyOf('counter');
      const count = async (tx: Tx): Promise<number> => {
        const { Item } = await bench.client.getItem({
          TableName: bench.tableName,
          Key: counter,
          ConsistentRead: true,
        });
        const was = Number(Item?.['n']?.N ?? 0);
        tx.write({
          Put: {
            TableName: bench.tableName,
            Item: { ...counter, n: { N: String(was + 1) } },
            ConditionExpression: 'attribute_not_exists(n) OR n = :was',
            ExpressionAttributeValues: { ':was': { N: String(was) } },
          },
        });
        return was;
      };
      const both = signal();
      let runs = 0;
      const counting = instance().samekey.transactional({
        name: 'count',
        async run(_input: null, attempt) {
          runs += 1;
          await count(attempt.tx);
          if (runs === 2) both.give();
          // Both have read the same.
          await both.given;
          return 'counted';
        },
      });
      const outcomes = await Promise.all(
        ['a', 'b'].map((key) => counting.run({ scope: ['t'], key, input: null })),
      );
      expect(outcomes.map(({ kind }) => kind)).toEqual(['executed', 'executed']);
      const { Item } = await bench.client.getItem({
        TableName: bench.tableName,
        Key: counter,
        ConsistentRead: true,
      });
      expect([runs, Item?.['n']]).toEqual([3, { N: '2' }]);
    });

    // F16: it is about an item of the business, not about the key.
    it('a condition that never holds ends after five runs, with its own error and nothing written', async () => {
      await bench.client.putItem({ TableName: bench.tableName, Item: keyOf('o-1') });
      const made = instance();
      const order = ordering(made, (tx) => tx.write(put('beside')));
      await expect(order.run()).rejects.toMatchObject({
        name: 'TransactionCanceledException',
        CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }, { Code: 'None' }],
      });
      expect([order.runs(), await orders()]).toEqual([5, ['o-1']]);
      await bench.client.deleteItem({ TableName: bench.tableName, Key: keyOf('o-1') });
      expect(await order.run()).toBe('executed {"attempt":2}');
    });

    it.each([
      ['TransactionConflict', 2, 'executed {"attempt":1}'],
      ['ThrottlingError', 2, 'executed {"attempt":1}'],
      ['ValidationError', 1, 'TransactionCanceledException'],
      ['ItemCollectionSizeLimitExceeded', 1, 'TransactionCanceledException'],
    ])('a transaction cancelled by %s is run %i times', async (Code, runs, what) => {
      let isFirst = true;
      bench.meet = (operation, _input, run) => {
        if (operation !== 'transactWriteItems' || !isFirst) return run();
        isFirst = false;
        return Promise.reject(
          named('TransactionCanceledException', {
            CancellationReasons: [{ Code: 'None' }, { Code }],
            $metadata: { httpStatusCode: 400, attempts: 1 },
          }),
        );
      };
      const order = ordering(instance());
      expect(await order.run().catch(({ name }: Error) => name)).toBe(what);
      expect(order.runs()).toBe(runs);
    });

    it.each([
      'ProvisionedThroughputExceededException',
      'ThrottlingException',
      'TransactionConflictException',
    ])('%s is asked again without running the handler again', async (name) => {
      const tokens = new Set<unknown>();
      let left = 3;
      bench.meet = (operation, input, run) => {
        if (operation !== 'transactWriteItems') return run();
        tokens.add((input as { ClientRequestToken?: string }).ClientRequestToken);
        left -= 1;
        return left > 0
          ? Promise.reject(named(name, { $metadata: { httpStatusCode: 400, attempts: 1 } }))
          : run();
      };
      const order = ordering(instance());
      expect(await order.run()).toBe('executed {"attempt":1}');
      expect([order.runs(), tokens.size, left]).toEqual([1, 1, 0]);
    });
  });

  describe('owners', () => {
    // F4, F5
    it('a frozen owner cannot write once its claim was taken, and is told the answer that stands', async () => {
      let elapsedMs = 0;
      const clock = (zero: number): Partial<DynamoDbStoreOptions> => ({
        now: () => Date.UTC(2030, 0) + elapsedMs,
        monotonicNow: () => elapsedMs + zero,
      });
      const [old, next] = [instance(clock(0)), instance(clock(7))];
      const [inside, go] = [signal(), signal()];
      const frozen = ordering(old, async () => {
        inside.give();
        await go.given;
      }).run();
      await inside.given;
      const taking = ordering(next);
      expect(await taking.run()).toBe('in-progress');
      elapsedMs += 31_000;
      expect(await taking.run()).toBe('executed {"attempt":2}');
      go.give();
      expect(await frozen).toBe('replay {"attempt":2}');
      expect(await orders()).toEqual(['o-1']);
      expect(old.events.some(({ type }) => type === 'fence-lost')).toBe(true);
    });
  });

  describe('unclear', () => {
    it.each([
      ['lose-reply', 'closed'],
      ['lose-reply', 'half-open'],
      ['cut-before', 'closed'],
    ] as const)(
      '%s on the wire, the connection %s: sent again as the same transaction, one run, one order',
      async (what, leaves) => {
        const proxy = await startFaultProxy(bench.server.url, dynamoWire);
        const client = dynamoClient(proxy.url, { maxAttempts: 1 });
        const armed = proxy.arm({ statement: /^TransactWriteItems /, what, leaves });
        const order = ordering(instance({}, client));
        const [outcome] = await Promise.all([order.run(), armed.happened]);
        expect(outcome).toBe('executed {"attempt":1}');
        expect([order.runs(), await orders()]).toEqual([1, ['o-1']]);
        client.destroy();
        await proxy.close();
      },
    );

    it('applied, and not one answer came: the record tells that it was', async () => {
      bench.meet = async (operation, _input, run) => {
        const answer = await run();
        if (operation === 'transactWriteItems')
          throw named('InternalServerError', { $metadata: { httpStatusCode: 500 } });
        return answer;
      };
      const order = ordering(instance());
      expect(await order.run()).toBe('executed {"attempt":1}');
      expect([order.runs(), await orders()]).toEqual([1, ['o-1']]);
    });

    it('never applied, and not one answer came: the handler runs again, five times at most, and the next request too', async () => {
      bench.meet = (operation, _input, run) =>
        operation === 'transactWriteItems' ? Promise.reject(named('TimeoutError')) : run();
      const order = ordering(instance());
      await expect(order.run()).rejects.toMatchObject({ name: 'TransactionUnclear' });
      expect([order.runs(), await orders()]).toEqual([5, []]);
      bench.pass();
      expect(await order.run()).toBe('executed {"attempt":2}');
    });

    it('a transaction that arrives after it was given up is shut out, also while its handler runs again', async () => {
      let late: (() => Promise<unknown>) | undefined;
      bench.meet = (operation, _input, run) => {
        if (operation !== 'transactWriteItems' || order.runs() > 1) return run();
        late = run;
        return Promise.reject(named('TimeoutError'));
      };
      const order = ordering(instance(), async (tx, run) => {
        tx.write(put(`of run ${run}`));
        if (run === 2) await expect(late?.()).rejects.toMatchObject({ name: 'TransactionCanceledException' });
      });
      expect(await order.run()).toBe('executed {"attempt":1}');
      await expect(late?.()).rejects.toMatchObject({ name: 'TransactionCanceledException' });
      expect(await orders()).toEqual(['o-1', 'of run 2']);
    });
  });

  describe('phases', () => {
    it('a phase is written with its result, and does not run again in the next attempt', async () => {
      let broken = true;
      const ran: string[] = [];
      const { samekey } = instance();
      const paying = samekey.phased({
        name: 'pay',
        async run(input: Order, attempt) {
          const first = await attempt.phase('reserve', async (tx) => {
            ran.push('reserve');
            tx.write(put(input.id));
            return 7;
          });
          if (broken) throw new Error('broken');
          await attempt.phase('ship', async (tx) => {
            ran.push('ship');
            tx.write(put(`shipped-${first}`));
          });
          return first;
        },
      });
      await expect(paying.run(REQUEST)).rejects.toThrow('broken');
      expect(await orders()).toEqual(['o-1']);
      broken = false;
      expect(await paying.run(REQUEST)).toMatchObject({ kind: 'executed', value: 7 });
      expect([ran, await orders()]).toEqual([
        ['reserve', 'ship'],
        ['o-1', 'shipped-7'],
      ]);
      const id = (await samekey.store.list({}))[0] ?? expect.fail('no record');
      expect((await recordOf(samekey.store, id)).state).toBe('completed');
    });
  });
});

// The stand-in that knows no transactions.
describe.each(availableDynamoDb().filter(({ transactions }) => !transactions))(
  'without them: $name',
  (source) => {
    const bench = dynamoBench(source);

    it('nothing runs half: the error comes through, nothing is written, and the key may be tried again', async () => {
      const samekey = createSamekey({ store: bench.open(), transactions: fromDynamodb(bench.checked) });
      const order = samekey.transactional({
        name: 'order',
        run(_input: Order, attempt) {
          attempt.tx.write({
            Put: { TableName: bench.tableName, Item: { pk: { S: 'order' }, sk: { S: '-' } } },
          });
          return 'done';
        },
      });
      await expect(order.run(REQUEST)).rejects.toMatchObject({
        name: expect.stringMatching(/Unknown/) as string,
      });
      const [record] = await samekey.store.list({});
      expect(record).toMatchObject({ state: 'retryable', proof: 'rolledBack' });
      const { Item } = await bench.client.getItem({
        TableName: bench.tableName,
        Key: { pk: { S: 'order' }, sk: { S: '-' } },
      });
      expect(Item).toBeUndefined();
    });

    it('a store that was told so refuses the transactional way at start', () => {
      const store = bench.open({ transactions: false });
      expect(store.capabilities.transactions).toBe(false);
      expect(() => createSamekey({ store, transactions: fromDynamodb(bench.checked) })).toThrow(
        /need a store/,
      );
      expect(() => fromDynamodb({} as DynamoDB)).toThrow(/transactWriteItems/);
    });
  },
);
