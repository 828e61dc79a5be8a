/** Requests whose work goes on with a worker: what their client sees, first and later. */

import { describe, expect, it } from 'vitest';
import {
  createSamekey,
  NotExecutedError,
  type Operation,
  OutcomeUnknownError,
  reply,
  type SamekeyEvent,
} from '../../src/index.ts';
import { serve } from '../../src/adapters/fetch/index.ts';
import { HANDED_ON, HEADERS_NEVER_STORED, UNSTORABLE } from '../../../testing/src/hostile-values.ts';
import { createOperator } from '../../src/operator/index.ts';
import type { Delivery } from '../../src/worker/index.ts';
import { ended, kinds, type Place, signal } from './bench.ts';

interface Order {
  readonly item: string;
}

function ordersOf({ store, transactions, outbox }: Place): {
  readonly order: Operation<Order, unknown>;
  readonly events: SamekeyEvent[];
} {
  const events: SamekeyEvent[] = [];
  const samekey = createSamekey({ store, transactions, onEvent: (event) => events.push(event) });
  const order = samekey.transactional({
    name: 'order',
    async run(input: Order, attempt) {
      await outbox.enqueue(attempt.tx, { topic: 'audit', payload: input.item });
      await attempt.handOver({ topic: 'ship', payload: input });
      if (input.item === 'refused') throw new Error('out of stock');
      return { status: 'accepted' };
    },
  });
  return { order, events };
}

const REQUEST = { scope: ['t'], key: 'k-1', input: { item: 'book' } };

