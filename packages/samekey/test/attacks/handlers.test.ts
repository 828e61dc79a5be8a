/** Handlers, listeners and inputs that do what nobody should: nothing is stuck, repeated or ended by it. */

import { afterEach, describe, expect, it } from 'vitest';
import { createSamekey, reply } from '../../src/index.ts';
import { internalsOf } from '../../src/samekey.ts';
import { pushDue } from '../../src/ways/completer.ts';
import { createWorker } from '../../src/worker/index.ts';
import { ended, kinds, signal } from '../worker/bench.ts';

const REQUEST = { scope: ['t'], key: 'k-1', input: { item: 'book' } };

/** As an async function that is passed where nobody looks at its promise. */
const away: () => unknown = () => Promise.reject(new Error('the audit table is away'));

/** What nobody caught: Node would end the process. */
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

for (const kind of kinds()) {
  describe(`attacks on ${kind.name}`, () => {
    const place = kind.use();
    afterEach(() => void process.off('unhandledRejection', note));

    it.each([
      ['caught', true],
      ['not waited for', false],
    ])(
      'a message that could not be handed over, its error %s, leaves no record that nobody ends',
      async (_how, waits) => {
        const { store, transactions } = await place();
        const samekey = createSamekey({ store, transactions });
        let isBad = true;
        const order = samekey.transactional({
          name: 'order',
          async run(_input: unknown, attempt) {
            const handed = attempt.handOver({ topic: 'ship', payload: isBad ? 1n : 1 });
            if (waits) await handed.catch(() => undefined);
            return 'accepted';
          },
        });
        await expect(order.run(REQUEST)).rejects.toThrow();
        expect(await store.count()).toMatchObject({ pending: 0, retryable: 1 });
        isBad = false;
        expect(await order.run(REQUEST)).toMatchObject({ kind: 'executed', state: 'pending' });
        expect(await store.messages.count()).toMatchObject([{ topic: 'ship', count: 1 }]);
      },
    );

    it('a listener whose promise is rejected, of an instance or a worker, does not end the process', async () => {
      process.on('unhandledRejection', note);
      const { store, transactions, outbox } = await place();
      const heard = signal();
      const samekey = createSamekey({ store, transactions, onEvent: away });
      const order = samekey.transactional({ name: 'order', run: () => 'done' });
      expect(await order.run(REQUEST)).toMatchObject({ kind: 'executed' });
      await outbox.enqueueAlone({ topic: 'mail' });
      const worker = createWorker({
        store,
        handlers: { mail: () => undefined },
        onEvent({ type }) {
          if (type === 'delivered') heard.resolve();
          return away();
        },
      });
      worker.start();
      await heard.promise;
      // Node tells of a rejection once its microtasks are through.
      await new Promise((resolve) => void setImmediate(resolve));
      await worker.stop();
      expect(unhandled.splice(0)).toEqual([]);
    });

    it('a delivery that succeeded is not repeated because nobody can store what its handler returned', async () => {
      const { outbox, worker } = await place();
      const all = ended(1);
      let runs = 0;
      await outbox.enqueueAlone({ topic: 'mail' });
      const handlers = {
        mail() {
          runs += 1;
          return { insertId: 1n };
        },
      };
      worker({ handlers, onEvent: all.onEvent }).start();
      await all.promise;
      expect(runs).toBe(1);
      expect(await outbox.count()).toEqual([]);
    });

    it('a handler that throws what cannot be made a text has failed like any other', async () => {
      const { outbox, worker } = await place();
      const all = ended(1);
      await outbox.enqueueAlone({ topic: 'mail' });
      worker({
        deliveriesMax: 2,
        onEvent: all.onEvent,
        handlers: {
          mail() {
            throw Object.create(null);
          },
        },
      }).start();
      await all.promise;
      expect(await outbox.deadLetters()).toMatchObject([{ started: 2, finished: 2, proven: 0 }]);
    });

    it('operations whose input nobody here can read do not keep the others from being pushed on', async () => {
      const { store, transactions } = await place();
      const before = createSamekey({ store, transactions });
      const plain = { name: 'report', policy: 'standard', run: () => 'done' } as const;
      const report = before.deferred(before.transactional({ ...plain }));
      for (const key of ['k-1', 'k-2', 'k-3']) await report.run({ ...REQUEST, key, input: 'old' });
      await report.run({ ...REQUEST, key: 'k-4', input: 'new' });
      const after = createSamekey({ store, transactions });
      const input = {
        encode: (value: string) => new TextEncoder().encode(JSON.stringify(value)),
        decode(bytes: Uint8Array) {
          const value = JSON.parse(new TextDecoder().decode(bytes)) as string;
          if (value === 'old') throw new Error('an input of earlier code');
          return value;
        },
      };
      after.deferred(after.transactional({ name: 'report', input, run: (value: string) => value }));
      const done: string[] = [];
      for (let round = 0; round < 5; round += 1) {
        for (const { record, outcome } of await pushDue(internalsOf(after), 1)) {
          if (outcome.kind === 'executed') done.push(record.key);
        }
      }
      expect(done).toEqual(['k-4']);
    });
  });
}

describe('reply', () => {
  it.each([
    ['X-Note', 'a\r\nSet-Cookie: b'],
    ['X-Note', 'naïve — dash'],
    ['X Note', 'a'],
    ['X-Note', undefined as unknown as string],
  ])('refuses the header line %j: %j, which would fail every answer of the key', (name, value) => {
    expect(() => reply(200, {}, [[name, value]])).toThrow('header');
  });
});
