/** The store is down, slow or silent, or its replies are lost: before the handler nothing runs, after it nothing is lost. */

import assert from 'node:assert/strict';
import type { FaultKind } from '../faulty-store.ts';
import { type AddEngineTest, CLAIM_TTL_MS, STORE_TIME_MAX_MS } from './bench.ts';
import { eventsOf, executed, met, replayed } from './expect.ts';

export function faultTests(test: AddEngineTest): void {
  // F44, F54
  for (const [what, fault, silent] of [
    ['refuses', 'refuse', false],
    ['is busy for ever', 'busy', false],
    ['says nothing', 'loseRequest', true],
    ['loses every request', 'loseRequest', false],
  ] as const satisfies readonly (readonly [string, FaultKind, boolean])[]) {
    test(`when the store ${what}, a request is told so in bounded time and its handler does not run`, async (bench) => {
      const [a, b] = [await bench.node(), await bench.node()];
      a.fail(['claim', 'find'], fault, { silent });
      const startedAt = bench.now;
      const { because } = met(await bench.until(a.ask()), 'unavailable');
      assert.equal(because, 'store');
      assert.ok(bench.now - startedAt <= 2 * STORE_TIME_MAX_MS);
      assert.equal(bench.runs, 0);
      a.heal();
      executed(await bench.until(b.ask()), { attempt: 1 });
      assert.equal(bench.runs, 1);
    });
  }

  // F15
  test('a claim whose reply was lost belongs to its process: the handler runs once, not never', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.store.inject('loseReply', { verb: 'claim' });
    const { response: answer } = executed(await bench.until(a.ask()), { attempt: 1, state: 'completed' });
    replayed(await bench.until(b.ask()), answer);
    assert.equal(bench.runs, 1);
  });

  // F15
  test('a claim that was given up runs nothing, and is released as soon as its process sees it', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.fail(['claim'], 'loseReply', { silent: true });
    met(await bench.until(a.ask()), 'unavailable');
    assert.equal(eventsOf(a, 'claim-abandoned').length, 1);
    met(await bench.until(b.ask()), 'in-progress');
    a.heal();
    const { response: answer } = executed(await bench.until(a.ask({ waitMaxMs: 60_000 })), {
      state: 'completed',
    });
    replayed(await bench.until(b.ask()), answer);
    assert.equal(bench.runs, 1);
    assert.equal(eventsOf(a, 'claim-released').length, 1);
  });

  // F15: it is looked for until it can no longer arrive, not until the first look that finds nothing.
  test('a claim that was given up and arrives later is released then, and its key is free', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.store.inject('late', { verb: 'claim', byMs: 6_000, silent: true, times: 100 });
    met(await bench.until(a.ask()), 'unavailable');
    assert.equal(await bench.record(), null);
    await bench.pass(7_500);
    assert.equal((await bench.record())?.state, 'retryable', 'it arrived, and nobody runs under it');
    executed(await bench.until(b.ask()), { state: 'completed' });
    assert.deepEqual([bench.runs, eventsOf(a, 'claim-released').length], [1, 1]);
  });

  // F3: the write was made.
  test('an end whose reply was lost is told as stored', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.store.inject('loseReply', { verb: 'finish' });
    const { response: answer } = executed(await bench.until(a.ask()), { state: 'completed', stored: true });
    replayed(await bench.until(b.ask()), answer);
    assert.equal(eventsOf(a, 'contradiction').length, 0);
  });

  // F3, F44
  for (const [what, fault, silent] of [
    ['refuses', 'refuse', false],
    ['loses every request', 'loseRequest', false],
    ['is silent', 'loseRequest', true],
  ] as const satisfies readonly (readonly [string, FaultKind, boolean])[]) {
    test(`when the store ${what} after the handler, the answer leaves, is replayed from memory, and is stored later`, async (bench) => {
      const [a, b] = [await bench.node(), await bench.node()];
      a.fail(['finish'], fault, { silent });
      const { response: answer } = executed(await bench.until(a.ask()), {
        state: 'completed',
        stored: false,
      });
      replayed(await bench.until(a.ask()), answer);
      await bench.pass(2 * CLAIM_TTL_MS);
      // Its claim is kept alive meanwhile.
      met(await bench.until(b.ask()), 'in-progress');
      a.heal();
      replayed(await bench.until(b.ask({ waitMaxMs: 60_000 })), answer);
      replayed(await bench.until(a.ask()), answer);
      assert.deepEqual([bench.runs, eventsOf(a, 'save-recovered').length], [1, 1]);
    });
  }

  // F3: it never becomes runnable by itself.
  test('an answer whose process dies before it could be stored leaves its key unknown', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.fail(['finish'], 'refuse');
    executed(await bench.until(a.ask()), { stored: false });
    a.world.kill();
    met(await bench.until(b.ask()), 'in-progress');
    await bench.pass(CLAIM_TTL_MS);
    for (const node of [b, await bench.node()]) met(await bench.until(node.ask()), 'unknown');
    assert.equal(bench.runs, 1);
  });

  test('an end that arrives twice, or late, changes nothing the second time', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    for (const fault of ['twice', 'late'] as const) {
      a.store.inject(fault, { verb: 'finish', byMs: 500 });
      const { response: answer } = executed(await bench.until(a.ask({ key: fault })), { stored: true });
      const record = await bench.record({ key: fault });
      await bench.pass(1_000);
      assert.deepEqual(await bench.record({ key: fault }), record);
      replayed(await bench.until(b.ask({ key: fault })), answer);
    }
  });

  test('renewals that fail for a while lose no claim', async (bench) => {
    const [a, b] = [await bench.node(), await bench.node()];
    a.store.inject('refuse', { verb: 'renew' });
    a.store.inject('loseReply', { verb: 'renew' });
    const slow = a.ask({}, async () => {
      await a.sleep(5 * CLAIM_TTL_MS);
      return { kind: 'answered', response: { status: 200, headers: [], body: new Uint8Array() } };
    });
    for (let i = 0; i < 8; i += 1) {
      await bench.pass(CLAIM_TTL_MS / 2);
      met(await bench.until(b.ask()), 'in-progress');
    }
    executed(await bench.until(slow), { attempt: 1, state: 'completed' });
  });
}