for (const kind of kinds()) {
  describe(`handed over: ${kind.name}`, () => {
    const place = kind.use();

    it('the first answer and later ones say where to ask and when, and none is a problem document (F94)', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      const answer = serve(order, { scope: () => 'acme', location: (_request, key) => `/status/${key}` });
      const ask = (key: string): Promise<Response> =>
        answer(
          new Request('http://shop.test/orders', {
            method: 'POST',
            headers: { 'Idempotency-Key': key, 'Content-Type': 'application/json' },
            body: '{"item":"book"}',
          }),
        );
      const [first, later] = [await ask('k-1'), await ask('k-1')];
      expect(await first.json()).toEqual({ status: 'accepted' });
      expect(await later.json()).toMatchObject({ code: 'pending' });
      for (const { status, headers } of [first, later]) {
        expect([status, headers.get('location'), headers.get('retry-after')]).toEqual([
          202,
          '/status/k-1',
          '1',
        ]);
        expect(headers.get('content-type')).toBe('application/json');
      }
    });

    it('the first answer is the handler’s, retries are told to ask again, and in the end get what the worker answered', async () => {
      const at = await place();
      const { order, events } = ordersOf(at);
      const first = await order.run(REQUEST);
      expect(first).toMatchObject({ kind: 'executed', state: 'pending', value: { status: 'accepted' } });
      expect(first).toMatchObject({ response: { status: 202 } });
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'pending' });
      expect(await order.run({ ...REQUEST, input: { item: 'pen' } })).toMatchObject({ kind: 'mismatch' });
      const all = ended(2);
      at.worker({
        onEvent: all.onEvent,
        handlers: {
          audit: () => undefined,
          ship: ({ payload }) => reply(201, { shipped: (payload as Order).item }),
        },
      }).start();
      await all.promise;
      expect(await order.run(REQUEST)).toMatchObject({
        kind: 'replay',
        value: { shipped: 'book' },
        response: { status: 201 },
      });
      expect(events.map(({ type }) => type)).toContain('handed-over');
    });

    // F147, F79
    it('an answer that cannot be stored ends the message and its request, whose work is not done twice', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      const all = ended(2 * UNSTORABLE.length);
      const shipped: string[] = [];
      const worker = at.worker({
        onEvent: all.onEvent,
        handlers: {
          audit: () => undefined,
          ship({ payload }) {
            shipped.push((payload as Order).item);
            const headers = [['Location', '/orders/1'], ...HEADERS_NEVER_STORED] as const;
            return reply(201, UNSTORABLE[Number((payload as Order).item)]?.make(), headers);
          },
        },
      });
      const requests = UNSTORABLE.map((_value, n) => ({
        ...REQUEST,
        key: `k-${n}`,
        input: { item: String(n) },
      }));
      for (const request of requests) await order.run(request);
      worker.start();
      await all.promise;
      for (const request of requests) {
        expect(await order.run(request)).toMatchObject({
          kind: 'response-not-stored',
          state: 'completed',
          originalStatus: 201,
          location: '/orders/1',
        });
      }
      expect(shipped).toHaveLength(requests.length);
      expect(new Set(shipped)).toEqual(new Set(requests.map(({ input }) => input.item)));
      expect(await at.outbox.count()).toEqual([]);
      const records = await at.store.list({ limit: 100 });
      for (const { reason, response } of records) {
        expect([reason, response?.body]).toEqual(['answer-not-storable', null]);
        expect(response?.headers).toEqual([['Location', '/orders/1']]);
      }
      const told = worker.events.filter(({ type }) => type === 'answer-not-stored');
      expect(told.map((event) => ('error' in event ? (event.error as { path: string }).path : ''))).toEqual(
        expect.arrayContaining(UNSTORABLE.map(({ path }) => path)),
      );
    });

    it('what is handed over, and what its worker answers, is read back like any answer', async () => {
      const at = await place();
      const samekey = createSamekey({ store: at.store, transactions: at.transactions });
      const order = samekey.transactional({
        name: 'order',
        async run(_input: null, attempt) {
          await attempt.handOver({ topic: 'ship', payload: HANDED_ON.make() });
          return HANDED_ON.make();
        },
      });
      const all = ended(1);
      const seen: unknown[] = [];
      const request = { ...REQUEST, input: null };
      expect(await order.run(request)).toMatchObject({ kind: 'executed', value: HANDED_ON.back });
      const handlers = {
        ship({ payload }: { readonly payload: unknown }) {
          seen.push(payload);
          return HANDED_ON.make();
        },
      };
      at.worker({ onEvent: all.onEvent, handlers }).start();
      await all.promise;
      expect(seen).toEqual([HANDED_ON.back]);
      expect(await order.run(request)).toMatchObject({ kind: 'replay', value: HANDED_ON.back });
    });

    it('what was rolled back handed nothing over', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      await expect(order.run({ ...REQUEST, input: { item: 'refused' } })).rejects.toThrow('out of stock');
      expect(await at.outbox.count()).toEqual([]);
      expect((await at.store.count()).retryable).toBe(1);
    });

    it('a message that is given up fails its request only if every delivery is proven without effect', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      const all = ended(4);
      const handlers = {
        audit: () => undefined,
        ship({ payload }: { payload: Order }, { number }: { number: number }) {
          // Of the one nobody knows whether its second delivery did something.
          if (payload.item === 'unclear' && number === 2) throw new Error('reset by peer');
          throw new NotExecutedError('connection refused');
        },
      };
      const worker = at.worker({ onEvent: all.onEvent, deliveriesMax: 3, handlers });
      await order.run({ ...REQUEST, key: 'proven' });
      const unclear = { ...REQUEST, key: 'unclear', input: { item: 'unclear' } };
      await order.run(unclear);
      worker.start();
      await all.promise;
      expect(await order.run({ ...REQUEST, key: 'proven' })).toMatchObject({
        kind: 'replay',
        response: { status: 500 },
      });
      expect(await order.run(unclear)).toMatchObject({ kind: 'unknown' });
      expect(worker.events.filter(({ type }) => type === 'dead-letter')).toHaveLength(2);
      expect(await at.store.count()).toMatchObject({ failed: 1, unknown: 1 });
    });

    it('a message whose handler answers 500 or above is delivered again, and its request gets what the last one answered', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      const all = ended(2);
      const statuses = [500, 599, 499];
      const handlers = {
        audit: () => undefined,
        ship: () => reply(statuses.shift() ?? 0, 'no'),
      };
      const worker = at.worker({ onEvent: all.onEvent, handlers });
      await order.run(REQUEST);
      worker.start();
      await all.promise;
      expect(await order.run(REQUEST)).toMatchObject({
        kind: 'replay',
        response: { status: 499 },
      });
      expect(statuses).toEqual([]);
      expect(worker.events.filter(({ type }) => type === 'delivery-failed')).toMatchObject([
        { proven: false },
        { proven: false },
      ]);
    });

    it('a message whose handler does not know what it did is delivered no more, and its request is asked about at once', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      const all = ended(6);
      const deliveries: string[] = [];
      const worker = at.worker({
        onEvent: all.onEvent,
        deliveriesMax: 5,
        handlers: {
          audit: () => undefined,
          ship({ payload }: { payload: Order }, delivery: Delivery): unknown {
            deliveries.push(payload.item);
            if (payload.item === 'thrown') throw new OutcomeUnknownError('no reply');
            delivery.unknown('no reply');
            if (payload.item === 'declared') throw new NotExecutedError('connection refused');
            return { shipped: true };
          },
        },
      });
      const items = ['answered', 'declared', 'thrown'];
      const requests = items.map((item) => ({ ...REQUEST, key: item, input: { item } }));
      for (const request of requests) await order.run(request);
      worker.start();
      await all.promise;
      for (const request of requests) expect(await order.run(request)).toMatchObject({ kind: 'unknown' });
      expect(deliveries.toSorted()).toEqual(items);
      expect(await at.outbox.deadLetters()).toHaveLength(3);
      const due = await at.store.takeUnknown({ operations: null, leaseMs: 60_000, limit: 10 });
      expect(due.map(({ reason }) => reason)).toEqual(items.map(() => 'message-unknown: no reply'));
    });

    it('requeued, a message still ends the request that nobody knew of', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      let works = false;
      const dead = ended(2);
      const handlers = {
        audit: () => undefined,
        ship(): unknown {
          if (!works) throw new Error('reset by peer');
          return { shipped: true };
        },
      };
      const worker = at.worker({ onEvent: dead.onEvent, deliveriesMax: 1, handlers });
      await order.run(REQUEST);
      worker.start();
      await dead.promise;
      await worker.stop();
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'unknown' });
      works = true;
      const [letter] = await at.outbox.deadLetters();
      await at.outbox.requeue([letter?.id ?? ''], { reason: 'mended', actor: 'operator-1' });
      const done = ended(1);
      at.worker({ onEvent: done.onEvent, deliveriesMax: 1, handlers }).start();
      await done.promise;
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'replay', value: { shipped: true } });
    });

    // F142
    it('a message whose request was settled and dropped is never delivered again, and cleared by hand', async () => {
      const at = await place();
      const { order } = ordersOf(at);
      const dead = ended(2);
      let deliveries = 0;
      const handlers = {
        audit: () => undefined,
        ship(): unknown {
          deliveries += 1;
          throw new Error('reset by peer');
        },
      };
      const worker = at.worker({ onEvent: dead.onEvent, deliveriesMax: 1, handlers });
      await order.run(REQUEST);
      worker.start();
      await dead.promise;
      await worker.stop();
      const operator = createOperator({ store: at.store, actor: 'operator-1' });
      const [unknown] = await operator.list({ states: ['unknown'] });
      if (unknown === undefined) throw new Error('the request must be unknown');
      const reason = 'never mind';
      const letters = await operator.deadLetters();
      expect(await operator.requestsOf(letters)).toEqual(['open']);
      await operator.settle(unknown, { to: 'failed', reason, response: null });
      expect(await operator.requestsOf(letters)).toEqual(['answered']);
      await operator.forget(unknown, { reason });
      expect(await operator.requestsOf(letters)).toEqual(['gone']);
      const ids = letters.map(({ id }) => id);
      expect(await operator.requeue(ids, { reason: 'mended' })).toEqual([]);
      expect(await operator.audit({ acts: ['requeue'] })).toEqual([]);
      expect(deliveries).toBe(1);
      expect(await operator.drop(ids, { reason: 'of a request that is gone' })).toEqual(ids);
      expect(await operator.deadLetters()).toEqual([]);
      expect(await operator.audit({ acts: ['drop'] })).toMatchObject([
        { key: 'k-1', reason: 'of a request that is gone', actor: 'operator-1' },
      ]);
    });

    it('a worker pushes deferred operations on, and the sweeper ends claims', async () => {
      const at = await place();
      const samekey = createSamekey({ store: at.store, transactions: at.transactions });
      const slow = samekey.deferred(
        samekey.transactional({ name: 'slow', run: (input: Order) => ({ did: input.item }) }),
      );
      expect(await slow.run(REQUEST)).toMatchObject({ kind: 'pending' });
      const pushed = signal();
      const worker = at.worker({
        samekey,
        pushMs: 20,
        onEvent: ({ type }) => {
          if (type === 'pushed') pushed.resolve();
        },
      });
      worker.start();
      await worker.ready();
      await pushed.promise;
      expect(await slow.run(REQUEST)).toMatchObject({ kind: 'replay', value: { did: 'book' } });
    });
  });
}
