/** Once, and the same answer: what a request and its duplicates meet. */

import assert from 'node:assert/strict';
import { response } from 'samekey/internals/core/response';
import { type AddEngineTest, CLAIM_TTL_MS, heldHandler, JSON_TYPE } from './bench.ts';
import { executed, met, replayed } from './expect.ts';

export function onceTests(test: AddEngineTest): void {
  test('the first request runs; its retries get its answer in every process, also in one that starts later', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const { response: answer } = executed(await bench.until(a.ask()), {
      attempt: 1,
      state: 'completed',
      stored: true,
    });
    for (const node of [a, b, await bench.node()]) replayed(await bench.until(node.ask()), answer);
    assert.equal(bench.runs, 1);
  });

  test('samekey.run gives every retry the same value, and throws what its handler threw', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const request = { operation: 'pay', scope: ['t'], key: 'k', fingerprint: { amount: 1 } };
    const first = await bench.until(a.samekey.run(request, () => ({ paid: bench.count() })));
    const second = await bench.until(b.samekey.run(request, () => ({ paid: bench.count() })));
    assert.deepEqual([first.kind, second.kind], ['executed', 'replay']);
    for (const outcome of [first, second]) assert.deepEqual('value' in outcome && outcome.value, { paid: 1 });
    const failure = new Error('on purpose');
    const failing = a.samekey.run({ ...request, key: 'other' }, () => Promise.reject(failure));
    await assert.rejects(bench.until(failing), failure);
  });

  // F12
  test('another request under the key is a mismatch while the first is in flight, and changes nothing', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const held = heldHandler(bench);
    const first = a.ask({}, held.handler);
    await bench.until(held.begun);
    const record = await bench.record();
    for (const node of [a, b]) met(await bench.until(node.ask({ body: '{"amount":2}' })), 'mismatch');
    assert.deepEqual(await bench.record(), record);
    held.end();
    const { response: answer } = executed(await bench.until(first));
    met(await bench.until(b.ask({ body: '{"amount":2}' })), 'mismatch');
    replayed(await bench.until(b.ask()), answer);
    assert.equal(bench.runs, 1);
  });

  // F1, F9
  test('a duplicate of a running request is told when to come back: not later than the claim ends', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const held = heldHandler(bench);
    const first = a.ask({}, held.handler);
    await bench.until(held.begun);
    for (const node of [a, b]) {
      const { retryAfterMs } = met(await bench.until(node.ask()), 'in-progress');
      assert.ok(retryAfterMs >= 1_000 && retryAfterMs <= CLAIM_TTL_MS);
    }
    await bench.pass(3_000);
    const { retryAfterMs } = met(await bench.until(b.ask()), 'in-progress');
    assert.ok(retryAfterMs <= CLAIM_TTL_MS - 3_000);
    held.end();
    executed(await bench.until(first));
    assert.equal(bench.runs, 1);
  });

  // F11
  test('duplicates that wait get the one answer, in the process that runs and in another', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const held = heldHandler(bench);
    const first = a.ask({}, held.handler);
    await bench.until(held.begun);
    const waiting = [a, b].map((node) => node.ask({ waitMaxMs: 60_000 }));
    await bench.pass(2 * CLAIM_TTL_MS);
    held.end();
    const { response: answer } = executed(await bench.until(first));
    for (const one of waiting) replayed(await bench.until(one), answer);
  });

  // F8
  test('a duplicate that gives up waiting has changed nothing', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const held = heldHandler(bench);
    const first = a.ask({}, held.handler);
    await bench.until(held.begun);
    const record = await bench.record();
    for (const node of [a, b]) met(await bench.until(node.ask({ waitMaxMs: 1_000 })), 'in-progress');
    assert.deepEqual(await bench.record(), record);
    held.end();
    const { response: answer } = executed(await bench.until(first));
    replayed(await bench.until(b.ask()), answer);
  });

  // F24, F25, F35
  test('another tenant, another key and another letter case are other operations', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const others = [
      {},
      { scope: ['tenant-2'] },
      { key: 'key-2' },
      { key: 'KEY-1' },
      { operation: 'POST /refunds' },
    ];
    for (const request of others) executed(await bench.until(a.ask(request)), { attempt: 1 });
    assert.equal(bench.runs, others.length);
    for (const [i, request] of others.entries())
      replayed(await bench.until(b.ask(request)), response(201, JSON_TYPE, `{"run":${i + 1}}`));
  });

  // F7
  test('a refusal is replayed, also when the reason for it is gone', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const refusal = response(409, JSON_TYPE, '{"code":"out-of-stock"}');
    executed(await bench.until(a.ask({}, () => refusal)), { state: 'failed', stored: true });
    for (const node of [a, b]) replayed(await bench.until(node.ask()), refusal);
    assert.equal(bench.runs, 0);
  });

  // F13: it has looked for the key under the operation's names, and found nothing.
  test('a duplicate that looked before the first finished, and acts after it, gets the answer', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const request = { formerly: ['POST /v1/payments'] };
    const late = b.holdAt('claim.before');
    const duplicate = b.ask(request);
    await bench.until(late.reached);
    const { response: answer } = executed(await bench.until(a.ask(request)));
    late.release();
    replayed(await bench.until(duplicate), answer);
    assert.equal(bench.runs, 1);
  });

  // F59
  test('an operation that was renamed finds its records, in processes before and after the deploy', async (bench) => {
    const [old, young] = [await bench.node(), await bench.node()];
    const before = { operation: 'POST /v1/payments' };
    const after = { operation: 'POST /v2/payments', formerly: ['POST /v1/payments'] };
    const first = executed(await bench.until(old.ask({ ...before, key: 'early' })));
    replayed(await bench.until(young.ask({ ...after, key: 'early' })), first.response);
    const second = executed(await bench.until(young.ask({ ...after, key: 'late' })));
    replayed(await bench.until(old.ask({ ...before, key: 'late' })), second.response);
    assert.equal(bench.runs, 2);
  });
}
