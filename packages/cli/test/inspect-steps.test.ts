/** What `samekey inspect` shows of a phased operation that stopped at a call, and of a request whose message was given up. */

import Database from 'libsql';
import { createSamekey } from 'samekey';
import { sqliteStore } from 'samekey/stores/sqlite';
import { fromSqlite } from 'samekey/tx/sqlite';
import { createWorker } from 'samekey/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from './migrating.ts';
import { freshFolder } from './running-demo.ts';

const folder = freshFolder();
const path = `${folder.dir}/keys.db`;
const database = new Database(path);
const store = sqliteStore({ service: 'shop', database });
const samekey = createSamekey({ store, transactions: fromSqlite(store), policy: 'payments' });
const pay = samekey.phased<{ amount: number }, unknown>({
  name: 'pay',
  async run(input, attempt) {
    await attempt.phase('reserve', async () => ({ order: 'secret-order-7' }));
    await attempt.effect(
      'charge',
      async () => {
        throw new Error('the connection was lost');
      },
      { rule: 'reconcile', input, callTimeMaxMs: 5_000 },
    );
    return { paid: true };
  },
});
const order = samekey.transactional<{ amount: number }, unknown>({
  name: 'order',
  run: async (input, attempt) => {
    await attempt.handOver({ topic: 'charge', payload: { secret: 'card-4711', ...input } });
    return null;
  },
});

beforeAll(async () => {
  await store.migrate();
  await samekey.ready();
});
afterAll(async () => {
  await samekey.close();
  database.close();
  folder.remove();
});

const inspect = (...args: readonly string[]) => said(['inspect', '--database', path, ...args]);

describe('samekey inspect', () => {
  it('shows the steps of a phased operation and its open call; results only when asked', async () => {
    await pay.run({ scope: ['acme'], key: 'k-pay', input: { amount: 5 } }).catch(() => undefined);
    const { stdout } = await inspect('k-pay');
    expect(stdout).toMatch(/^State +unknown/m);
    expect(stdout).toContain('1. phase "reserve" committed');
    expect(stdout).toMatch(/2\. effect "charge" OPEN: .*\(attempt 1, rule reconcile, at most 5 s\)/);
    expect(stdout).toMatch(/^Intent +the effect "charge" is open since/m);
    expect(stdout).not.toContain('secret-order-7');
    expect((await inspect('k-pay', '--show-bodies')).stdout).toContain('secret-order-7');
    const json = JSON.parse((await inspect('k-pay', '--json')).stdout) as { record: object };
    expect(json.record).toMatchObject({
      openEffect: 'charge',
      steps: [{ name: 'reserve' }, { name: 'charge', isDone: false }],
    });
    expect(JSON.stringify(json)).not.toContain('secret-order-7');
  });

  it('puts in the result of the call, and the next attempt goes on behind it', async () => {
    const settle = ['settle', 'k-pay', '--to', 'retryable', '--effect-result', '{"id":"pay_1"}'];
    const by = ['--reason', 'the provider shows it', '--actor', 'alice', '--yes', '--database', path];
    expect(await said([...settle, ...by])).toMatchObject({ code: 0, stderr: '' });
    const outcome = await pay.run({ scope: ['acme'], key: 'k-pay', input: { amount: 5 } });
    expect(outcome).toMatchObject({ kind: 'executed', value: { paid: true } });
  });

  it('shows the message that a request was handed over to, and why it was given up', async () => {
    await order.run({ scope: ['acme'], key: 'k-order', input: { amount: 5 } });
    const before = await inspect('k-order');
    expect(before.stdout).toMatch(/^State +pending/m);
    expect(before.stdout).toMatch(/charge +ready, 0 deliveries begun/);
    const dead = new Promise<void>((resolve) => {
      const worker = createWorker({
        store,
        handlers: {
          charge: async () => {
            throw new Error('card declined, maybe');
          },
        },
        deliveriesMax: 1,
        onEvent: ({ type }) => {
          if (type === 'dead-letter') void worker.stop().then(() => resolve());
        },
      });
      worker.start();
    });
    await dead;
    const { stdout } = await inspect('k-order');
    expect(stdout).toMatch(/^State +unknown/m);
    expect(stdout).toMatch(/^Why +message-dead/m);
    expect(stdout).toMatch(
      /charge +dead, 1 deliveries begun, 1 ended, 0 proven without effect, last error: .*card declined/,
    );
    expect(stdout).not.toContain('card-4711');
    expect((await inspect('k-order', '--show-bodies')).stdout).toContain('card-4711');
  });
});
