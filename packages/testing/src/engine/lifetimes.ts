/** How long keys are remembered, by the store's clock. */

import assert from 'node:assert/strict';
import { REPLAY_TRUST_MAX_MS } from 'samekey/internals/core/record';
import { callerOf } from 'samekey/internals/core/scope';
import { response } from 'samekey/internals/core/response';
import { type AddEngineTest, CLAIM_TTL_MS, heldHandler, JSON_TYPE, RETENTION_MS } from './bench.ts';
import { executed, met, replayed } from './expect.ts';

const MINUTE_MS = 60_000;

export function lifetimeTests(test: AddEngineTest): void {
  // F48, F55
  test('a key is answered until its retention ends, and then runs as new, reaped or not', async (bench) => {
    const a = await bench.node();
    for (const reaps of [false, true]) {
      const { response: answer } = executed(await bench.until(a.ask()), { attempt: 1 });
      await bench.pass(RETENTION_MS - 1_000);
      assert.equal((await bench.t.store.reap(10)).count, 0);
      for (const node of [a, await bench.node()]) replayed(await bench.until(node.ask()), answer);
      await bench.pass(1_000);
      if (reaps) assert.equal((await bench.t.store.reap(10)).count, 1);
    }
    for (const node of [a, await bench.node()]) {
      const again = await bench.until(node.ask());
      assert.equal(node === a ? again.kind : 'executed', 'executed');
    }
    assert.equal(bench.runs, 3);
  });

  test('where tombstones are kept, an expired key answers "expired" for their time, and never runs in it', async (bench) => {
    const settings = { tombstoneMs: MINUTE_MS };
    const [a, b] = [await bench.node(settings), await bench.node(settings)];
    executed(await bench.until(a.ask()));
    await bench.pass(RETENTION_MS);
    for (const node of [a, b]) met(await bench.until(node.ask()), 'expired');
    assert.equal((await bench.t.store.reap(10)).count, 0);
    await bench.pass(MINUTE_MS);
    executed(await bench.until(b.ask()), { attempt: 1 });
    assert.equal(bench.runs, 2);
  });

  // F58
  test('an outcome that is settled after the retention is replayed for as long as any answer', async (bench) => {
    const [a, b] = [await bench.node({ policy: 'payments' }), await bench.node({ policy: 'payments' })];
    executed(await bench.until(a.ask({}, () => response(500))), { state: 'unknown' });
    await bench.pass(1.25 * RETENTION_MS);
    assert.equal((await bench.t.store.reap(10)).count, 0);
    met(await bench.until(b.ask()), 'unknown');
    const record = await bench.record();
    assert.ok(record !== null);
    const { scope, key, claimId, attempt } = record;
    const decided = response(200, JSON_TYPE, '{"paid":true}');
    const fence = { scope, key, claimId, attempt };
    await bench.t.store.settle([
      { ...fence, to: 'completed', reason: 'asked the bank', actor: null, response: decided },
    ]);
    await bench.pass(MINUTE_MS);
    replayed(await bench.until(b.ask()), decided);
    await bench.pass(RETENTION_MS - MINUTE_MS - 1_000);
    replayed(await bench.until((await bench.node()).ask()), decided);
    await bench.pass(1_000);
    executed(await bench.until(b.ask()), { attempt: 1 });
  });

  test('an erased key is answered "not stored" for ever, and from memory for five seconds more at most', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const { response: answer } = executed(await bench.until(a.ask()));
    replayed(await bench.until(a.ask()), answer);
    const record = await bench.record();
    const scope = callerOf(record?.scope ?? '');
    const erase = { scope, limit: 10, reason: 'asked to be forgotten', actor: null };
    assert.deepEqual(await bench.t.store.erase(erase), { erased: 1, left: 0 });
    const erased = met(await bench.until(b.ask()), 'response-not-stored');
    assert.deepEqual([erased.originalStatus, erased.location], [null, null]);
    met(await bench.until(b.ask({ body: 'another' })), 'response-not-stored');
    await bench.pass(REPLAY_TRUST_MAX_MS);
    met(await bench.until(a.ask()), 'response-not-stored');
    await bench.pass(3 * RETENTION_MS);
    for (const node of [a, b]) met(await bench.until(node.ask()), 'response-not-stored');
    assert.equal(bench.runs, 1);
  });

  // A privacy request while its process stands still: what it answers late must not come back.
  test('an owner that wakes after its key was settled and erased brings nothing back', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const held = heldHandler(bench);
    const first = a.ask({}, held.handler);
    await bench.until(held.begun);
    a.world.freeze();
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    met(await bench.until(b.ask()), 'unknown');
    const record = await bench.record();
    assert.ok(record !== null);
    const { scope, key, claimId, attempt } = record;
    const by = { reason: 'asked the bank', actor: null };
    const erase = { scope: callerOf(scope), limit: 10, ...by };
    assert.deepEqual(await bench.t.store.erase(erase), { erased: 0, left: 1 });
    await bench.t.store.settle([{ scope, key, claimId, attempt, to: 'failed', response: null, ...by }]);
    assert.deepEqual(await bench.t.store.erase(erase), { erased: 1, left: 0 });
    const before = await bench.record();
    a.world.thaw();
    held.end();
    met(await bench.until(first), 'response-not-stored');
    assert.deepEqual(await bench.record(), before);
    met(await bench.until(b.ask()), 'response-not-stored');
    assert.equal(bench.runs, 1);
  });

  test('a handler may lengthen the retention of its key', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    const answer = response(200, JSON_TYPE, '{"slow":"client"}');
    const extended = a.ask({}, (attempt) => {
      attempt.extend(MINUTE_MS);
      return answer;
    });
    executed(await bench.until(extended), { state: 'completed' });
    await bench.pass(RETENTION_MS + MINUTE_MS - 1_000);
    replayed(await bench.until(b.ask()), answer);
    await bench.pass(1_000);
    executed(await bench.until(b.ask()), { attempt: 1 });
  });

  test('a running request outlives its retention, and is answered for after it', async (bench) => {
    const [a, b] = [await bench.node({ attemptTimeMaxMs: 3 * RETENTION_MS }), await bench.node()];
    const held = heldHandler(bench);
    const first = a.ask({}, held.handler);
    await bench.until(held.begun);
    await bench.pass(1.5 * RETENTION_MS);
    assert.equal((await bench.t.store.reap(10)).count, 0);
    met(await bench.until(b.ask()), 'in-progress');
    held.end();
    const { response: answer } = executed(await bench.until(first), { attempt: 1 });
    await bench.pass(RETENTION_MS / 2);
    replayed(await bench.until(b.ask()), answer);
    assert.equal(bench.runs, 1);
  });

  test('a key that may run again expires like one that is answered, and begins anew', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    executed(await bench.until(a.ask({}, () => response(503))), { state: 'retryable' });
    await bench.pass(RETENTION_MS + CLAIM_TTL_MS);
    executed(await bench.until(b.ask({ body: 'another' })), { attempt: 1, state: 'completed' });
  });
}
